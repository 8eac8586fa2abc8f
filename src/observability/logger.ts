/** The log of a process: JSON lines on standard error. */
import { pino, type Logger } from 'pino';

export function createLogger({ logLevel }: { logLevel: string }): Logger {
  return pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

/** The log of a process: JSON lines on standard error. */
import { pino, type Logger } from 'pino';
import { StandardError } from './standard-error.ts';

export function createLogger({ logLevel }: { logLevel: string }): Logger {
  return pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, new StandardError());
}

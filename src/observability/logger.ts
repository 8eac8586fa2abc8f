/** The log of a process: JSON lines on standard error. */
import { pino, type Logger } from 'pino';
import { StandardError } from './standard-error.ts';

/** One for all loggers of the process: each would flush at its exit. */
const destination = new StandardError();

export function createLogger({ logLevel }: { logLevel: string }): Logger {
  return pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

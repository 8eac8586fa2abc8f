/** The log of a process: JSON lines on stderr. */
import { pino, type Logger } from 'pino';
import type { Config } from './config.ts';

export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

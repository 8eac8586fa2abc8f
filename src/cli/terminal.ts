/**
 * Input and output of a command: the process's own streams and environment, or those of a caller that runs many commands.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import { getSystemErrorMap } from 'node:util';
import { type Config, loadConfig } from '../app/config.ts';

export interface Terminal {
  env: Record<string, string | undefined>;
  stdin: Readable;
  stdout(text: string): void;
  /** resolves when more may be written */
  stdoutBytes(bytes: Uint8Array): Promise<void>;
  /** whether a person reads stdout */
  isTerminal: boolean;
  /** `--json`: print what programs get */
  json: boolean;
  stderr(text: string): void;
  /** exit status of the command so far */
  status: number;
}

/** The program that reads the output has exited. */
export class ReaderGone extends Error {}

const ofProcess: Terminal = {
  env: process.env,
  get stdin() {
    return process.stdin;
  },
  stdout: (text) => void process.stdout.write(text),
  stdoutBytes: (bytes) =>
    new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => {
        if (!error) return resolve();
        // Earlier than the event of the stream, which endWithReader awaits.
        reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new ReaderGone() : error);
      });
    }),
  get isTerminal() {
    return process.stdout.isTTY;
  },
  json: false,
  stderr: (text) => void process.stderr.write(text),
  get status() {
    return Number(process.exitCode ?? 0);
  },
  set status(status) {
    process.exitCode = status;
  },
};

/** The exit status that shells report for a program ended by SIGPIPE. */
export const brokenPipe = 141;

let interrupt: (() => void) | undefined;

/** Has a command interrupted when the reader of its output has exited, so that it leaves nothing behind; null: its process just ends. */
export function onReaderGone(interruptCommand: (() => void) | null): void {
  interrupt = interruptCommand ?? undefined;
}

/**
 * Ends the process, or the command first (onReaderGone), when its output cannot be written: silently when the reader has exited, as in
 * `reelmend models list | head -1`, otherwise, as on a full disk, with a sentence.
 */
export function endWithReader(): void {
  // Nowhere to say it; the command may have something to remove, as after the end of the terminal.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') {
      if (interrupt === undefined) process.exit(brokenPipe);
      // Also if the command has written all and is ending.
      process.exitCode = brokenPipe;
      return interrupt();
    }
    const reason = getSystemErrorMap().get(error.errno ?? 0)?.[1] ?? error.message;
    process.stderr.write(`reelmend: Standard output: ${reason}.\n`);
    process.exit(1);
  });
}

/** Lets the process go on when the reader of its output has exited. */
export function outliveReader(): void {
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
}

const other = new AsyncLocalStorage<Terminal>();

/** The terminal of the command that runs. */
export const terminal = (): Terminal => other.getStore() ?? ofProcess;

/** Runs a command with another terminal than the process's. */
export const atTerminal = <T>(given: Terminal, run: () => Promise<T>): Promise<T> => other.run(given, run);

/** Characters that command a terminal, end a line, or change the reading direction of what follows. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** A text that others chose, such as a name, for people: without its control characters. */
export const plain = (text: string): string => text.replaceAll(controls, '\uFFFD');

/** Prints a line. */
export const say = (line: string): void => terminal().stdout(`${line}\n`);
/** Prints a line on stderr. */
export const warn = (line: string): void => terminal().stderr(`${line}\n`);
/** Prints JSON. A terminal may show it, so the control characters that JSON allows in strings are escaped as well. */
export const print = (value: unknown): void => say(JSON.stringify(value, null, 2).replaceAll(controls, (each) => (each === '\n' ? each : escaped(each))));
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
export const configOfTerminal = (): Config => loadConfig(terminal().env);

const byteUnits = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** A number of bytes for people, with two digits or more. */
export function bytes(count: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  const value = count / 1000 ** power;
  return `${power === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${byteUnits[power]}`;
}

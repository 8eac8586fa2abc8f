/**
 * Runs `reelmend` commands. Most run in the test's process, with their own environment and streams, because starting Node
 * takes a second. A few of each kind run in their own process, as users run them.
 */
import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../src/cli/program.ts';
import { atTerminal, type Terminal } from '../../src/cli/terminal.ts';
import { hangMs } from './wait.ts';

/** the command line, as npm puts it on the PATH */
export const script = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));

export interface Outcome {
  status: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  env: Record<string, string>;
  stdin?: string | Uint8Array;
  /** whether stdout is a terminal; default: false */
  isTerminal?: boolean;
  /** receives the output at once; for commands that keep running */
  onStdout?: (text: string) => void;
}

export async function runCommand(args: string[], { env, stdin = '', isTerminal = false, onStdout }: CommandOptions): Promise<Outcome> {
  const outcome = { status: 0, stdout: '', stderr: '' };
  const terminal: Terminal = {
    env,
    stdin: Readable.from([stdin]),
    stdout: (text) => {
      outcome.stdout += text;
      onStdout?.(text);
    },
    stdoutBytes: async (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      outcome.stdout += text;
      onStdout?.(text);
    },
    isTerminal,
    json: false,
    stderr: (text) => void (outcome.stderr += text),
    get status() {
      return outcome.status;
    },
    set status(status) {
      outcome.status = status;
    },
  };
  await atTerminal(terminal, () => runProgram(args));
  return outcome;
}

/** Runs a command in its own process, through the script that npm puts on the PATH. */
export function spawnCommand(args: string[], { env, stdin = '' }: CommandOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(script, args, { env, timeout: hangMs }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin!.end(stdin);
  });
}

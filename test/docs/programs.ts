/**
 * Programs of the guides that go on from sample to sample, one for each language: names of one sample are known to the next.
 * Each runs where the quick start installed the clients (`my-app`), as a process that takes one sample after the other.
 */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

export type Language = 'ts' | 'python';
export const isLanguage = (language: string): language is Language => language === 'ts' || language === 'python';

/** The shell command that starts a program in the checkout. */
export function commandOf(language: Language): string {
  const driver = join(import.meta.dirname, `program-driver.${language === 'ts' ? 'mjs' : 'py'}`);
  const interpreter = language === 'ts' ? 'exec node --disable-warning=ExperimentalWarning' : 'exec venv/bin/python';
  return `cd "$CHECKOUT/my-app"\n${interpreter} ${driver}`;
}

export interface Outcome {
  stdout: string;
  /** what the sample threw; null: it ran to its end */
  error: string | null;
}

export interface Program {
  child: ChildProcess;
  run(sample: string): Promise<Outcome>;
}

/** `child` must have been started with `commandOf` and pipes. */
export function createProgram(child: ChildProcess): Program {
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  return {
    child,
    async run(sample) {
      child.stdin!.write(`${JSON.stringify(sample)}\n`);
      const line = await lines.next();
      if (line.done === true) throw new Error(`the program ended:\n${stderr}`);
      return JSON.parse(line.value) as Outcome;
    },
  };
}

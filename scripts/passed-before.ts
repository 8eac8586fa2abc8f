/** Stores across runs what passed, with its fingerprint, so that a run after a small change takes minutes. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { installed } from './test-steps.ts';

/** The repository's files, without those that git ignores. `pathspecs`: git's; default: all files. */
export function repositoryFiles(...pathspecs: string[]): string[] {
  const args = ['ls-files', '-co', '--exclude-standard', '-z', '--', ...pathspecs];
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 }).split('\0').filter(Boolean).sort();
}

/** Fingerprints of what decides an outcome: files, settings, the processor, the compiler and the installed packages. */
export class Fingerprints {
  readonly #machine: Buffer;
  readonly #contents = new Map<string, Buffer>();

  constructor() {
    const settings = Object.entries(process.env).filter(([variable]) => /^(REELMEND|CUDA|TENSORRT|OpenVINO)_/.test(variable));
    const hash = createHash('sha256').update(JSON.stringify([process.version, cpus()[0]?.model, settings.sort()]));
    hash.update(execFileSync('c++', ['--version'])).update(readFileSync('/var/lib/dpkg/status'));
    this.#machine = hash.digest();
  }

  /** `subject`: what has the outcome, with its command */
  of(subject: readonly string[], files: Iterable<string>): string {
    const hash = createHash('sha256').update(this.#machine).update(JSON.stringify(subject));
    for (const file of [...installed, ...new Set(files)].sort()) hash.update(`\0${file}\0`).update(this.#content(file));
    return hash.digest('hex');
  }

  #content(file: string): Buffer {
    const known = this.#contents.get(file);
    if (known !== undefined) return known;
    const content = createHash('sha256').update(isExecutable(file) ? 'executable\0' : '').update(readIfThere(file)).digest();
    this.#contents.set(file, content);
    return content;
  }
}

/** As git stores it. */
const isExecutable = (file: string) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o100) !== 0;

function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0); // deleted, and not yet staged
  }
}

/** A name for the files that belong to a step or to a test file. */
export const fileName = (name: string) => name.replace(/\W+/g, '-');

const passed = z.object({
  fingerprint: z.string(),
  /** number of tests */
  passed: z.number(),
  /** documented statuses that the tests produced (test/helpers/seen-statuses.ts) */
  statuses: z.array(z.string()).default([]),
});

export type Passed = z.infer<typeof passed>;

export class PassedBefore {
  readonly #folder = join('build', 'passed');
  #file = (name: string) => join(this.#folder, `${fileName(name)}.json`);

  /** What passed with the same fingerprint; without a fingerprint, nothing. */
  recall(name: string, fingerprint: string | undefined): Passed | undefined {
    try {
      const kept = passed.parse(JSON.parse(readFileSync(this.#file(name), 'utf8')));
      return kept.fingerprint === fingerprint ? kept : undefined;
    } catch {
      return undefined;
    }
  }

  keep(name: string, now: Passed): void {
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(this.#file(name), JSON.stringify(now));
  }

  forget(name: string): void {
    rmSync(this.#file(name), { force: true });
  }
}

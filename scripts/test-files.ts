/** Which test files of a step have to run: those that may see a change since they passed. */
import { globSync } from 'node:fs';
import { restoreStatuses, statusesOf } from '../test/helpers/seen-statuses.ts';
import { type Fingerprints, type Passed, type PassedBefore, repositoryFiles } from './passed-before.ts';
import type { FileCount } from './test-reports.ts';
import type { Step } from './test-steps.ts';
import { VisibleFiles } from './visible-files.ts';

/** vitest.config.ts names it: it makes the databases of every test file. */
export const globalSetup = 'test/helpers/global-setup.ts';

export class TestFiles {
  /** paths from the repository's root */
  readonly toRun: string[] = [];
  readonly recalled: Passed[] = [];
  readonly #fingerprints = new Map<string, string | undefined>();
  readonly #passedBefore: PassedBefore;

  /** `all`: runs all */
  constructor(step: Step, fingerprints: Fingerprints, passedBefore: PassedBefore, all: boolean) {
    this.#passedBefore = passedBefore;
    const visibleFiles = new VisibleFiles(process.cwd(), repositoryFiles());
    const inputs = repositoryFiles(...(step.inputs ?? []));
    for (const file of globSync(step.testFiles ?? []).sort()) {
      const visible = visibleFiles.of(file, globalSetup);
      const fingerprint = visible && fingerprints.of([file, ...step.command], [...inputs, ...visible]);
      this.#fingerprints.set(file, fingerprint);
      const passed = all ? undefined : passedBefore.recall(file, fingerprint);
      if (passed === undefined) this.toRun.push(file);
      else this.#recall(file, passed);
    }
  }

  #recall(file: string, passed: Passed): void {
    this.recalled.push(passed);
    restoreStatuses(file, passed.statuses);
  }

  /** Called before the run: if it crashes, nothing is known about its files. */
  forget(): void {
    for (const file of this.toRun) this.#passedBefore.forget(file);
  }

  /** A skipped test lacks something on this machine that no fingerprint covers, so its file runs again next time. */
  keep(counts: readonly FileCount[]): void {
    for (const { file, passed, failed, skipped } of counts) {
      const fingerprint = this.#fingerprints.get(file);
      if (fingerprint === undefined || failed > 0 || skipped > 0) continue;
      this.#passedBefore.keep(file, { fingerprint, passed, statuses: statusesOf(file) });
    }
  }
}

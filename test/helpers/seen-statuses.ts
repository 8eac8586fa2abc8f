/**
 * The documented statuses that tests produced: one line `operationId status` each, in one file for each test file.
 * scripts/contract-coverage.ts reads them. scripts/test.ts restores those of the test files that it need not run.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect } from 'vitest';

const folder = join(import.meta.dirname, '../../build/reports/statuses');
const fileOf = (testFile: string) => join(folder, `${testFile.replace(/\W+/g, '-')}.txt`);
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean);

const recorded = new Set<string>();

/** Records a status for the test file that runs. */
export function recordStatus(operationId: string, status: number): void {
  const file = fileOf(relative(process.cwd(), expect.getState().testPath ?? 'other'));
  const line = `${operationId} ${status}`;
  if (recorded.has(`${file} ${line}`)) return;
  recorded.add(`${file} ${line}`);
  mkdirSync(folder, { recursive: true });
  appendFileSync(file, `${line}\n`);
}

/** `testFile`: relative to the repository's root */
export function statusesOf(testFile: string): string[] {
  try {
    return linesOf(fileOf(testFile));
  } catch {
    return []; // it produced none
  }
}

export function restoreStatuses(testFile: string, statuses: readonly string[]): void {
  if (statuses.length === 0) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(testFile), statuses.map((line) => `${line}\n`).join(''));
}

export function allStatuses(): Set<string> {
  try {
    return new Set(readdirSync(folder).flatMap((name) => linesOf(join(folder, name))));
  } catch {
    return new Set();
  }
}

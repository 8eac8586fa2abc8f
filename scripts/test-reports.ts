/** Counts, times and failures from the reports of vitest and GoogleTest. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

export interface Count {
  passed: number;
  failed: number;
}

export interface TestTime {
  name: string;
  seconds: number;
}

export interface Failure {
  /** path from the repository's root; undefined: not a test of vitest */
  file?: string;
  /** name of the test, or of the file if that failed as a whole */
  name: string;
  message: string;
}

/** A file of vitest. */
export interface FileCount extends Count {
  /** path from the repository's root */
  file: string;
  skipped: number;
}

export interface Report {
  count: Count;
  /** only of vitest */
  files?: FileCount[];
  tests: TestTime[];
  failures: Failure[];
}

const vitestFiles = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      name: z.string(),
      message: z.string().default(''),
      startTime: z.number(),
      endTime: z.number(),
      assertionResults: z.array(
        z.object({ status: z.string(), fullName: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

type VitestFile = z.infer<typeof vitestFiles>['testResults'][number];

const relative = ({ name }: VitestFile) => name.replace(`${process.cwd()}/`, '');

/** A file that failed as a whole (it does not load, a hook threw) counts as one failure. */
function failuresOf(result: VitestFile): Failure[] {
  const file = relative(result);
  const failed = result.assertionResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0 && result.status === 'failed') return [{ file, name: file, message: result.message }];
  return failed.map(({ fullName, failureMessages }) => ({ file, name: fullName, message: (failureMessages ?? []).join('\n') }));
}

function countOf(result: VitestFile): FileCount {
  const count = (wanted: string) => result.assertionResults.filter(({ status }) => status === wanted).length;
  const passed = count('passed');
  const failed = failuresOf(result).length;
  return { file: relative(result), passed, failed, skipped: result.assertionResults.length - passed - count('failed') };
}

/** An error that no test awaits. The report has none of them, so vitest's output tells; its test may count as passed. */
function unhandledErrors(output: string): Failure[] {
  const [line] = /Vitest caught \d+ unhandled errors?/.exec(output) ?? [];
  return line === undefined ? [] : [{ name: 'vitest', message: `${line}; its output is above` }];
}

/** `output`: what vitest printed */
export function readVitest(file: string, output: string): Report {
  const { testResults } = vitestFiles.parse(JSON.parse(readFileSync(file, 'utf8')));
  const files = testResults.map(countOf);
  const unhandled = unhandledErrors(output);
  const failures = [...testResults.flatMap(failuresOf), ...unhandled];
  return {
    count: { passed: files.reduce((sum, { passed }) => sum + passed, 0), failed: failures.length },
    // Nobody knows which file an unhandled error is of.
    files: unhandled.length === 0 ? files : [],
    tests: testResults.map((result) => ({ name: relative(result), seconds: (result.endTime - result.startTime) / 1000 })),
    failures,
  };
}

/** If more files fail, none is run again: so many failures are not a coincidence. */
const mostFilesTwice = 3;

/** The files to run again, alone. None if one of the failures is not of a test file, because it would not be seen again. */
export function filesToRepeat(failures: readonly Failure[]): string[] {
  const files = [...new Set(failures.map(({ file }) => file))];
  return files.length <= mostFilesTwice && files.every((file) => file !== undefined) ? files : [];
}

/** One report per process. A crashed process leaves none; its exit status shows the crash. */
export function readGtest(folder: string): Report {
  const xml = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  const cases = Array.from(xml.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs), ([, head = '', body = '']) => {
    const attribute = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1] ?? '';
    const name = `${attribute('classname')}.${attribute('name')}`;
    const message = /<failure message="([^"]*)"/.exec(body)?.[1];
    return { name, seconds: Number(attribute('time')), result: attribute('result'), message };
  });
  const ran = cases.filter(({ result }) => result === 'completed');
  const failures = ran.flatMap(({ name, message }) => (message === undefined ? [] : [{ name, message: fromXml(message) }]));
  return {
    count: { passed: ran.length - failures.length, failed: failures.length },
    tests: ran.map(({ name, seconds }) => ({ name, seconds })),
    failures,
  };
}

const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&#x0A;': '\n', '&amp;': '&' };
const fromXml = (text: string) => text.replace(/&(?:\w+|#x0A);/g, (entity) => entities[entity] ?? entity);

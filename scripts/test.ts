/**
 * Runs all checks of the project one after the other and ends with `N passed, N failed`. Counts each test of the runners.
 * A check without tests of its own (types, lint, generated code) counts as one.
 */
import { spawn } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

interface Count {
  passed: number;
  failed: number;
}

interface Step {
  name: string;
  command: string[];
  /** reads the counts from the runner's report; without it, the exit status counts as one check */
  report?: () => Promise<Count>;
}

const reports = join('build', 'reports');
const vitestReport = join(reports, 'vitest.json');
const ctestReport = join(reports, 'ctest.xml');

const vitestFiles = z.object({
  testResults: z.array(z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});

/** A file that failed as a whole (import error, hook error) counts as one failure. */
async function vitestCounts(): Promise<Count> {
  const { testResults } = vitestFiles.parse(JSON.parse(await readFile(vitestReport, 'utf8')));
  const tests = (status: string) => testResults.flatMap((file) => file.assertionResults).filter((test) => test.status === status);
  const broken = testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: tests('passed').length, failed: tests('failed').length + broken.length };
}

const steps: Step[] = [
  { name: 'types, lint, directions', command: ['bash', 'scripts/lint'] },
  { name: 'generated code is current', command: ['bash', 'scripts/generate', '--check'] },
  {
    name: 'engine',
    command: ['bash', 'scripts/test-engine', '--output-junit', join(process.cwd(), ctestReport)],
    report: async () => {
      const xml = await readFile(ctestReport, 'utf8');
      const attribute = (name: string) => Number(new RegExp(`<testsuite[^>]*\\b${name}="(\\d+)"`, 's').exec(xml)?.[1] ?? Number.NaN);
      const failed = attribute('failures');
      return { passed: attribute('tests') - failed - attribute('skipped') - attribute('disabled'), failed };
    },
  },
  { name: 'engine, with the libav of Debian 13', command: ['bash', 'scripts/test-libav-headers'] },
  { name: 'CUDA stages, without a GPU', command: ['bash', 'scripts/test-cuda'] },
  { name: 'engine, fuzzed', command: ['bash', 'scripts/fuzz-engine', '--short'] },
  {
    name: 'service',
    command: ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${vitestReport}`],
    report: vitestCounts,
  },
  { name: 'contract, by Schemathesis', command: ['bash', 'scripts/test-contract'] },
  { name: 'every documented status was seen', command: ['node', 'scripts/contract-coverage.ts'] },
];

function execute(command: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code === 0));
  });
}

/** A runner that failed without a failed test (it crashed, or wrote no report) counts as one failure. */
async function count(step: Step): Promise<Count> {
  const ok = await execute(step.command);
  const fallback = ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  if (step.report === undefined) return fallback;
  const counted = await step.report().catch(() => ({ passed: 0, failed: 1 }));
  if (Number.isNaN(counted.passed + counted.failed) || counted.passed + counted.failed === 0) return { passed: 0, failed: 1 };
  return !ok && counted.failed === 0 ? { ...counted, failed: 1 } : counted;
}

await rm(reports, { recursive: true, force: true });
await mkdir(reports, { recursive: true });
const total: Count = { passed: 0, failed: 0 };
for (const step of steps) {
  console.log(`\n==> ${step.name}`);
  const started = performance.now();
  const { passed, failed } = await count(step);
  total.passed += passed;
  total.failed += failed;
  console.log(`==> ${step.name}: ${passed} passed, ${failed} failed in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/**
 * Runs every check of the project. Ends with a table of times, the slowest tests, and `N passed, N failed`. Each test of a
 * runner counts; a check without tests of its own (types, lint, generated code) counts as one.
 *
 *   npm test                   the checks that a change must pass
 *   npm test -- --all          also the steps and test files that have passed and depend on nothing that has changed since; CI always
 *   npm test -- --step TEXT    only the steps whose names contain TEXT; may be repeated
 *   npm test -- --list         the names of the steps
 *   npm run test:long          the long tests; takes the same options
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileName, Fingerprints, PassedBefore, repositoryFiles } from './passed-before.ts';
import { TestFiles } from './test-files.ts';
import { type Count, type Failure, filesToRepeat, readGtest, readVitest, type Report } from './test-reports.ts';
import { gtestReports, longSteps, reports, shortSteps, type Step, vitestReport } from './test-steps.ts';

interface Outcome extends Report {
  name: string;
  /** those of the passed tests that passed in an earlier run, and did not run now */
  earlier: number;
  /** wall-clock time; null: not run, because nothing changed */
  seconds: number | null;
  cpuSeconds: number;
}

/** Runs a command with its output in `logFile`. Resolves to whether it exits with 0, and its CPU time with its children. */
function execute(command: string[], logFile: string): Promise<{ ok: boolean; cpuSeconds: number }> {
  return new Promise((resolve, reject) => {
    const timed = 'TIMEFORMAT="%U %S"; { time "$@" 1>&4 2>&4; } 2>&3';
    const log = openSync(logFile, 'w');
    const child = spawn('bash', ['-c', timed, 'step', ...command], { stdio: ['ignore', 'ignore', 'inherit', 'pipe', log] });
    closeSync(log);
    let times = '';
    child.stdio[3]!.on('data', (chunk: Buffer) => (times += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      const cpuSeconds = times.trim().split(/\s+/).reduce((sum, part) => sum + Number(part), 0);
      resolve({ ok: code === 0, cpuSeconds: Number.isFinite(cpuSeconds) ? cpuSeconds : 0 });
    });
  });
}

/** A runner that failed without failing a test (it crashed, or wrote no report) counts as one failure. */
function reportOf(step: Step, ok: boolean, output: string): Report {
  const asOne = (message: string): Report => ({
    count: { passed: 0, failed: 1 },
    tests: [],
    failures: [{ name: step.name, message }],
  });
  if (step.report === undefined) return ok ? { count: { passed: 1, failed: 0 }, tests: [], failures: [] } : asOne('its output is above');
  try {
    const report = step.report === 'vitest' ? readVitest(vitestReport, output) : readGtest(gtestReports);
    const { passed, failed } = report.count;
    if (passed + failed === 0) return asOne('no test ran');
    if (ok || failed > 0) return report;
    return { ...report, count: { passed, failed: 1 }, files: [], failures: [{ name: step.name, message: 'its runner failed; its output is above' }] };
  } catch {
    return asOne('no report; its output is above');
  }
}

const fingerprints = new Fingerprints();
const passedBefore = new PassedBefore();

const notRun = (step: Step, passed: number): Outcome => ({
  ...{ name: step.name, count: { passed, failed: 0 }, earlier: passed },
  ...{ seconds: null, cpuSeconds: 0, tests: [], failures: [] },
});

async function runCommand(step: Step, arguments_: string[] = []): Promise<Outcome> {
  const logFile = join(reports, `${fileName(step.name)}.log`);
  console.log(`==> ${step.name} starts; its output goes to ${logFile}, and is printed here when it ends`);
  const started = performance.now();
  // The service’s tests have deadlines, so they have priority: the engine’s take what they leave.
  const command = [...(step.group === 'engine' ? ['nice', '-n', '10'] : []), ...step.command, ...arguments_];
  const { ok, cpuSeconds } = await execute(command, logFile);
  const output = readFileSync(logFile, 'utf8');
  const report = reportOf(step, ok, output);
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(`\n==> ${step.name}\n${output}`);
  console.log(`==> ${step.name}: ${report.count.passed} passed, ${report.count.failed} failed in ${seconds.toFixed(1)} s`);
  return { name: step.name, earlier: 0, ...report, seconds, cpuSeconds };
}

async function runWhole(step: Step, all: boolean): Promise<Outcome> {
  const { name, inputs, command } = step;
  const fingerprint = inputs && fingerprints.of([name, ...command], repositoryFiles(...inputs));
  const recalled = all ? undefined : passedBefore.recall(name, fingerprint);
  if (recalled !== undefined) {
    console.log(`==> ${name}: its files have not changed since ${recalled.passed} passed`);
    return notRun(step, recalled.passed);
  }
  const outcome = await runCommand(step);
  passedBefore.forget(name);
  const { passed, failed } = outcome.count;
  if (fingerprint !== undefined && failed === 0) passedBefore.keep(name, { fingerprint, passed, statuses: [] });
  return outcome;
}

/** Runs those test files that may see a change since they passed. */
async function runTestFiles(step: Step, all: boolean): Promise<Outcome> {
  const files = new TestFiles(step, fingerprints, passedBefore, all);
  const earlier = files.recalled.reduce((sum, { passed }) => sum + passed, 0);
  const { length } = files.toRun;
  const count = `${length} of ${length + files.recalled.length} test files`;
  if (earlier > 0) console.log(`==> ${step.name}: ${count} run; nothing that the others can see has changed since their ${earlier} tests passed`);
  if (length === 0) return notRun(step, earlier);
  files.forget();
  const outcome = await runCommand(step, earlier === 0 ? [] : files.toRun);
  files.keep(outcome.files ?? []);
  return { ...outcome, earlier, count: { ...outcome.count, passed: outcome.count.passed + earlier } };
}

/**
 * Runs the files of failed tests once more, alone. A test that passes now depends on the machine's load: it counts as
 * passed, and its name and first failure are printed, so that it gets fixed.
 */
async function secondAttempt(outcome: Outcome): Promise<Failure[]> {
  const files = filesToRepeat(outcome.failures);
  if (files.length === 0) return [];
  const report = `${reports}/vitest-second.json`;
  const command = ['vitest', 'run', ...files, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const logFile = join(reports, 'second-attempt.log');
  console.log(`==> ${outcome.name}: running again, alone: ${files.join(', ')}`);
  const { ok } = await execute(command, logFile);
  process.stdout.write(readFileSync(logFile, 'utf8'));
  if (!ok) return [];
  const unsteady = outcome.failures;
  outcome.count = { passed: outcome.count.passed + unsteady.length, failed: 0 };
  outcome.failures = [];
  return unsteady;
}

/** Runs the group's steps, and then those of `either` that no other group has taken. */
async function runGroup(steps: Step[], either: Step[], all: boolean): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const own = [...steps];
  for (let step = own.shift(); step !== undefined; step = own.shift() ?? either.shift()) {
    outcomes.push(await (step.testFiles === undefined ? runWhole : runTestFiles)(step, all));
  }
  return outcomes;
}

function printTimes(outcomes: Outcome[], totalSeconds: number): void {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  const row = (name: string, ...cells: string[]) => console.log(name.padEnd(width), ...cells.map((cell) => cell.padStart(9)));
  console.log('');
  row('step', 'passed', 'earlier', 'failed', 'wall', 'processor');
  for (const { name, count, earlier, seconds, cpuSeconds } of outcomes) {
    const times = seconds === null ? ['unchanged', ''] : [`${seconds.toFixed(0)} s`, `${cpuSeconds.toFixed(0)} s`];
    row(name, String(count.passed), earlier === 0 ? '' : String(earlier), String(count.failed), ...times);
  }
  row('all', '', '', '', `${totalSeconds.toFixed(0)} s`, `${availableParallelism()} cores`);
  const slowest = outcomes.flatMap(({ tests }) => tests).sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  if (slowest.length > 0) console.log('\nslowest tests of the engine and test files of the service');
  for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
}

/** Called last, so that a log that keeps only its end still shows the failures. */
function printFailures(title: string, failures: Failure[]): void {
  if (failures.length === 0) return;
  console.log(`\n${title}`);
  for (const { file, name, message } of failures) {
    console.log(`  ${[file, name].filter(Boolean).join(' > ')}`);
    const lines = message.split('\n').filter((line) => !line.includes('node_modules'));
    console.log(lines.slice(0, 12).map((line) => `    ${line.slice(0, 300)}`).join('\n'));
  }
}

/** Ends with one sentence and status 2. */
function refuse(sentence: string): never {
  console.error(`test: ${sentence}`);
  process.exit(2);
}

function readOptions() {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ options: { all: flag, long: flag, list: flag, step: { type: 'string', multiple: true, default: [] } } }).values;
  } catch (error) {
    return refuse(`${(error as Error).message.split('.')[0]}. The options are --all, --step TEXT and --list.`);
  }
}

const options = readOptions();
const named = (options.long ? longSteps : shortSteps).filter(({ name }) => options.step.length === 0 || options.step.some((text) => name.includes(text)));
if (named.length === 0) refuse(`No step’s name contains ${options.step.join(' or ')}; --list prints the names.`);
if (options.list) {
  console.log(named.map(({ name }) => name).join('\n'));
  process.exit();
}
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const all = options.all || (process.env['CI'] ?? '') !== '';
const { last = [], either = [], ...groups } = Object.groupBy(named, ({ group }) => group);
const outcomes = (await Promise.all(Object.values(groups).map((steps) => runGroup(steps, either, all)))).flat();
const service = outcomes.find(({ name }) => name === 'service');
const unsteady = service === undefined ? [] : await secondAttempt(service);
outcomes.push(...(await runGroup(last, [], all)));
printTimes(outcomes, performance.now() / 1000);
printFailures('passed only when run again, alone', unsteady);
printFailures('failed', outcomes.flatMap(({ failures }) => failures));
const sum = (key: keyof Count) => outcomes.reduce((total, { count }) => total + count[key], 0);
const earlier = outcomes.reduce((total, outcome) => total + outcome.earlier, 0);
if (earlier > 0) console.log(`\n${earlier} of the passed tests passed in an earlier run, and nothing that they depend on has changed; npm test -- --all runs them`);
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

/**
 * Starts the real service (API, worker, PostgreSQL) on loopback and runs Schemathesis against it: every operation, all
 * checks, all phases. One run per audience (keys, console) with a fixed seed. `--long` adds runs with keys of the other modes
 * and tiers; they have a random seed, which is printed (`--seed N` repeats it). Fails on any failure, error or skipped
 * operation, and if an operation accepted no well-formed request.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Mode } from '../src/domain/job.ts';
import { type Caller, type Link, type Prepared, prepare, withService, type World } from '../test/contract/service.ts';
import type { FileServer } from '../test/helpers/fileserver.ts';
import { operations as documentedOperations } from '../test/helpers/http-contract.ts';

const root = join(import.meta.dirname, '..');
const schemathesis = join(root, '.venv/bin/schemathesis');
const reports = join(root, 'build/reports/contract');
const fixedSeed = 20261121;

const { values } = parseArgs({
  options: {
    /** repeats a run with this seed */
    seed: { type: 'string' },
    /** runs only the run of this name */
    only: { type: 'string' },
    /** all modes and tiers, with a random seed */
    long: { type: 'boolean', default: false },
  },
});

interface Run extends Caller {
  name: string;
  seed: number;
  /** cases per operation and phase */
  examples: number;
}

/** A signal stops these, so that the clean-up of `main` still runs. */
const fuzzers = new Set<ChildProcess>();
let interrupted = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of fuzzers) child.kill('SIGTERM');
  });
}

const report = z.object({
  operations: z.object({ tested: z.number() }),
  test_cases: z.object({ generated: z.number(), with_failures: z.number(), errored: z.number() }),
  failures: z.array(z.object({ title: z.string(), count: z.number() })),
  errors: z.array(z.object({ title: z.string(), count: z.number() })),
  /** well-formed requests by operation and phase, and how many were accepted */
  valid_rates: z.record(z.string(), z.record(z.string(), z.object({ accepted: z.number() }))),
  complete: z.boolean(),
});

interface RunResult {
  run: Run;
  ok: boolean;
  cases: number;
  failures: number;
  /** documented operations that were not tested */
  skipped: number;
  /** operations (`GET /v1/jobs`) that accepted at least one request */
  accepted: string[];
  seconds: number;
}

interface Facts extends Prepared {
  url: string;
  /** path of the document with the keys or sessions */
  keys: string;
  files: FileServer;
  link: Link;
  urlPattern: string;
}

function commandOf(one: Run, url: string): string[] {
  return [
    ...['--no-color', '--config-file', join(root, 'test/contract/schemathesis.toml')],
    // Reads the file, which the service serves unchanged. Over HTTP, Schemathesis would count the download as a call of the
    // operation.
    ...['run', join(root, 'openapi.yaml'), '--url', url],
    one.audience === 'console' ? '--include-tag' : '--exclude-tag',
    'Console',
    ...['--phases', 'examples,coverage,fuzzing,stateful', '--mode', 'all'],
    ...['--max-examples', String(one.examples), '--seed', String(one.seed)],
    ...['--report', 'json', '--report-json-path', join(reports, `${one.name}.json`)],
  ];
}

/** Runs Schemathesis to its end. Its output is kept, and printed if anything is wrong. */
async function fuzz(one: Run, facts: Facts): Promise<RunResult> {
  const started = performance.now();
  const env = {
    PATH: process.env['PATH']!,
    HOME: process.env['HOME'] ?? '/',
    REELMEND_CONTRACT_HOOKS: join(root, 'test/contract/schemathesis_hooks.py'),
    REELMEND_CONTRACT_KEYS: facts.keys,
    REELMEND_CONTRACT_LINK: JSON.stringify(facts.link),
    REELMEND_CONTRACT_DELETED: facts.deletedJob,
    REELMEND_CONTRACT_UPLOAD: facts.upload,
    REELMEND_CONTRACT_SERVICE: JSON.stringify({ url: facts.url, headers: { Authorization: `Bearer ${facts.key}` } }),
    REELMEND_CONTRACT_UPLOADER: JSON.stringify({ Authorization: `Bearer ${facts.uploaderKey}` }),
    REELMEND_CONTRACT_MODE: one.mode,
    REELMEND_CONTRACT_CONSOLE: JSON.stringify(facts.console),
    REELMEND_CONTRACT_VIDEO: `${facts.files.url}/clip.mp4`,
    REELMEND_CONTRACT_WEBHOOK: `${facts.files.url}/webhook`,
    REELMEND_CONTRACT_URL_PATTERN: facts.urlPattern,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  // A working folder per run, for the cache and the database of examples.
  const cwd = await mkdtemp(join(tmpdir(), 'reelmend-schemathesis-'));
  const child = spawn(schemathesis, commandOf(one, facts.url), { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  fuzzers.add(child);
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  fuzzers.delete(child);
  await rm(cwd, { recursive: true, force: true });
  await writeFile(join(reports, `${one.name}.log`), output);
  const result = await resultOf(one, code === 0, (performance.now() - started) / 1000);
  if (!result.ok) console.log(output);
  return result;
}

/** The documented operations of an audience. */
function operationsOf(audience: Run['audience']) {
  return documentedOperations.filter(({ path }) => path.startsWith('/console/') === (audience === 'console'));
}

async function resultOf(one: Run, ok: boolean, seconds: number): Promise<RunResult> {
  const text = await readFile(join(reports, `${one.name}.json`), 'utf8').catch(() => '');
  // A fuzzer that crashed or was killed leaves an empty report or none.
  if (text === '') return { run: one, ok: false, cases: 0, failures: 1, skipped: 0, accepted: [], seconds };
  const { operations, test_cases, failures, errors, valid_rates, complete } = report.parse(JSON.parse(text));
  const count = [...failures, ...errors].reduce((sum, group) => sum + group.count, 0);
  const skipped = operationsOf(one.audience).length - operations.tested;
  const accepted = Object.entries(valid_rates)
    .filter(([, phases]) => Object.values(phases).some((rate) => rate.accepted > 0))
    .map(([operation]) => operation);
  const good = ok && complete && count === 0 && skipped === 0 && test_cases.with_failures === 0;
  return { run: one, ok: good, cases: test_cases.generated, failures: count, skipped, accepted, seconds };
}

function line({ run: one, ok, cases, failures, skipped, seconds }: RunResult): string {
  const counts = `${cases} cases, ${failures} failures, ${skipped} operations skipped`;
  return `${ok ? 'ok  ' : 'FAIL'} ${one.name} (seed ${one.seed}): ${counts} in ${seconds.toFixed(1)} s`;
}

/** Runs the modes concurrently, and the runs of a mode one after the other. */
async function runAll(folder: string, runs: Run[], world: World): Promise<RunResult[]> {
  const { components } = parse(await readFile(join(root, 'openapi.yaml'), 'utf8')) as {
    components: { schemas: { PublicUrl: { pattern: string } } };
  };
  const urlPattern = components.schemas.PublicUrl.pattern;
  const runOf = async (name: Mode) => {
    const results: RunResult[] = [];
    for (const one of runs.filter((other) => other.mode === name)) {
      if (interrupted) break;
      const keys = join(folder, `${one.name}.json`);
      const prepared = await prepare(world, keys, one);
      const result = await fuzz(one, { ...world, ...prepared, keys, urlPattern });
      console.log(line(result));
      results.push(result);
    }
    return results;
  };
  return (await Promise.all([runOf('test'), runOf('live')])).flat();
}

/** Operations that never answered 2xx. A fuzzer whose well-formed requests are all rejected proves little. */
function neverAccepted(results: RunResult[]): string[] {
  const accepted = new Set(results.flatMap((result) => result.accepted));
  return documentedOperations
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    .filter((operation) => !accepted.has(operation));
}

async function main(): Promise<number> {
  const isShort = !values.long && values.seed === undefined && values.only === undefined;
  // With a fixed seed, more cases find the same faults each time: the long run has them.
  const examples = isShort ? 4 : 10;
  const drawn = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  // The modes run concurrently, and the runs of a mode one after the other. The short test runs keys and console concurrently.
  const short: Run[] = [
    { name: 'live-secure', audience: 'keys', mode: 'live', tier: 'secure', seed: fixedSeed, examples },
    { name: 'console', audience: 'console', mode: 'test', tier: 'standard', seed: fixedSeed, examples },
  ];
  const long: Run[] = [
    ...short,
    { name: 'test-secure', audience: 'keys', mode: 'test', tier: 'secure', seed: drawn, examples: 20 },
    { name: 'test-standard', audience: 'keys', mode: 'test', tier: 'standard', seed: drawn, examples: 10 },
    { name: 'live-standard', audience: 'keys', mode: 'live', tier: 'standard', seed: drawn, examples: 10 },
  ];
  const all = isShort ? short : long;
  const runs = all.filter(({ name }) => values.only === undefined || values.only === name);
  console.log(`Seeds: ${fixedSeed} (fixed)${all === long ? ` and ${drawn} (random; --seed ${drawn} repeats it)` : ''}`);
  await rm(reports, { recursive: true, force: true });
  await mkdir(reports, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-contract-'));
  try {
    const results = await withService(folder, async (world) => {
      const made = await runAll(folder, runs, world);
      await writeFile(join(reports, 'service.log'), world.log.join('\n'));
      return made;
    });
    const missing = values.only === undefined ? neverAccepted(results) : [];
    for (const operation of missing) console.log(`No well-formed request was accepted: ${operation}`);
    const failures = results.reduce((sum, { failures }) => sum + failures, 0);
    const skipped = results.reduce((sum, result) => sum + result.skipped, 0);
    const cases = results.reduce((sum, result) => sum + result.cases, 0);
    console.log(`Contract: ${cases} cases in ${runs.length} runs, ${failures} failures, ${skipped} operations skipped`);
    return results.every(({ ok }) => ok) && missing.length === 0 && !interrupted ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();

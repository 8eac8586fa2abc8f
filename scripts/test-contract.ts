/**
 * Starts the real service (API, worker, PostgreSQL) on loopback and runs Schemathesis against it: every operation, all
 * checks, all phases. One run per audience (keys, console) with a fixed seed. `--long` adds runs with keys of the other modes
 * and tiers; they have a random seed, which is printed (`--seed N` repeats it). Fails on any failure, error or skipped
 * operation, and if an operation accepted no well-formed request.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { argon2Sync, createHash, randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { openDatabase } from '../src/postgres/embedded.ts';
import { generateApiKey, hashApiKey } from '../src/domain/api-key.ts';
import type { Mode, Tier } from '../src/domain/job.ts';
import { createPasswords } from '../src/domain/passwords.ts';
import { createStore, migrate, type Store } from '../src/store/index.ts';
import { type FileServer, startFileServer } from '../test/helpers/fileserver.ts';
import { operations as documentedOperations } from '../test/helpers/http-contract.ts';

const root = join(import.meta.dirname, '..');
const schemathesis = join(root, '.venv/bin/schemathesis');
const reports = join(root, 'build/reports/contract');
const pepper = 'pepper of the contract tests';
const fixedSeed = 20261121;
/** more than all runs together spend */
const credits = 100_000_000;
const serviceTimeoutMs = 60_000;

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

interface Run {
  name: string;
  /** who calls: programs with a key, or the console's page with a session */
  audience: 'keys' | 'console';
  mode: Mode;
  tier: Tier;
  seed: number;
  /** cases per operation and phase */
  examples: number;
}

const run = promisify(execFile);
/** A signal stops these, so that the clean-up of `main` still runs. */
const fuzzers = new Set<ChildProcess>();
let interrupted = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of fuzzers) child.kill('SIGTERM');
  });
}

/** Makes a clip of 0.3 s with sound: real but little work for live mode. */
async function makeClip(path: string): Promise<void> {
  const video = ['-f', 'lavfi', '-i', 'testsrc2=size=64x36:rate=10:duration=0.3'];
  const audio = ['-f', 'lavfi', '-i', 'sine=duration=0.3'];
  const codecs = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-movflags', '+faststart'];
  await run('ffmpeg', ['-v', 'error', '-y', ...video, ...audio, ...codecs, path], { timeout: 60_000 });
}

/** Resolves to the base URL that the service logs. */
function startService(env: Record<string, string>): Promise<{ url: string; child: ChildProcess; log: string[] }> {
  const child = spawn(join(root, 'scripts/reelmend'), ['start'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const log: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the service ${why}:\n${log.slice(-20).join('\n')}`));
    const timer = setTimeout(() => fail('did not start in time'), serviceTimeoutMs);
    child.once('exit', (code) => fail(`ended with status ${code}`));
    let rest = '';
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      log.push(...lines);
      const line = lines.find((text) => text.includes('"msg":"listening"'));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve({ url: (JSON.parse(line) as { url: string }).url, child, log });
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(timer);
}

async function createKey(store: Store, accountId: string, mode: Mode, tier: Tier): Promise<string> {
  const { key, lastFour } = generateApiKey(mode);
  await store.keys.create({ accountId, mode, tier, hash: hashApiKey(key, pepper), lastFour });
  return key;
}

async function createAccount(store: Store, name: string): Promise<string> {
  const { id } = await store.accounts.create({ name });
  await store.accounts.approve(id);
  await store.accounts.grant(id, credits, 'contract tests');
  return id;
}

/**
 * Writes the document that Schemathesis reads keys from: keys of the same kind of two accounts. Returns the first one's key.
 */
async function writeKeys(store: Store, path: string, { mode, tier }: Run): Promise<string> {
  const entry = async (name: string) => {
    const key = await createKey(store, await createAccount(store, name), mode, tier);
    return { name, key, fixedHeaders: [{ name: 'Authorization', value: `Bearer ${key}` }] };
  };
  const entries = [await entry('ours'), await entry('stranger')];
  await writeFile(path, JSON.stringify({ auth: entries.map(({ name, fixedHeaders }) => ({ name, fixedHeaders })) }));
  return entries[0]!.key;
}

const password = 'correct horse battery';

/**
 * The hash of `password` with the least memory and one pass. The hooks need a new person for hundreds of cases, and hashes of the
 * service's cost took most of the time.
 */
function quickHash(): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', { message: password, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 });
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=8,t=1,p=1$${text(nonce)}$${text(tag)}`;
}

/** Creates people, each the admin of an account of the same name. Returns their emails. */
async function createPeople(store: Store, count: number): Promise<string[]> {
  const hash = quickHash();
  const emails = Array.from({ length: count }, (_, index) => `newcomer-${index}@example.com`);
  for (const email of emails) {
    const { id } = await store.accounts.create({ name: email });
    await store.users.create({ email, password: hash, account: { id } });
  }
  return emails;
}

interface Session {
  id: string;
  email: string;
  accountId: string;
  headers: Record<string, string>;
}

/** Signs a person in to the console. Returns the headers that the page sends. */
async function signIn({ url, store }: World, name: string, operator: boolean): Promise<Session> {
  const email = `${name}@example.com`;
  const accountId = await createAccount(store, name);
  await store.users.create({ email, password: await createPasswords().hash(password), account: { id: accountId } });
  await store.users.setOperator(email, operator);
  const response = await fetch(`${url}/console/api/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  const { id, csrf_token } = (await response.json()) as { id: string; csrf_token: string };
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { id, email, accountId, headers: { Cookie: cookie, 'X-CSRF-Token': csrf_token } };
}

/** Like `writeKeys`, for two people. The stranger is not an operator, because operators may see all data. */
async function writeSessions(world: World, path: string): Promise<object> {
  const [ours, stranger] = [await signIn(world, 'ours', true), await signIn(world, 'stranger', false)];
  const entry = (name: string, { headers }: Session) => ({
    name,
    fixedHeaders: Object.entries(headers).map(([header, value]) => ({ name: header, value })),
  });
  await writeFile(path, JSON.stringify({ auth: [entry('ours', ours), entry('stranger', stranger)] }));
  const delivery = await makeDelivery(world, ours.headers);
  const { id: session, email, headers } = ours;
  const newcomers = await createPeople(world.store, 250);
  return { url: world.url, session, email, password, headers, delivery, account: stranger.accountId, newcomers };
}

/** Makes a webhook delivery. */
async function makeDelivery({ url, files }: World, headers: Record<string, string>): Promise<string> {
  const body = JSON.stringify({ url: `${files.url}/webhook`, event: 'job.completed' });
  const init = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body };
  const made = await fetch(`${url}/console/api/webhooks/test`, init);
  if (!made.ok) throw new Error(`the test event was rejected: ${await made.text()}`);
  for (let poll = 0; poll < 300; poll += 1) {
    const response = await fetch(`${url}/console/api/webhooks/deliveries?state=delivered`, { headers });
    const { data } = (await response.json()) as { data: { id: string }[] };
    if (data[0] !== undefined) return data[0].id;
    await sleep(100);
  }
  throw new Error('the test event was not delivered in time');
}

/** Uploads the clip and returns the id of the upload, ready for jobs. */
async function makeUpload({ url, clip }: World, key: string): Promise<string> {
  const bytes = await readFile(clip);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  type Upload = { id: string; status: string; parts: { url: string }[] };
  const { id, parts } = await call<Upload>(`${url}/v1/uploads`, key, 'POST', { file_name: 'clip.mp4', size_bytes: bytes.length, sha256 });
  await fetch(parts[0]!.url, { method: 'PUT', body: bytes });
  await call(`${url}/v1/uploads/${id}/complete`, key, 'POST', {});
  for (let poll = 0; poll < 300; poll += 1) {
    if ((await call<Upload>(`${url}/v1/uploads/${id}`, key, 'GET')).status === 'ready') return id;
    await sleep(100);
  }
  throw new Error(`the upload ${id} was not verified in time`);
}

interface Link {
  key: string;
  query: Record<string, string>;
}

/** Sends one request. Throws unless the response is 2xx. */
async function call<T>(url: string, key: string, method: string, body?: object): Promise<T> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** The parts of a signed download link of a test job. */
async function makeLink(url: string, key: string): Promise<Link> {
  const body = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
  const { id } = await call<{ id: string }>(`${url}/v1/jobs`, key, 'POST', body);
  for (let poll = 0; poll < 300; poll += 1) {
    if ((await call<{ status: string }>(`${url}/v1/jobs/${id}`, key, 'GET')).status === 'done') break;
    await sleep(100);
  }
  const { download_url } = await call<{ download_url: string }>(`${url}/v1/jobs/${id}/result`, key, 'GET');
  const link = new URL(download_url);
  return { key: link.pathname.replace('/v1/downloads/', ''), query: Object.fromEntries(link.searchParams) };
}

/** Creates a job of the Secure tier, deletes it, and returns its id once it has its certificate; empty for Standard keys. */
async function makeDeletedJob({ url, files }: World, key: string, { tier }: Run): Promise<string> {
  if (tier !== 'secure') return '';
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p', secure: true };
  const { id } = await call<{ id: string }>(`${url}/v1/jobs`, key, 'POST', body);
  await call(`${url}/v1/jobs/${id}`, key, 'DELETE');
  for (let poll = 0; poll < 300; poll += 1) {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/jobs/${id}/deletion-certificate`, { headers });
    await response.arrayBuffer();
    if (response.status === 200) return id;
    await sleep(100);
  }
  throw new Error(`the certificate of ${id} was not issued in time`);
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

interface Facts {
  url: string;
  keys: string;
  files: FileServer;
  link: Link;
  deletedJob: string;
  /** id of an upload that is ready; empty for the console */
  upload: string;
  /** key of the first account; empty for the console */
  key: string;
  /** key of an account that only the hooks use, for uploads; empty for the console */
  uploaderKey: string;
  urlPattern: string;
  /** data about the console's people for the hooks; empty in other runs */
  console: object;
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

interface World {
  url: string;
  store: Store;
  files: FileServer;
  link: Link;
  /** path of the video */
  clip: string;
  log: string[];
}

/** Runs `work` with a database, file server and service of its own, and removes them afterwards. */
async function withService<T>(folder: string, work: (world: World) => Promise<T>): Promise<T> {
  const closing: (() => Promise<unknown>)[] = [];
  try {
    await makeClip(join(folder, 'clip.mp4'));
    const files = await startFileServer({ dir: folder, paths: { '/webhook': { body: 'thanks' } } });
    closing.unshift(() => files.close());
    const database = await openDatabase({ databaseUrl: undefined, dataDir: folder });
    closing.unshift(() => database.stop());
    await migrate({ url: database.url });
    const store = createStore({ url: database.url });
    closing.unshift(() => store.close());
    const { url, child, log } = await startService({
      PATH: process.env['PATH']!,
      HOME: folder,
      PORT: '0',
      DATABASE_URL: database.url,
      REELMEND_DATA_DIR: folder,
      REELMEND_DEMO: '0',
      // Nothing here depends on the machine's speed, whose measurement takes 13 s of all cores.
      REELMEND_MIN_SPEED: 'none',
      REELMEND_KEY_PEPPER: pepper,
      REELMEND_ALLOW_HOSTS: files.hostPort,
      REELMEND_TEST_MODE_DELAY_MS: '20',
      // Other tests cover rate limits. Here they would hide other errors.
      REELMEND_RATE_LIMITS: 'create=1000000,read=1000000,other=1000000,auth=1000000',
      REELMEND_ENCODER_PRESET: 'ultrafast',
      // Uploads of generated sizes must not reserve the whole disk.
      REELMEND_UPLOAD_QUOTA_GB: '1',
    });
    closing.unshift(() => stop(child));
    const key = await createKey(store, await createAccount(store, 'link'), 'test', 'standard');
    return await work({ url, store, files, link: await makeLink(url, key), clip: join(folder, 'clip.mp4'), log });
  } finally {
    for (const close of closing) await close();
  }
}

async function prepareKeys(world: World, path: string, one: Run) {
  const key = await writeKeys(world.store, path, one);
  const uploaderKey = await createKey(world.store, await createAccount(world.store, 'uploader'), one.mode, one.tier);
  return { key, uploaderKey, upload: await makeUpload(world, key), deletedJob: await makeDeletedJob(world, key, one), console: {} };
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
      const prepared =
        one.audience === 'console'
          ? { key: '', uploaderKey: '', upload: '', deletedJob: '', console: await writeSessions(world, keys) }
          : await prepareKeys(world, keys, one);
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

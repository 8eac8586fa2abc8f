/** The service that Schemathesis fuzzes, and what its requests refer to: accounts, keys, people, an upload, a link, a deleted job. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import type { Mode, Tier } from '../../src/domain/job.ts';
import { createPasswords } from '../../src/domain/passwords.ts';
import { openDatabase } from '../../src/postgres/embedded.ts';
import { createStore, migrate, type Store } from '../../src/store/index.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';

const run = promisify(execFile);
const reelmend = join(import.meta.dirname, '../../scripts/reelmend');
const pepper = 'pepper of the contract tests';
/** more than all runs together spend */
const credits = 100_000_000;
const serviceTimeoutMs = 60_000;

/** Who sends the requests of a run. */
export interface Caller {
  /** programs with a key, or the console's page with a session */
  audience: 'keys' | 'console';
  mode: Mode;
  tier: Tier;
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
  const child = spawn(reelmend, ['start'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
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
async function writeKeys(store: Store, path: string, { mode, tier }: Caller): Promise<string> {
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
 * Creates people, each the admin of an account of the same name. Returns their emails. The hooks need a new person for hundreds of
 * cases; password hashes of the service's cost took most of the time.
 */
async function createPeople(store: Store, count: number): Promise<string[]> {
  const hash = await createPasswords({ cost: { memoryKib: 8, passes: 1 } }).hash(password);
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

export interface Link {
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
async function makeDeletedJob({ url, files }: World, key: string, { tier }: Caller): Promise<string> {
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

export interface World {
  url: string;
  store: Store;
  files: FileServer;
  link: Link;
  /** path of the video */
  clip: string;
  log: string[];
}

/** Runs `work` with a database, file server and service of its own, and removes them afterwards. */
export async function withService<T>(folder: string, work: (world: World) => Promise<T>): Promise<T> {
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
      // Warm children load libraries and networks that few of these jobs use.
      REELMEND_WARM_CHILDREN: '0',
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

async function prepareKeys(world: World, path: string, one: Caller) {
  const key = await writeKeys(world.store, path, one);
  const uploaderKey = await createKey(world.store, await createAccount(world.store, 'uploader'), one.mode, one.tier);
  return { key, uploaderKey, upload: await makeUpload(world, key), deletedJob: await makeDeletedJob(world, key, one), console: {} };
}

/** What the hooks need for a caller's requests. */
export interface Prepared {
  /** key of the first account; empty for the console */
  key: string;
  /** key of an account that only the hooks use, for uploads; empty for the console */
  uploaderKey: string;
  /** id of an upload that is ready; empty for the console */
  upload: string;
  /** id of a deleted job with a certificate; empty for Standard keys and the console */
  deletedJob: string;
  /** data about the console's people for the hooks; empty for keys */
  console: object;
}

/** Makes what a caller needs. Writes the document that Schemathesis reads its keys or sessions from to `path`. */
export async function prepare(world: World, path: string, caller: Caller): Promise<Prepared> {
  if (caller.audience === 'keys') return prepareKeys(world, path, caller);
  return { key: '', uploaderKey: '', upload: '', deletedJob: '', console: await writeSessions(world, path) };
}

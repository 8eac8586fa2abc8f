/** Runs the real service in its own processes, started as an operator does: with the command line and the environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/app/config.ts';
import { openStore } from '../../src/app/open-store.ts';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import { runCommand } from './command.ts';
import { createTestDatabase } from './database.ts';
import { type FileServer, startFileServer } from './fileserver.ts';
import { checkedFetch } from './http-contract.ts';
import { hangMs } from './wait.ts';

const reelmend = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));

export type Environment = Record<string, string>;

export interface Site {
  databaseUrl: string;
  dataDir: string;
  env: Environment;
  /** runs `reelmend …` in this process and returns its JSON */
  reelmend<T>(...args: string[]): Promise<T>;
  /** starts `reelmend serve|work|start`; the API's base URL is in `url` */
  start(command: 'serve' | 'work' | 'start', env?: Environment, how?: HowToStart): Promise<Running>;
  /** stops every process, and removes the database and the data folder */
  close(): Promise<void>;
}

export interface HowToStart {
  /** prefix of the process's command line */
  prefix?: readonly string[];
  /** path of the command line's module; default: scripts/reelmend */
  program?: string;
}

export interface Running {
  pid: number;
  url: string;
  /** lines of stderr so far (JSON logs) */
  log: string[];
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Creates a database and a data folder for processes that share them, as those of one machine do. */
export async function createSite(env: Environment = {}, options: { migrated?: boolean } = {}): Promise<Site> {
  const database = await createTestDatabase(options);
  const dataDir = await mkdtemp(join(tmpdir(), 'reelmend-site-'));
  const running = new Set<Running>();
  const environment: Environment = {
    PATH: process.env['PATH']!,
    HOME: dataDir,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE']!,
    DATABASE_URL: database.url,
    REELMEND_DATA_DIR: dataDir,
    REELMEND_DEMO: '0',
    // Warm children load libraries and networks that most tests never use.
    REELMEND_WARM_CHILDREN: '0',
    // The speed of the networks need not be measured for each data folder.
    REELMEND_MIN_SPEED: 'none',
    // x264's slower presets take most of a short job's time, and change nothing that these tests look at.
    REELMEND_ENCODER_PRESET: 'ultrafast',
    PORT: '0',
    ...env,
  };
  return {
    databaseUrl: database.url,
    dataDir,
    env: environment,
    async reelmend<T>(...args: string[]) {
      const { status, stdout, stderr } = await runCommand(args, { env: environment });
      if (status !== 0) throw new Error(`reelmend ${args.join(' ')} ended with status ${status}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    async start(command, extra = {}, how = {}) {
      const started = await start(command, { ...environment, ...extra }, how);
      running.add(started);
      return started;
    },
    async close() {
      await Promise.all([...running].map((one) => one.kill('SIGTERM')));
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function start(command: string, env: Environment, { prefix = [], program }: HowToStart): Promise<Running> {
  const line = [...prefix, ...(program === undefined ? [reelmend] : [process.execPath, program]), command];
  const child = spawn(line[0]!, line.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const log: string[] = [];
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await ready(child, command, log);
  return {
    pid: child.pid!,
    url,
    log,
    async kill(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

/** Resolves when the process logs that it listens (serve, start) or has started (work). */
function ready(child: ChildProcess, command: string, log: string[]): Promise<string> {
  const sign = command === 'work' ? 'worker started' : 'listening';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`reelmend ${command} ${why}:\n${log.slice(-20).join('\n')}`));
    const timer = setTimeout(() => fail('did not start in time'), hangMs);
    child.once('exit', (code) => fail(`ended with status ${code}`));
    let rest = '';
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      log.push(...lines);
      const line = lines.find((text) => text.includes(`"msg":"${sign}"`));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve((JSON.parse(line) as { url?: string }).url ?? '');
    });
    child.stdout!.resume();
  });
}

export interface Customer {
  accountId: string;
  key: string;
}

/** Creates an approved, funded account with one key, as the command line does. */
export async function createCustomer(
  site: Site,
  options: { credits?: number; mode?: 'live' | 'test'; tier?: 'standard' | 'secure'; approve?: boolean } = {},
): Promise<Customer> {
  const { approve = true, credits = 10_000, mode = 'live', tier = 'standard' } = options;
  const { store, secrets, close } = await openStore(loadConfig(site.env));
  try {
    const { id: accountId } = await store.accounts.create({ name: 'A customer' });
    if (approve) await store.accounts.approve(accountId);
    if (credits > 0) await store.accounts.grant(accountId, credits);
    const { key, lastFour } = generateApiKey(mode);
    await store.keys.create({ accountId, mode, tier, hash: hashApiKey(key, secrets.keyPepper), lastFour });
    return { accountId, key };
  } finally {
    await close();
  }
}

export interface CallResponse<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** Sends one request with a key, JSON in both directions. Throws if openapi.yaml does not document the response. */
export async function call<T>(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<CallResponse<T>> {
  const response = await checkedFetch(`${url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

export interface JobView {
  id: string;
  status: 'queued' | 'running' | 'done' | 'error';
  progress: number;
  credits_charged: number;
  duration_seconds: number;
  error: { code: string; message: string } | null;
  output: { width: number; height: number; size_bytes: number; sha256: string } | null;
  source: Record<string, unknown> | null;
  sandbox: boolean;
  /** of a running job in segments */
  segments?: unknown[];
}

/** Polls until the job has ended. Passes every response to `watch`. */
export async function waitForEnd(
  url: string,
  key: string,
  id: string,
  options: { watch?: (job: JobView) => void } = {},
): Promise<JobView> {
  const deadline = Date.now() + hangMs;
  for (;;) {
    const { status, body } = await call<JobView>(url, key, 'GET', `/v1/jobs/${id}`);
    if (status !== 200) throw new Error(`GET job answered ${status}: ${JSON.stringify(body)}`);
    options.watch?.(body);
    if (body.status === 'done' || body.status === 'error') return body;
    if (Date.now() > deadline) throw new Error(`job ${id} is still ${body.status} at ${body.progress}`);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

/** A service with its worker, a customer with credits, and a file server with clips that it may read. */
export interface VideoSite {
  /** folder of the clips */
  dir: string;
  files: FileServer;
  site: Site;
  api: Running;
  customer: Customer;
  close(): Promise<void>;
}

export async function openVideoSite(makeClips: (dir: string) => Promise<void>, env: Environment = {}): Promise<VideoSite> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-clips-'));
  await makeClips(dir);
  const files = await startFileServer({ dir });
  const site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort, ...env });
  const customer = await createCustomer(site);
  const api = await site.start('start');
  return {
    ...{ dir, files, site, api, customer },
    async close() {
      await site.close();
      await files.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The service that bench-fleet measures: PostgreSQL with its statistics, an S3 server, the API, videos, and workers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { loadConfig } from '../../src/app/config.ts';
import { openStore } from '../../src/app/open-store.ts';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import { openDatabase } from '../../src/postgres/embedded.ts';
import type { Store } from '../../src/store/index.ts';
import { ffmpeg } from '../../test/helpers/ffmpeg.ts';
import { startFileServer } from '../../test/helpers/fileserver.ts';
import { startS3Server } from '../../test/helpers/s3.ts';
import type { DeviceEvent } from './events.ts';
import type { WorkerEvent } from './steady-state.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export interface FleetWorker {
  pid: number;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface FleetService {
  sql: postgres.Sql;
  store: Store;
  /** events of the devices, oldest first */
  events: WorkerEvent[];
  workers: FleetWorker[];
  /** Starts workers until `count` run, with these variables in place of those of the service. */
  scaleTo(count: number, variables?: Record<string, string>): Promise<void>;
  /** Creates an approved account with credits, and returns an API key of it. */
  createCustomer(): Promise<string>;
  /** Creates a job from a video of that length; returns its id. */
  createJob(key: string, seconds: number, resolution?: '1080p' | '4k'): Promise<string>;
  /** Resolves to the first matching event, past or future. */
  waitFor(what: (event: DeviceEvent) => boolean): Promise<DeviceEvent>;
  /** CPU time of PostgreSQL so far, ms */
  databaseCpuMs(): Promise<number>;
  close(): Promise<void>;
}

export interface FleetOptions {
  /** seconds of video per second */
  deviceSpeed: number;
  leaseSeconds: number;
}

const waitLimitMs = 300_000;

export async function startFleetService({ deviceSpeed, leaseSeconds }: FleetOptions): Promise<FleetService> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step().catch((error: unknown) => console.error(error));
  };
  try {
    return await start({ deviceSpeed, leaseSeconds }, closing, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(options: FleetOptions, closing: (() => Promise<unknown>)[], close: () => Promise<void>): Promise<FleetService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'reelmend-fleet-'));
  closing.push(() => rm(dataDir, { recursive: true, force: true }));
  const database = await openMeasuredDatabase(dataDir, closing);
  const s3 = await startS3Server();
  if (s3 === null) throw new Error('bench:fleet needs Go to build its S3 server');
  closing.push(() => s3.close());
  await s3.createBucket('fleet');
  const videos = join(dataDir, 'videos');
  await mkdir(videos);
  const files = await startFileServer({ dir: videos });
  closing.push(() => files.close());
  const env = environmentOf(options, { databaseUrl: database.url, s3, videoHost: files.hostPort });
  const own = (name: string) => ({ ...env, HOME: join(dataDir, name), REELMEND_DATA_DIR: join(dataDir, name) });
  const { store, secrets, close: closeStore } = await openStore(loadConfig(own('parent')));
  closing.push(closeStore);
  const sql = postgres(database.url, { max: 1, onnotice: () => {}, connection: { application_name: 'bench' } });
  closing.push(() => sql.end({ timeout: 5 }));
  await sql`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`;
  const api = await startApi(own('api'));
  closing.push(api.stop);
  const fleet = new Fleet((number) => own(`worker-${number}`));
  closing.push(() => fleet.close());
  const made = new Map<number, Promise<unknown>>();
  return {
    sql,
    store,
    events: fleet.events,
    workers: fleet.workers,
    scaleTo: (count, variables) => fleet.scaleTo(count, variables),
    waitFor: (what) => fleet.waitFor(what),
    databaseCpuMs: () => cpuMsOf(database.pid),
    createCustomer: () => createCustomer(store, secrets.keyPepper),
    async createJob(key, seconds, resolution = '1080p') {
      if (!made.has(seconds)) made.set(seconds, makeVideo(join(videos, `${seconds}.mp4`), seconds));
      await made.get(seconds);
      const response = await fetch(`${api.url}/v1/jobs`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ video_url: `${files.url}/${seconds}.mp4`, resolution }),
      });
      if (response.status !== 201) throw new Error(`POST /v1/jobs answered ${response.status}: ${await response.text()}`);
      return ((await response.json()) as { id: string }).id;
    },
    close,
  };
}

interface Environment {
  databaseUrl: string;
  s3: NonNullable<Awaited<ReturnType<typeof startS3Server>>>;
  /** `host:port` of the server of the videos */
  videoHost: string;
}

/** Variables that the API and the workers share. */
const environmentOf = ({ deviceSpeed, leaseSeconds }: FleetOptions, { databaseUrl, s3, videoHost }: Environment) => ({
  PATH: process.env['PATH']!,
  DATABASE_URL: databaseUrl,
  AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  S3_ENDPOINT: s3.endpoint,
  S3_BUCKET: 'fleet',
  PORT: '0',
  FLEET_DEVICE_SPEED: String(deviceSpeed),
  REELMEND_KEY_PEPPER: 'the pepper of the benchmark',
  REELMEND_LINK_SECRET: 'the link secret of the benchmark',
  REELMEND_CONSOLE: '0',
  REELMEND_DEMO: '0',
  REELMEND_WARM_CHILDREN: '0',
  REELMEND_DOWNLOAD_CONCURRENCY: '1',
  REELMEND_SEGMENTS_FROM_SECONDS: '15',
  REELMEND_MAX_DURATION_SECONDS: '21600',
  REELMEND_LEASE_SECONDS: String(leaseSeconds),
  REELMEND_RATE_LIMITS: 'create=100000,read=100000,other=100000',
  REELMEND_ALLOW_HOSTS: videoHost,
  REELMEND_LOG_LEVEL: 'info',
});

/** Returns an API key of a new, approved account with credits. */
async function createCustomer({ accounts, keys }: Store, keyPepper: string): Promise<string> {
  const { id: accountId } = await accounts.create({ name: 'A customer of the benchmark' });
  await accounts.approve(accountId);
  await accounts.grant(accountId, 1_000_000);
  const { key, lastFour } = generateApiKey('live');
  await keys.create({ accountId, mode: 'live', tier: 'standard', hash: hashApiKey(key, keyPepper), lastFour });
  return key;
}

/** Starts a PostgreSQL that counts statements. */
async function openMeasuredDatabase(dataDir: string, closing: (() => Promise<unknown>)[]): Promise<{ url: string; pid: number }> {
  const options = { databaseUrl: undefined, dataDir };
  const first = await openDatabase(options);
  const sql = postgres(first.url, { max: 1 });
  await sql.unsafe(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
  await sql.unsafe(`ALTER SYSTEM SET max_connections = 300`);
  await sql.end();
  await first.stop();
  const { url, stop } = await openDatabase(options);
  closing.push(stop);
  const pid = Number((await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);
  return { url, pid };
}

/** One frame a second of one colour, so that a long video is a small file. */
const makeVideo = (path: string, seconds: number) =>
  ffmpeg(['-f', 'lavfi', '-i', `color=c=gray:size=64x64:rate=1:duration=${seconds}`, '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', path]);

async function startApi(env: Record<string, string>): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = spawn(here('../reelmend'), ['serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: child.stderr! });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the API ended with status ${code}`)));
    lines.on('line', (line) => line.includes('"msg":"listening"') && resolve((JSON.parse(line) as { url: string }).url));
  });
  return { url, stop: () => end(child, 'SIGTERM') };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

class Fleet {
  readonly events: WorkerEvent[] = [];
  readonly workers: FleetWorker[] = [];
  readonly #env: (number: number) => Record<string, string>;
  readonly #watchers = new Set<(event: DeviceEvent) => void>();
  #started = 0;

  constructor(env: (number: number) => Record<string, string>) {
    this.#env = env;
  }

  async scaleTo(count: number, variables: Record<string, string> = {}): Promise<void> {
    while (this.workers.length < count) await this.#startOne(variables);
  }

  async #startOne(variables: Record<string, string>): Promise<void> {
    const number = this.#started++;
    const child = spawn(process.execPath, [here('worker.ts')], { env: { ...this.#env(number), ...variables, REELMEND_LOG_LEVEL: process.env['FLEET_LOG_LEVEL'] ?? 'error' }, stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`a worker ended with status ${code}`)));
      createInterface({ input: child.stdout! }).on('line', (line) => {
        const event: WorkerEvent = { worker: number, ...(JSON.parse(line) as DeviceEvent) };
        if (event.kind === 'ready') return resolve();
        this.events.push(event);
        for (const watcher of this.#watchers) watcher(event);
      });
    });
    const worker: FleetWorker = {
      pid: child.pid!,
      kill: async (signal) => {
        this.workers.splice(this.workers.indexOf(worker), 1);
        await end(child, signal);
      },
    };
    this.workers.push(worker);
  }

  waitFor(what: (event: DeviceEvent) => boolean): Promise<DeviceEvent> {
    const found = this.events.find(what);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`No matching event within ${waitLimitMs} ms`)), waitLimitMs);
      const watcher = (event: DeviceEvent) => {
        if (!what(event)) return;
        clearTimeout(timer);
        this.#watchers.delete(watcher);
        resolve(event);
      };
      this.#watchers.add(watcher);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.slice().map((worker) => worker.kill('SIGTERM')));
  }
}

/** CPU time of a process and its children, including ended ones. */
async function cpuMsOf(parent: number): Promise<number> {
  let ticks = 0;
  for (const name of await readdir('/proc')) {
    const text = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    // The fields after the name, which may contain spaces: state, ppid … utime (12th), stime, cutime, cstime.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const own = Number(fields[11]) + Number(fields[12]);
    if (Number(name) === parent) ticks += own + Number(fields[13]) + Number(fields[14]);
    else if (Number(fields[1]) === parent) ticks += own;
  }
  return ticks * 10;
}

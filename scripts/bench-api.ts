/**
 * `npm run bench:api`: measures throughput and latency of reading a job and of creating a test job. The peer is a bare
 * Hono handler in the same run: one postgres.js query to read, one transaction with an `add_job` to create. The goal is
 * half of the peer's throughput. Each server has its own process; one client loads them in turn. Prints one JSON object.
 * Machines are noisy, so compare the ratios.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import postgres from 'postgres';
import { openDatabase } from '../src/postgres/embedded.ts';
import { generateApiKey, hashApiKey } from '../src/domain/api-key.ts';
import { createStore, migrate } from '../src/store/index.ts';

const rounds = 3;
const secondsPerRound = 4;
const connections = 32;
const accounts = 16;
const pepper = 'pepper of the benchmark';
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Load {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
}

/** Starts a server and resolves to the base URL that it prints. */
function startServer(command: string, args: string[], env: Record<string, string>): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(command, args, { env: { PATH: process.env['PATH']!, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let text = '';
    const onOutput = (chunk: Buffer) => {
      text += chunk.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (url === undefined) return;
      resolve({ url, child });
      // The log of each request is discarded: collecting it here would slow the client that measures.
      for (const output of [child.stdout!, child.stderr!]) output.off('data', onOutput).resume();
    };
    child.stdout!.on('data', onOutput);
    child.stderr!.on('data', onOutput);
    child.once('exit', (code) => reject(new Error(`the server ended with status ${code}: ${text}`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

interface Target {
  url: string;
  headers?: Record<string, string>;
  method?: 'GET' | 'POST';
  body?: string;
  /** sent in turn */
  requests?: { headers: Record<string, string> }[];
}

async function load(target: Target): Promise<Load> {
  const result = await autocannon({ ...target, connections, duration: secondsPerRound });
  if (result.non2xx > 0 || result.errors > 0) {
    const statuses = JSON.stringify(result.statusCodeStats);
    throw new Error(`${result.non2xx} responses of ${target.url} were not 2xx (${statuses}), ${result.errors} requests failed`);
  }
  return { requests_per_second: result.requests.average, p50_ms: result.latency.p50, p99_ms: result.latency.p99 };
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
const summary = (loads: Load[]): Load => ({
  requests_per_second: Math.round(median(loads.map((one) => one.requests_per_second))),
  p50_ms: median(loads.map((one) => one.p50_ms)),
  p99_ms: median(loads.map((one) => one.p99_ms)),
});

/**
 * Loads the two in turn. The first round is a warm-up and is not counted. Empties the queue before each load, because
 * `add_job` gets slower with each waiting row, and fast workers would leave none.
 */
async function compare(queue: postgres.Sql, ours: Target, peer: Target): Promise<{ ours: Load; peer: Load; ratio: number }> {
  const loads: { ours: Load[]; peer: Load[] } = { ours: [], peer: [] };
  const loadFresh = async (target: Target) => {
    await queue`DELETE FROM graphile_worker._private_jobs`;
    await queue`VACUUM ANALYZE graphile_worker._private_jobs`;
    return load(target);
  };
  for (let round = 0; round <= rounds; round++) {
    const pair = { ours: await loadFresh(ours), peer: await loadFresh(peer) };
    if (round === 0) continue;
    loads.ours.push(pair.ours);
    loads.peer.push(pair.peer);
  }
  const result = { ours: summary(loads.ours), peer: summary(loads.peer) };
  return { ...result, ratio: Number((result.ours.requests_per_second / result.peer.requests_per_second).toFixed(3)) };
}

interface Keys {
  live: string;
  /** one key per account, because an account's audit log serializes its creations */
  test: string[];
  jobId: string;
}

async function prepare(url: string): Promise<Keys> {
  await migrate({ url });
  const store = createStore({ url });
  const issue = async (accountId: string, mode: 'live' | 'test') => {
    const { key, lastFour } = generateApiKey(mode);
    await store.keys.create({ accountId, mode, tier: 'standard', hash: hashApiKey(key, pepper), lastFour });
    return key;
  };
  const test: string[] = [];
  for (let i = 0; i < accounts; i++) test.push(await issue((await store.accounts.create({ name: `bench ${i}` })).id, 'test'));
  const account = await store.accounts.create({ name: 'bench' });
  await store.accounts.approve(account.id);
  await store.accounts.grant(account.id, 1000);
  const live = await issue(account.id, 'live');
  const { job } = await store.jobs.create({
    account: { id: account.id, retentionDays: 30 },
    mode: 'live',
    tier: 'standard',
    resolution: '1080p',
    videoUrl: 'https://example.com/clip.mp4',
    webhookUrl: null,
    model: null,
    enhancements: {},
    metadata: {},
    durationSeconds: 10,
    source: null,
    credits: 30,
    idempotency: null,
  });
  await store.close();
  return { live, test, jobId: job.id };
}

/** Largest resident memory of a process so far, MB. */
async function peakMemoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) / 1024);
}

const dataDir = await mkdtemp(join(tmpdir(), 'reelmend-bench-'));
const database = await openDatabase({ databaseUrl: undefined, dataDir });
const servers: ChildProcess[] = [];
const queue = postgres(database.url, { max: 1 });

async function close(): Promise<void> {
  await queue.end({ timeout: 5 });
  await Promise.all(servers.splice(0).map(stop));
  await database.stop();
  await rm(dataDir, { recursive: true, force: true });
}

// Otherwise PostgreSQL would go on, and its folder would stay.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().finally(() => process.exit(1)));
try {
  const { live, test, jobId } = await prepare(database.url);
  const limits = 'create=9000000,read=9000000,other=9000000,pending=9000000';
  const env = {
    DATABASE_URL: database.url,
    REELMEND_DATA_DIR: dataDir,
    REELMEND_KEY_PEPPER: pepper,
    REELMEND_RATE_LIMITS: limits,
    REELMEND_LOG_LEVEL: 'info',
    PORT: '0',
  };
  const service = await startServer(here('reelmend'), ['serve'], env);
  servers.push(service.child);
  const peer = await startServer(process.execPath, [here('bench-api-peer.ts')], { DATABASE_URL: database.url });
  servers.push(peer.child);

  const get = await compare(
    queue,
    { url: `${service.url}/v1/jobs/${jobId}`, headers: { Authorization: `Bearer ${live}` } },
    { url: `${peer.url}/jobs/${jobId}` },
  );
  const body = JSON.stringify({ video_url: 'https://example.com/clip.mp4', resolution: '1080p' });
  const post = await compare(
    queue,
    {
      url: `${service.url}/v1/jobs`,
      method: 'POST',
      body,
      requests: test.map((key) => ({ headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } })),
    },
    { url: `${peer.url}/jobs`, method: 'POST' },
  );
  const peak_memory_mb = await peakMemoryMb(service.child.pid!);
  const report = {
    connections,
    accounts,
    rounds,
    seconds_per_round: secondsPerRound,
    get_job: { ours: get.ours, bare_query: get.peer, ratio: get.ratio, goal: 0.5, reached: get.ratio >= 0.5 },
    create_test_mode_job: { ours: post.ours, bare_transaction: post.peer, ratio: post.ratio, goal: 0.5, reached: post.ratio >= 0.5 },
    api_process: { peak_memory_mb, goal: 250, reached: peak_memory_mb < 250 },
  };
  console.log(JSON.stringify(report, null, 2));
} finally {
  await close();
}

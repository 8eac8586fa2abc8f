/**
 * `npm run bench:api`: throughput and latency of GET /v1/jobs/{id} (key check, job query, contract shape), beside
 * a bare Hono handler that does one postgres.js query, in the same run: both servers in processes of their own,
 * loaded in turn by the same client. Prints one JSON object; the ratio is what counts, the machine is shared.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { openDatabase } from '../src/database.ts';
import { generateApiKey, hashApiKey } from '../src/domain/api-key.ts';
import { createStore, migrate } from '../src/store/index.ts';

const rounds = 3;
const secondsPerRound = 4;
const connections = 32;
const pepper = 'pepper of the benchmark';
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Load {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
}

/** Starts a server and resolves to the base URL that its log or output names. */
function startServer(args: string[], env: Record<string, string>): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH']!, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let text = '';
    const look = (chunk: Buffer) => {
      text += chunk.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (url !== undefined) resolve({ url, child });
    };
    child.stdout!.on('data', look);
    child.stderr!.on('data', look);
    child.once('exit', (code) => reject(new Error(`the server ended with status ${code}: ${text}`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function load(url: string, headers: Record<string, string>): Promise<Load> {
  const result = await autocannon({ url, headers, connections, duration: secondsPerRound });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers of ${url} were no success`);
  return { requests_per_second: result.requests.average, p50_ms: result.latency.p50, p99_ms: result.latency.p99 };
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
const summary = (loads: Load[]): Load => ({
  requests_per_second: Math.round(median(loads.map((one) => one.requests_per_second))),
  p50_ms: median(loads.map((one) => one.p50_ms)),
  p99_ms: median(loads.map((one) => one.p99_ms)),
});

async function prepare(url: string): Promise<{ key: string; jobId: string }> {
  await migrate({ url });
  const store = createStore({ url });
  const account = await store.accounts.create({ name: 'bench' });
  await store.accounts.approve(account.id);
  await store.accounts.grant(account.id, 1000);
  const { key, lastFour } = generateApiKey('live');
  await store.keys.create({ accountId: account.id, lane: 'live', tier: 'standard', hash: hashApiKey(key, pepper), lastFour });
  const { job } = await store.jobs.create({
    account: { id: account.id, retentionDays: 30 },
    lane: 'live',
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
  return { key, jobId: job.id };
}

const dataDir = await mkdtemp(join(tmpdir(), 'framelift-bench-'));
const database = await openDatabase({ databaseUrl: undefined, dataDir });
const servers: ChildProcess[] = [];
try {
  const { key, jobId } = await prepare(database.url);
  const env = { DATABASE_URL: database.url, FRAMELIFT_DATA_DIR: dataDir, FRAMELIFT_KEY_PEPPER: pepper, PORT: '0', FRAMELIFT_LOG_LEVEL: 'info' };
  const service = await startServer([here('../src/cli.ts'), 'serve'], env);
  servers.push(service.child);
  const peer = await startServer([here('bench-api-peer.ts')], { DATABASE_URL: database.url });
  servers.push(peer.child);
  const headers = { Authorization: `Bearer ${key}` };
  const ours: Load[] = [];
  const theirs: Load[] = [];
  for (let round = 0; round <= rounds; round++) {
    const a = await load(`${service.url}/v1/jobs/${jobId}`, headers);
    const b = await load(`${peer.url}/jobs/${jobId}`, {});
    // the first round warms both up
    if (round > 0) {
      ours.push(a);
      theirs.push(b);
    }
  }
  const [get_job, bare_hono_query] = [summary(ours), summary(theirs)];
  const ratio = Number((get_job.requests_per_second / bare_hono_query.requests_per_second).toFixed(3));
  console.log(JSON.stringify({ connections, rounds, seconds_per_round: secondsPerRound, get_job, bare_hono_query, ratio, goal: 0.5, reached: ratio >= 0.5 }, null, 2));
} finally {
  await Promise.all(servers.map(stop));
  await database.stop();
  await rm(dataDir, { recursive: true, force: true });
}

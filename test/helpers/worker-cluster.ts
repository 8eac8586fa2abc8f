/** Processes of one service, each on a "machine" of its own. They share only the database, the S3 server and the secrets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running, Site } from './service.ts';
import { hangMs } from './wait.ts';

/** Repeatable random numbers 0…1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Machine {
  readonly role: 'serve' | 'work';
  readonly dataDir: string;
  /** null while it is down */
  running: Running | null;
}

export interface Cluster {
  machines: Machine[];
  /** base URLs of the APIs that are up */
  urls(): string[];
  /** `kill -9`, a pause, and a start on the same machine; resolves when it is up again */
  crash(machine: Machine, pauseMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function startCluster(
  site: Site,
  roles: Machine['role'][],
  env: Record<string, string>,
): Promise<Cluster> {
  const machines: Machine[] = [];
  for (const role of roles) {
    machines.push({ role, dataDir: await mkdtemp(join(tmpdir(), 'reelmend-machine-')), running: null });
  }
  const boot = async (machine: Machine) => {
    machine.running = await site.start(machine.role, {
      ...env,
      HOME: machine.dataDir,
      REELMEND_DATA_DIR: machine.dataDir,
    });
  };
  await Promise.all(machines.map(boot));
  return {
    machines,
    urls: () => machines.flatMap(({ role, running }) => (role === 'serve' && running ? [running.url] : [])),
    async crash(machine, pauseMs) {
      const { running } = machine;
      machine.running = null;
      await running?.kill('SIGKILL');
      await sleep(pauseMs);
      await boot(machine);
    },
    async close() {
      await Promise.all(machines.map(async ({ running }) => running?.kill('SIGTERM')));
      await Promise.all(machines.map(({ dataDir }) => rm(dataDir, { recursive: true, force: true })));
    },
  };
}

export interface Answer<T> {
  status: number;
  body: T;
}

export interface Call {
  method: string;
  path: string;
  key: string;
  body?: unknown;
  idempotencyKey?: string;
}

/**
 * A client behind a load balancer: sends a request to any API that is up, and retries it after a broken connection, a 503 or
 * a 429, as clients do.
 */
export function createClient(cluster: Cluster, random: () => number) {
  return async <T>(call: Call): Promise<Answer<T>> => {
    for (const end = Date.now() + hangMs; Date.now() < end; await sleep(100 + 200 * random())) {
      const urls = cluster.urls();
      const url = urls[Math.floor(random() * urls.length)];
      const response = url === undefined ? null : await send(url, call).catch(() => null);
      if (response === null || response.status === 503) continue;
      if (response.status === 429) {
        await sleep(Number(response.headers.get('retry-after')) * 1000);
        continue;
      }
      const body = await response.json().catch(() => null);
      if (body !== null) return { status: response.status, body: body as T };
    }
    throw new Error(`No API answered ${call.method} ${call.path} within ${hangMs} ms`);
  };
}

export function send(url: string, { method, path, key, body, idempotencyKey }: Call): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
}

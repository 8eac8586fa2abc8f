/** Connections of a worker to PostgreSQL: how many, directly and through a pooler, and which need a session. */
import { rm } from 'node:fs/promises';
import { sql as query } from 'drizzle-orm';
import { pino } from 'pino';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, readApart } from '../../src/store/database.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { createQueueConnections } from '../../src/jobs/queue-connections.ts';
import { createStore, migrate, type Store } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startPgBouncer } from '../helpers/pgbouncer.ts';
import { createSite } from '../helpers/service.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { cutIntoSegments, indexOf } from '../helpers/segment-fakes.ts';
import { createWorkshop, probeResult } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** Runs live jobs in segments, test jobs and webhooks on one worker, and follows a job by notifications alone. */
async function work(url: string, sessionUrl?: string) {
  const feed = { pollIntervalMs: 2 ** 31 - 1 };
  const store = createStore({ url, sessionUrl, cipher: testCipher, maxConnections: 2, feed });
  const shop = await createWorkshop(world, { scheduled: false });
  const account = await fundedAccount(world.store, 1000);
  cutIntoSegments(shop.media, { count: 3, pieceS: probeResult.durationS / 3 });
  try {
    const worker = shop.worker({ deps: { databaseUrl: url, sessionUrl, store }, config: { workerConcurrency: 4, segmentsFromSeconds: 1, segmentsAtOnce: 2 } });
    await worker.start();
    const create = (n: number) =>
      store.jobs.create(jobInput(account, { mode: n % 3 === 0 ? 'test' : 'live', webhookUrl: 'https://customer.example.com/hook' }));
    const jobs = (await Promise.all(Array.from({ length: 12 }, (_, n) => create(n)))).map(({ job }) => job);
    const followed = (await create(1)).job;
    const seen: string[] = [];
    for await (const { status } of store.jobs.watch(account.id, 'live', followed.id, AbortSignal.timeout(hangMs))) seen.push(status);
    expect(seen.at(-1)).toBe('done');
    for (const { mode, id } of jobs) await eventually(async () => (await store.jobs.get(account.id, mode, id))?.status === 'done');
    await eventually(() => shop.net.posts.length === jobs.length + 1);
    const live = jobs.filter(({ mode }) => mode === 'live').length + 1;
    expect(shop.media.enhancements.filter((request) => indexOf(request) !== undefined).length).toBe(3 * live);
    await worker.stop();
    expect(shop.errors).toEqual([]);
  } finally {
    await shop.close();
    await store.close();
  }
}

it('a worker that cannot start leaves no connection, which would keep its process from ending', async () => {
  const shop = await createWorkshop(world, { scheduled: false });
  const listening = () => world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reelmend-listen'`;
  try {
    const heartbeat = async () => {
      await eventually(async () => (await listening()).length === 1, 'it listens');
      throw new Error('the database has gone');
    };
    const store = { ...world.store, workers: { ...world.store.workers, heartbeat } };
    const worker = shop.worker({ deps: { store } });
    await expect(worker.start()).rejects.toThrow('the database has gone');
    await eventually(async () => (await listening()).length === 0, 'it listens no longer');
  } finally {
    await shop.close().catch(() => {}); // to stop this worker fails as its start did
    await rm(shop.dataDir, { recursive: true, force: true });
  }
});

describe('PostgreSQL through a pooler', () => {
  it('in session mode serves everything', async () => {
    const pooler = await startPgBouncer(world.url, 'session', 8);
    await work(pooler.url).finally(() => pooler.close());
  });

  it('in transaction mode serves everything but LISTEN', async () => {
    const pooler = await startPgBouncer(world.url, 'transaction', 2);
    await work(pooler.url, world.url).finally(() => pooler.close());
  });

  it('in transaction mode answers queries with parameters that follow others at once', async () => {
    const pooler = await startPgBouncer(world.url, 'transaction', 2);
    const { db, sql, close } = connect({ url: pooler.url, max: 1, isPooled: true, silenceTimeoutS: 5 });
    try {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => [sql.unsafe<{ n: number }[]>('SELECT 0 AS n'), sql<{ n: number }[]>`SELECT ${n}::int AS n`]).flat());
      expect(answers.map(([row]) => row!.n)).toEqual(Array.from({ length: 20 }, (_, n) => [0, n]).flat());
      // A transaction that begins while another query is under way keeps its connection.
      const [, inside] = await Promise.all([sql.unsafe('SELECT 0'), db.transaction((tx) => Promise.all([1, 2].map((n) => tx.execute<{ n: number }>(query`SELECT ${n}::int AS n`))))]);
      expect(inside.map(([row]) => row!.n)).toEqual([1, 2]);
    } finally {
      await close();
      await pooler.close();
    }
  });

  it('gives each connection the settings that the service needs, also if others used it before the first start', async () => {
    const database = await createTestDatabase({ migrated: false });
    const owner = postgres(database.url, { max: 1, onnotice: () => {} });
    const name = owner(new URL(database.url).pathname.slice(1));
    await owner`ALTER DATABASE ${name} SET datestyle = 'German, DMY'`;
    await owner`ALTER DATABASE ${name} SET timezone = 'Europe/Berlin'`;
    await owner`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`;
    const pooler = await startPgBouncer(database.url, 'transaction', 2);
    const store = connect({ url: pooler.url, max: 1, isPooled: true });
    const logger = pino({ level: 'silent' });
    const queue = createQueueConnections({ databaseUrl: pooler.url, sessionUrl: database.url, logger, fleet: { alive: 1 } });
    try {
      const read = `SELECT split_part(current_setting('DateStyle'), ',', 1) AS style, current_setting('TimeZone') AS zone`;
      expect(await store.sql.unsafe(read)).toEqual([{ style: 'ISO', zone: 'UTC' }]);
      expect((await queue.pool.query(read)).rows).toEqual([{ style: 'ISO', zone: 'UTC' }]);
    } finally {
      await Promise.all([store.close(), queue.end(), owner.end()]);
      await pooler.close();
      await database.drop();
    }
  });

  it.each(['session', 'transaction'] as const)('in %s mode is migrated by processes that start together, and by later ones', async (mode) => {
    const database = await createTestDatabase({ migrated: false });
    const pooler = await startPgBouncer(database.url, mode, 12);
    try {
      const applied = await Promise.all([1, 2, 3].map(() => migrate({ url: pooler.url })));
      expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
      expect(await migrate({ url: pooler.url })).toEqual([]);
      const sql = postgres(database.url, { max: 1 });
      // Other test files migrate databases of the same server.
      expect(await sql`SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE locktype = 'advisory' AND datname = current_database()`).toHaveLength(0);
      await sql.end();
    } finally {
      await pooler.close();
      await database.drop();
    }
  });
});

describe('the process of a worker', () => {
  it('has at most four connections while it starts, works and stops', async () => {
    const site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '200', REELMEND_WORKER_CONCURRENCY: '4', REELMEND_METRICS_PORT: '0' });
    const sql = postgres(site.databaseUrl, { max: 1 });
    try {
      const store = createStore({ url: site.databaseUrl });
      const account = await fundedAccount(store, 0);
      const create = () => store.jobs.create(jobInput(account, { mode: 'test', webhookUrl: 'https://127.0.0.1:1/hook' }));
      const jobs = await Promise.all(Array.from({ length: 20 }, create));
      await store.close();
      let most: string[] = [];
      const names = () => sql<{ name: string }[]>`SELECT application_name AS name FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY 1`;
      // PostgreSQL ends a process some time after its client has gone.
      await eventually(async () => (await names()).length === 0);
      const count = async () => {
        const now = (await names()).map(({ name }) => name);
        if (now.length >= most.length) most = now;
      };
      const counting = setInterval(() => void count().catch(() => {}), 20);
      const worker = await site.start('work');
      const done = () => sql`SELECT 1 FROM jobs WHERE status = 'done'`;
      await eventually(async () => (await done()).length === jobs.length);
      await fetch(metricsUrl(worker.log));
      await worker.kill('SIGTERM');
      clearInterval(counting);
      expect(most).toEqual(['reelmend', 'reelmend', 'reelmend-listen', 'reelmend-queue']);
    } finally {
      await sql.end();
      await site.close();
    }
  });
});

const metricsUrl = (log: string[]) => (JSON.parse(log.find((line) => line.includes('"msg":"metrics"'))!) as { url: string }).url + '/metrics';

describe('two connections', () => {
  it('answer short queries while one of them is busy with a slow one', async () => {
    const { db, close } = connect({ url: world.url, max: 2 });
    const short = () => Promise.all(Array.from({ length: 6 }, () => db.execute(query`SELECT ${1}::int`).then(() => {})));
    try {
      // Opens both.
      for (let n = 0; n < 2; n++) await short();
      let isSlowDone = false;
      let slow: Promise<unknown> = Promise.resolve();
      await world.sql.begin(async (holder) => {
        await holder`SELECT pg_advisory_xact_lock(1)`;
        slow = readApart(db, (tx) => tx.execute(query`SELECT pg_advisory_xact_lock(1)`)).then(() => (isSlowDone = true));
        await eventually(async () => (await holder`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length === 1);
        await short();
        expect(isSlowDone).toBe(false);
      });
      await slow;
    } finally {
      await close();
    }
  });
});

describe('17: an account that waits for its audit log', () => {
  const upload = { fileName: 'film.mp4', sizeBytes: 1000, sha256: null, quotaBytes: 1e9 };
  const writes: { name: string; write: (store: Store, account: Account, jobs: JobRecord[], n: number) => Promise<unknown> }[] = [
    { name: 'creations', write: (store, account) => store.jobs.create(jobInput(account, {})) },
    { name: 'deletions', write: (store, account, jobs, n) => store.jobs.delete(account.id, 'live', jobs[n]!.id) },
    { name: 'results', write: (store, account, jobs, n) => store.audit.record({ accountId: account.id, kind: 'result.accessed', jobId: jobs[n]!.id }) },
    { name: 'uploads', write: (store, account) => store.uploads.create({ ...upload, accountId: account.id, mode: 'live' }) },
  ];

  it.each(writes)('leaves connections for others, however many $name it sends', async ({ write }) => {
    const [busy, other] = [await fundedAccount(world.store, 3000), await fundedAccount(world.store, 3000)];
    const store = createStore({ url: world.url, cipher: testCipher, maxConnections: 4 });
    const jobs: JobRecord[] = [];
    for (let n = 0; n < 20; n++) jobs.push((await store.jobs.create(jobInput(busy, {}))).job);
    const { job } = await store.jobs.create(jobInput(other, {}));
    let burst: Promise<unknown>[] = [];
    try {
      await world.sql.begin(async (tx) => {
        await tx`SELECT 1 FROM event_heads WHERE account_id = ${busy.id} FOR NO KEY UPDATE`;
        burst = jobs.map((_job, n) => write(store, busy, jobs, n));
        await eventually(async () => (await world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length > 0);
        // More at once than there are connections: the driver may send one query behind another.
        const others = Array.from({ length: 20 }, (_, n) => (n % 4 === 0 ? store.jobs.create(jobInput(other, {})) : store.jobs.get(other.id, 'live', job.id)));
        await Promise.all(others);
      });
      expect(await Promise.all(burst)).toHaveLength(jobs.length);
    } finally {
      await Promise.allSettled(burst);
      await store.close();
    }
  });
});

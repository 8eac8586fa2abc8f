/** What would grow without bound: entries of the audit log, webhooks that were sent, work that every process repeats. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobHelpers } from 'graphile-worker';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { scheduledTasks } from '../../src/jobs/scheduled-tasks.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import type { LoggedRequest } from '../../src/domain/request-log.ts';
import type { Account } from '../../src/store/types.ts';
import { createWorkshop, FakeStorage } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
  account = await fundedAccount(world.store, 0);
});
afterAll(() => world.close());

const create = async () => (await world.store.jobs.create(jobInput(account, { mode: 'test' }))).job;

describe('accesses to a result', () => {
  const accesses = async (jobId: string) =>
    (await auditEntries(world.store, { accountId: account.id, jobId, limit: 100 })).filter(({ kind }) => kind === 'result.accessed');
  const access = (jobId: string, keyId: string) =>
    world.store.audit.record({ accountId: account.id, kind: 'result.accessed', jobId, data: { key_id: keyId } });

  it('are one entry for a job, a key and an hour', async () => {
    const [job, other] = [await create(), await create()];
    for (let i = 0; i < 20; i++) await access(job.id, 'key_1');
    expect(await accesses(job.id)).toHaveLength(1);
    await access(job.id, 'key_2');
    await access(other.id, 'key_1');
    expect(await accesses(job.id)).toMatchObject([{ data: { key_id: 'key_2' } }, { data: { key_id: 'key_1' } }]);
    expect(await accesses(other.id)).toHaveLength(1);
  });

  it('are one entry when they come together', async () => {
    const job = await create();
    await Promise.all(Array.from({ length: 10 }, () => access(job.id, 'key_1')));
    expect(await accesses(job.id)).toHaveLength(1);
  });

  it('are another entry when the links of the first have expired', async () => {
    const job = await create();
    await access(job.id, 'key_1');
    await world.sql.begin(async (sql) => {
      await sql`ALTER TABLE job_events DISABLE TRIGGER job_events_immutable`;
      await sql`UPDATE job_events SET at = at - interval '61 minutes' WHERE job_id = ${job.id}`;
      await sql`ALTER TABLE job_events ENABLE TRIGGER job_events_immutable`;
    });
    await access(job.id, 'key_1');
    expect(await accesses(job.id)).toHaveLength(2);
  });
});

describe('the request log', () => {
  const entry = (change: Partial<LoggedRequest> = {}): LoggedRequest => ({
    ...{ id: newId('log'), accountId: account.id, keyId: newId('key'), mode: 'live', requestId: 'req_1', at: new Date() },
    ...{ method: 'GET', path: '/v1/jobs', resourceId: null, status: 200, durationMs: 3, error: null, requestBody: null },
    ...change,
  });
  const left = async (accountId = account.id) =>
    (await world.store.requestLog.page({ accountId, limit: 1000 })).map(({ requestId }) => requestId);

  it('keeps 30 days, the newest entries of each account, and nothing of closed accounts', async () => {
    const { requestLog } = world.store;
    const [busy, closed] = [await fundedAccount(world.store, 0), await fundedAccount(world.store, 0)];
    const days = (count: number) => new Date(Date.now() - count * 86_400_000);
    await requestLog.append([entry({ requestId: 'old', at: days(31) }), entry({ requestId: 'young', at: days(29) })]);
    await requestLog.append(Array.from({ length: 25 }, (_, n) => entry({ accountId: busy.id, requestId: `busy${n}` })));
    await requestLog.append([entry({ accountId: closed.id })]);
    await world.store.accounts.close(closed.id);
    const full = await requestLog.full({ perAccount: 10, onlyBusy: false });
    const prune = (limit: number) => requestLog.prune({ days: 30, full, limit });
    expect(await prune(12)).toBe(12);
    expect(await prune(12)).toBe(5);
    expect(await prune(12)).toBe(0);
    expect(await left()).toEqual(['young']);
    expect(await left(busy.id)).toEqual(Array.from({ length: 10 }, (_, n) => `busy${24 - n}`));
    expect(await left(closed.id)).toEqual([]);
  });

  it('is pruned by the scheduled task', async () => {
    await world.store.requestLog.append([entry({ requestId: 'old', at: new Date(Date.now() - 31 * 86_400_000) })]);
    const tasks = scheduledTasks({ ...world, storage: new FakeStorage(), logger: pino({ level: 'silent' }), tuning: defaultTuning, metrics: createWorkerMetrics(), config: {}, stopping: new AbortController().signal });
    await tasks['scheduled_every_5_minutes']!({}, {} as JobHelpers);
    expect(await left()).not.toContain('old');
  });
});

describe('webhooks', () => {
  it('that were settled more than 30 days ago are dropped with their attempts; others stay', async () => {
    const add = async (state: string, settledDaysAgo: number | null) => {
      const job = await create();
      const id = newId('evt');
      const settled = settledDaysAgo === null ? null : new Date(Date.now() - settledDaysAgo * 86_400_000);
      const next = settled === null ? new Date(Date.now() + 3_600_000) : null;
      await world.sql`INSERT INTO webhook_deliveries (id, account_id, job_id, event, url, state, next_at, settled_at)
        VALUES (${id}, ${account.id}, ${job.id}, 'job.completed', 'https://example.com/', ${state}, ${next}, ${settled})`;
      await world.sql`INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms) VALUES (${id}, 1, now(), 5)`;
      return id;
    };
    const old = [await add('delivered', 31), await add('dead', 40), await add('stopped', 31)];
    const kept = [await add('delivered', 29), await add('dead', 1), await add('pending', null)];
    const shop = await createWorkshop(world);
    await shop.worker().start();
    const ids = async (table: string, column: string) =>
      (await world.sql<{ id: string }[]>`SELECT ${world.sql(column)} AS id FROM ${world.sql(table)}`).map(({ id }) => id).filter((id) => [...old, ...kept].includes(id));
    await eventually(async () => (await ids('webhook_deliveries', 'id')).length === kept.length).finally(() => shop.close());
    expect(new Set(await ids('webhook_deliveries', 'id'))).toEqual(new Set(kept));
    expect(new Set(await ids('webhook_attempts', 'delivery_id'))).toEqual(new Set(kept));
  });
});

describe('the queue', () => {
  it('loses rows without attempts left, whatever their task is', async () => {
    const tasks = ['job_ingest', 'segment_cpu', 'segment_cpu:0123456789abcdef', 'job_join:0123456789abcdef', 'objects_destroy', 'upload_verify', 'upload_destroy', 'webhook_deliver', 'scheduled_hourly'];
    for (const task of [...tasks, 'of_another_version']) await world.sql`SELECT 1 FROM graphile_worker.add_job(${task}, job_key := ${`worn:${task}`})`;
    await world.sql`UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE key LIKE 'worn:%'`;
    await world.store.workers.dropFinishedRows();
    const left = await world.sql<{ task: string }[]>`SELECT task_identifier AS task FROM graphile_worker.jobs WHERE key LIKE 'worn:%'`;
    expect(left.map(({ task }) => task)).toEqual(['of_another_version']);
  });
});

describe('scheduled tasks', () => {
  const run = async (task: string) => {
    const parts = { store: world.store, storage: new FakeStorage(), logger: pino({ level: 'silent' }), tuning: defaultTuning, metrics: createWorkerMetrics(), config: {}, stopping: new AbortController().signal };
    // Batches begin for some seconds only, which is too short on a busy machine: the clock of the task stands still.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    await Promise.resolve(scheduledTasks(parts)[task]!({}, {} as JobHelpers)).finally(() => clock.mockRestore());
  };

  it('do all of the work that is due, however much it is', async () => {
    const owner = await world.store.accounts.create({ name: 'Many jobs' });
    const made = await Promise.all(Array.from({ length: 450 }, () => world.store.jobs.create(jobInput(owner, { mode: 'test' }))));
    const ids = made.map(({ job }) => job.id);
    const count = async (rows: Promise<{ count: string }[]>) => Number((await rows)[0]!.count);
    const lost = () => count(world.sql`SELECT count(*) FROM jobs WHERE id = ANY (${ids}) AND deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = 'step:' || jobs.id)`);
    const open = () => count(world.sql`SELECT count(*) FROM jobs WHERE id = ANY (${ids}) AND deleted_at IS NULL`);
    await world.sql`SELECT graphile_worker.remove_job('step:' || id) FROM unnest(${ids}::text[]) AS id`;
    expect(await lost()).toBe(450);
    await run('scheduled_every_minute');
    expect(await lost()).toBe(0);
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ANY (${ids.slice(0, 210)})`;
    await run('scheduled_every_minute');
    expect(await open()).toBe(240);
    await world.sql`UPDATE accounts SET closed_at = now() WHERE id = ${owner.id}`;
    await run('scheduled_every_5_minutes');
    expect(await open()).toBe(0);
  });

  it('go on past a row that is locked, and past one that fails', async () => {
    const owner = await world.store.accounts.create({ name: 'Many jobs' });
    const made = await Promise.all(Array.from({ length: 450 }, () => world.store.jobs.create(jobInput(owner, { mode: 'test' }))));
    const ids = made.map(({ job }) => job.id);
    const stuck = ids[0]!;
    await world.sql`SELECT graphile_worker.remove_job('step:' || id) FROM unnest(${ids}::text[]) AS id`;
    await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM jobs WHERE id = ${stuck} FOR UPDATE`;
      await run('scheduled_every_minute');
    });
    const lost = await world.sql`SELECT id FROM jobs WHERE id = ANY (${ids}) AND NOT EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = 'step:' || jobs.id)`;
    expect(lost).toEqual([{ id: stuck }]);
    await world.sql`UPDATE jobs SET expires_at = CASE id WHEN ${stuck} THEN now() - interval '1 day' ELSE now() END WHERE id = ANY (${ids})`;
    await world.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this job stays'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW WHEN (old.id = '${stuck}') EXECUTE FUNCTION refuse()`);
    await expect(run('scheduled_every_minute').finally(() => world.sql`DROP TRIGGER refuse ON jobs`)).rejects.toThrow('parts of a scheduled task failed');
    expect(await world.sql`SELECT id FROM jobs WHERE id = ANY (${ids}) AND deleted_at IS NULL`).toEqual([{ id: stuck }]);
    await run('scheduled_every_minute');
    expect(await world.sql`SELECT id FROM jobs WHERE id = ANY (${ids}) AND deleted_at IS NULL`).toEqual([]);
  });

  it('go on past more rows that fail than a batch has', async () => {
    const owner = await world.store.accounts.create({ name: 'Many jobs' });
    const made = await Promise.all(Array.from({ length: 215 }, () => world.store.jobs.create(jobInput(owner, { mode: 'test' }))));
    const ids = made.map(({ job }) => job.id);
    const stuck = ids.slice(0, 205);
    await world.sql`UPDATE jobs SET expires_at = CASE WHEN id = ANY (${stuck}) THEN now() - interval '1 day' ELSE now() END WHERE id = ANY (${ids})`;
    await world.sql.unsafe(`CREATE TABLE stuck AS SELECT unnest('{${stuck.join(',')}}'::text[]) AS id;
      CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT FROM stuck WHERE id = old.id) THEN RAISE 'this job stays'; END IF; RETURN new; END $$;
      CREATE TRIGGER keep BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION keep()`);
    await expect(run('scheduled_every_minute').finally(() => world.sql`DROP TRIGGER keep ON jobs`)).rejects.toThrow('205 of 215 failed');
    const left = await world.sql<{ id: string }[]>`SELECT id FROM jobs WHERE id = ANY (${ids}) AND deleted_at IS NULL ORDER BY id`;
    expect(left.map(({ id }) => id)).toEqual(stuck.toSorted());
    await run('scheduled_every_minute');
  });

  it('queue jobs again whose rows are due in hours, because the clock was ahead when they were queued', async () => {
    const owner = await world.store.accounts.create({ name: 'Ahead of time' });
    const { job } = await world.store.jobs.create(jobInput(owner, { mode: 'test' }));
    const dueInS = async () => {
      const [row] = await world.sql<{ s: number }[]>`SELECT extract(epoch FROM run_at - now())::float8 AS s FROM graphile_worker.jobs WHERE key = ${`step:${job.id}`}`;
      return row!.s;
    };
    // As long as a step may wait.
    await world.sql`UPDATE graphile_worker._private_jobs SET run_at = now() + interval '10 minutes' WHERE key = ${`step:${job.id}`}`;
    await run('scheduled_every_minute');
    expect(await dueInS()).toBeGreaterThan(0);
    await world.sql`UPDATE graphile_worker._private_jobs SET run_at = now() + interval '5 hours' WHERE key = ${`step:${job.id}`}`;
    await run('scheduled_every_minute');
    expect(await dueInS()).toBeLessThanOrEqual(0);
  });

  it('do the rest of their work although one part of it fails', async () => {
    const { store } = world;
    const down = () => Promise.reject(new Error('not this part'));
    const done: string[] = [];
    const note = (name: string) => async () => (done.push(name), []);
    const parts = {
      store: {
        ...store,
        workers: { ...store.workers, dropExpiredKeys: down },
        objects: { ...store.objects, requeuePendingDeletions: async () => (done.push('pending deletions'), { found: 0, done: [], failures: [] }), destroyReturned: down },
        uploads: { ...store.uploads, destroyReturned: note('returned uploads') },
        requestLog: { ...store.requestLog, prune: down },
        deliveries: { ...store.deliveries, prune: down },
        ledgerChecks: { ...store.ledgerChecks, runDue: async () => (done.push('ledger'), null) },
      },
      ...{ storage: new FakeStorage(), logger: pino({ level: 'silent' }), tuning: defaultTuning, config: {} },
      stopping: new AbortController().signal,
    };
    const registry = new Registry();
    const tasks = scheduledTasks({ ...parts, metrics: createWorkerMetrics(registry) });
    await expect(tasks['scheduled_every_5_minutes']!({}, {} as JobHelpers)).rejects.toThrow('2 parts of a scheduled task failed: Error: not this part');
    expect(done).toEqual(['pending deletions', 'ledger']);
    await expect(tasks['scheduled_hourly']!({}, {} as JobHelpers)).rejects.toThrow('3 parts of a scheduled task failed');
    expect(done.at(-1)).toBe('returned uploads');
    await tasks['scheduled_every_minute']!({}, {} as JobHelpers);
    const runs = (await registry.metrics()).split('\n').filter((line) => line.startsWith('reelmend_scheduled_task_runs_total'));
    expect(runs.toSorted()).toEqual([
      'reelmend_scheduled_task_runs_total{task="scheduled_every_5_minutes",outcome="done"} 0',
      'reelmend_scheduled_task_runs_total{task="scheduled_every_5_minutes",outcome="failed"} 1',
      'reelmend_scheduled_task_runs_total{task="scheduled_every_minute",outcome="done"} 1',
      'reelmend_scheduled_task_runs_total{task="scheduled_every_minute",outcome="failed"} 0',
      'reelmend_scheduled_task_runs_total{task="scheduled_hourly",outcome="done"} 0',
      'reelmend_scheduled_task_runs_total{task="scheduled_hourly",outcome="failed"} 1',
    ]);
  });

  it('are run by one of the workers at each of their times', async () => {
    const shop = await createWorkshop(world, { scheduled: false });
    const turns: string[] = [];
    const watched = (name: string) => {
      const jobs = { ...world.store.jobs, expireDue: (limit: number) => (turns.push(name), world.store.jobs.expireDue(limit)) };
      return shop.worker({ deps: { store: { ...world.store, jobs } } });
    };
    const minute = () => Math.floor(Date.now() / 60_000);
    const started = minute();
    await Promise.all(['first', 'second', 'third'].map((name) => watched(name).start()));
    await eventually(() => turns.length > 0);
    await sleep(3000);
    await shop.close();
    // The start may be late for its minute.
    const passed = minute() - started;
    expect([passed, passed + 1]).toContain(turns.length);
  });

  it('are run although the clock of a worker, or of the database, was hours ahead', async () => {
    const shop = await createWorkshop(world, { scheduled: false });
    const tasks = ['scheduled_every_minute', 'scheduled_every_5_minutes', 'scheduled_hourly'];
    for (const task of tasks) {
      await world.sql`INSERT INTO graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
        VALUES (${task}, now() + interval '4 hours', now() + interval '5 hours')
        ON CONFLICT (identifier) DO UPDATE SET known_since = excluded.known_since, last_execution = excluded.last_execution`;
    }
    const turns = new Set<string>();
    const { jobs, machineTime, deliveries } = world.store;
    const store = {
      ...world.store,
      jobs: { ...jobs, expireDue: (limit: number) => (turns.add('every minute'), jobs.expireDue(limit)) },
      machineTime: { ...machineTime, forget: (idleS: number) => (turns.add('every five minutes'), machineTime.forget(idleS)) },
      deliveries: { ...deliveries, prune: (days: number, limit: number) => (turns.add('hourly'), deliveries.prune(days, limit)) },
    };
    await shop.worker({ deps: { store } }).start();
    await eventually(() => turns.size === tasks.length).finally(() => shop.close());
  });
});

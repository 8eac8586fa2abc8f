/**
 * Two versions at once on one database. The newer one is stood in for by what it leaves there: a migration, steps, roles of
 * objects and tasks that this version does not know.
 */
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { scheduledTasks } from '../../src/jobs/scheduled-tasks.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { enhanceResult, FakeStorage, pause, type Workshop } from '../helpers/worker-fakes.ts';
import { setUpWorkers } from '../helpers/worker-suite.ts';
import { jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 10_000,
  scheduled: false,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: async () => {
    expect(await world.store.ledgerCheck()).toEqual([]);
  },
});

/** What a newer version could add: a step, a role, columns with defaults, a table, an index, a function. */
const newerMigration = `
  ALTER TABLE jobs ADD COLUMN IF NOT EXISTS newer_fact text NOT NULL DEFAULT 'none',
    DROP CONSTRAINT jobs_step_check,
    ADD CONSTRAINT jobs_step_check CHECK (step IN ('ingest', 'enhance', 'segments', 'join', 'test_mode', 'newer_step'));
  ALTER TABLE objects DROP CONSTRAINT objects_role_check,
    ADD CONSTRAINT objects_role_check CHECK (role IN ('original', 'output', 'poster', 'thumbnail', 'segment', 'newer_role'));
  ALTER TABLE segments ADD COLUMN IF NOT EXISTS newer_fact jsonb NOT NULL DEFAULT '{}';
  ALTER TABLE workers ADD COLUMN IF NOT EXISTS newer_fact integer NOT NULL DEFAULT 0;
  CREATE TABLE IF NOT EXISTS newer_table (job_id text REFERENCES jobs (id));
  CREATE INDEX IF NOT EXISTS newer_index ON jobs (newer_fact);`;
const migrateFurther = () => world.sql.begin((sql) => sql.unsafe(newerMigration));

const create = async (change: Partial<CreateJob> = {}) => (await world.store.jobs.create(jobInput(account, change))).job;
const now = (job: JobRecord) => world.store.jobs.get(account.id, job.mode, job.id);
const done = (job: JobRecord) => eventually(async () => (await now(job))?.status === 'done');
const runScheduled = (task: string) => {
  const parts = { store: world.store, storage: new FakeStorage(), logger: pino({ level: 'silent' }), tuning: defaultTuning, metrics: createWorkerMetrics(), config: {}, stopping: new AbortController().signal };
  return scheduledTasks(parts)[task]!({}, {} as never);
};
/** A job at a step of the newer version, which has lost its queue row. */
async function atNewerStep(): Promise<JobRecord> {
  const job = await create();
  await world.sql`UPDATE jobs SET step = 'newer_step', status = 'running', started_at = now() WHERE id = ${job.id}`;
  await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`step:${job.id}`}`;
  return job;
}
const rowOf = async (job: JobRecord) => (await world.sql`SELECT step, status, crashes, lease_owner FROM jobs WHERE id = ${job.id}`)[0]!;

describe('beside a newer version', () => {
  it('the tasks of every minute do their work in spite of steps that they do not know, and leave these alone', async () => {
    await migrateFurther();
    const unknown = await atNewerStep();
    const leased = await atNewerStep();
    await world.sql`UPDATE jobs SET lease_owner = 'newer', lease_expires_at = now() - interval '1 minute', attempt = 1 WHERE id = ${leased.id}`;
    const lost = await create();
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`step:${lost.id}`}`;
    const expired = await create();
    await world.sql`UPDATE jobs SET created_at = now() - interval '2 days', expires_at = now() - interval '1 day' WHERE id = ${expired.id}`;
    await runScheduled('scheduled_every_minute');
    await runScheduled('scheduled_every_5_minutes');
    expect(await world.store.leases.sweepExpired(1)).toEqual({ requeued: [], failed: [], errors: [] });
    expect(await rowOf(unknown)).toMatchObject({ step: 'newer_step', status: 'running' });
    expect(await rowOf(leased)).toMatchObject({ crashes: 0, lease_owner: 'newer' });
    expect(await now(expired)).toBeNull();
    const keys = (await world.sql<{ key: string }[]>`SELECT key FROM graphile_worker.jobs`).map(({ key }) => key);
    expect(keys).toContain(`step:${lost.id}`);
    expect(keys).not.toContain(`step:${unknown.id}`);
  });

  it('one part of a scheduled task that fails does not stop the others', async () => {
    const expired = await create();
    await world.sql`UPDATE jobs SET created_at = now() - interval '2 days', expires_at = now() - interval '1 day' WHERE id = ${expired.id}`;
    const { requeueOrphans } = world.store.leases;
    world.store.leases.requeueOrphans = () => Promise.reject(new Error('a row that nobody expected'));
    try {
      await expect(runScheduled('scheduled_every_minute')).rejects.toThrow('a row that nobody expected');
    } finally {
      world.store.leases.requeueOrphans = requeueOrphans;
    }
    expect(await now(expired)).toBeNull();
  });

  it('rows of its tasks stay in the queue, and jobs of both versions are served', async () => {
    await migrateFurther();
    const [job, other] = [await create(), await create()];
    await world.sql`SELECT graphile_worker.add_job('newer_task', json_build_object('jobId', ${other.id}::text), job_key := ${`newer:${other.id}`}, flags := ARRAY[${account.id}])`;
    await shop.worker().start();
    await done(job);
    await done(other);
    const [row] = await world.sql`SELECT attempts, locked_at FROM graphile_worker.jobs WHERE task_identifier = 'newer_task'`;
    expect(row).toEqual({ attempts: 0, locked_at: null });
    expect(shop.errors).toEqual([]);
  });

  it('objects of a role that it does not know are left alone until their job is deleted', async () => {
    await migrateFurther();
    const job = await create();
    const { leases, objects } = world.store;
    const first = (await leases.acquire(job.id, 'ingest', 'a worker', 5))!;
    const key = `jobs/${job.id}/1/newer`;
    await world.sql`INSERT INTO objects (key, job_id, attempt, role) VALUES (${key}, ${job.id}, 1, 'newer_role')`;
    const left = await objects.registerPendingObject(first.fence, 'output');
    await leases.release(first.fence);
    await leases.acquire(job.id, 'ingest', 'a worker', 5);
    expect((await objects.pendingDeletion(job.id)).keys).toEqual([left]);
    await world.store.jobs.delete(account.id, 'live', job.id);
    expect((await objects.pendingDeletion(job.id)).keys.sort()).toEqual([key, left].sort());
  });
});

it('a migration while workers run disturbs no job', async () => {
  shop.media.onEnhance = async () => {
    await pause(200);
    return enhanceResult;
  };
  await Promise.all([shop.worker().start(), shop.worker().start()]);
  const jobs: JobRecord[] = [];
  for (let n = 0; n < 12; n++) {
    jobs.push(await create());
    if (n === 4) await eventually(async () => (await now(jobs[0]!))?.status === 'done');
    if (n === 6) await migrateFurther();
  }
  for (const job of jobs) await done(job);
  expect(shop.media.enhancements.length).toBe(12);
  expect(shop.errors).toEqual([]);
});

it('a row of a segment that this version has never written fails alone', async () => {
  await world.sql`SELECT graphile_worker.add_job('segment_cpu', '{"jobId": "job_01jdq4s9xkf5v8t2m6w0c3rhbz", "segment": "the first"}', max_attempts := 1)`;
  const job = await create();
  await shop.worker().start();
  await done(job);
});

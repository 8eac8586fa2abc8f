import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepLease } from '../../src/jobs/lease-keeper.ts';
import type { Lease } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { createWorkshop, hang, pause } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  account = await fundedAccount(world.store, 300);
});
afterEach(async () => expect(await world.store.ledgerCheck()).toEqual([]));

const create = async () => (await world.store.jobs.create(jobInput(account))).job;
const acquire = (jobId: string, owner: string) => world.store.leases.acquire(jobId, 'ingest', owner, 20);
const expire = (jobId: string) =>
  world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${jobId}`;
const stored = (key: string) => ({ key, size: 3, sha256: 'a'.repeat(64), version: null });
const output = { width: 2, height: 2, size_bytes: 3, sha256: 'a'.repeat(64) };

describe('a lease', () => {
  it('is given to one of many', async () => {
    const job = await create();
    const acquired = await Promise.all(Array.from({ length: 20 }, (_, n) => acquire(job.id, `w${n}`)));
    expect(acquired.filter(Boolean)).toHaveLength(1);
  });

  it('cannot be had for another step, a finished or a deleted job', async () => {
    const [first, second, third] = [await create(), await create(), await create()];
    expect(await world.store.leases.acquire(first.id, 'enhance', 'w', 20)).toBeNull();
    await world.store.leases.fail((await acquire(second.id, 'w'))!.fence, { code: 'unreadable_video', message: 'No.' });
    expect(await acquire(second.id, 'w')).toBeNull();
    await world.store.jobs.delete(account.id, 'live', third.id);
    expect(await acquire(third.id, 'w')).toBeNull();
  });

  it('that was given in a lost response is given again, to the same worker alone, and has not crashed', async () => {
    const job = await create();
    const lost = (await acquire(job.id, 'a'))!;
    await expire(job.id);
    expect(await world.store.leases.acquire(job.id, 'ingest', 'b', 20, { isRepeated: true })).toBeNull();
    expect(await acquire(job.id, 'a')).toBeNull();
    const again = (await world.store.leases.acquire(job.id, 'ingest', 'a', 20, { isRepeated: true }))!;
    expect(again.fence.attempt).toBe(lost.fence.attempt + 1);
    expect(await world.store.leases.sweepExpired(1)).toEqual({ requeued: [], failed: [], errors: [] });
    expect(await world.sql`SELECT crashes FROM jobs WHERE id = ${job.id}`).toEqual([{ crashes: 0 }]);
  });

  it('that ran out is taken away, and the attempt grows with the next holder', async () => {
    const job = await create();
    const first = (await acquire(job.id, 'a'))!;
    expect(await acquire(job.id, 'b')).toBeNull();
    await expire(job.id);
    const sweeps = await Promise.all([1, 2, 3].map(() => world.store.leases.sweepExpired(5)));
    expect(sweeps.flatMap((sweep) => sweep.requeued)).toEqual([job.id]);
    const second = (await acquire(job.id, 'b'))!;
    expect(second.fence.attempt).toBe(first.fence.attempt + 1);
  });

  it('is taken away although that of another job cannot be', async () => {
    const made = await Promise.all([1, 2, 3].map(create));
    for (const { id } of made) await acquire(id, 'a');
    for (const { id } of made) await expire(id);
    const [stuck, ...others] = made.map(({ id }) => id);
    await world.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this job stays'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW WHEN (old.id = '${stuck}') EXECUTE FUNCTION refuse()`);
    const swept = await world.store.leases.sweepExpired(5).finally(() => world.sql`DROP TRIGGER refuse ON jobs`);
    expect(swept.requeued.toSorted()).toEqual(others.toSorted());
    expect(swept.errors).toEqual([expect.objectContaining({ cause: expect.objectContaining({ message: 'this job stays' }) })]);
    expect((await world.store.leases.sweepExpired(5)).requeued).toEqual([stuck]);
  });
});

describe.each([
  { name: 'another worker', owner: 'new' },
  { name: 'the same worker', owner: 'late' },
])('a late writer whose job $name took up', ({ owner }) => {
  let late: Lease;
  let key: string;
  let jobId: string;
  beforeEach(async () => {
    jobId = (await create()).id;
    late = (await acquire(jobId, 'late'))!;
    key = await world.store.objects.registerPendingObject(late.fence, 'output');
    await expire(jobId);
    await world.store.leases.sweepExpired(5);
    await acquire(jobId, owner);
  });
  const writes: Record<string, () => Promise<unknown>> = {
    finish: () => world.store.leases.finish(late.fence, { stored: stored(key), output, applied: null }),
    fail: () => world.store.leases.fail(late.fence, { code: 'processing_failed', message: 'No.' }),
    ingested: () => world.store.leases.ingested(late.fence, stored(key), jobInput(account).source!),
    'retry later': () => world.store.leases.retryLater(late.fence, { delayS: 0 }),
    register: () => world.store.objects.registerPendingObject(late.fence, 'original'),
  };
  for (const [name, write] of Object.entries(writes)) {
    it(`is refused: ${name}`, async () => {
      const before = await world.sql`SELECT * FROM jobs WHERE id = ${jobId}`;
      await expect(write()).rejects.toMatchObject({ name: 'LeaseLost' });
      expect(await world.sql`SELECT * FROM jobs WHERE id = ${jobId}`).toEqual(before);
    });
  }

  it('gets no beat and no progress, and its release does not touch the new holder', async () => {
    const before = await world.sql`SELECT * FROM jobs WHERE id = ${jobId}`;
    expect(await world.store.leases.heartbeat(late.fence, 20)).toBe(false);
    expect(await world.store.leases.progress(late.fence, { fraction: 0.9, etaSeconds: 1 }, 20)).toBe(false);
    await world.store.leases.release(late.fence);
    expect(await world.sql`SELECT * FROM jobs WHERE id = ${jobId}`).toEqual(before);
    expect((await world.store.objects.pendingDeletion(jobId)).keys).toEqual([key]);
  });
});

describe('objects of a job', () => {
  it('are not destroyed while a worker may still be writing', async () => {
    const job = await create();
    const { fence } = (await acquire(job.id, 'w'))!;
    const key = await world.store.objects.registerPendingObject(fence, 'original');
    expect(await world.store.objects.pendingDeletion(job.id)).toEqual({ keys: [], busyForS: 0 });
    await world.store.jobs.delete(account.id, 'live', job.id);
    const busy = await world.store.objects.pendingDeletion(job.id);
    expect(busy.keys).toEqual([]);
    expect(busy.busyForS).toBeGreaterThan(15);
    await world.store.leases.release(fence);
    expect(await world.store.objects.pendingDeletion(job.id)).toEqual({ keys: [key], busyForS: 0 });
  });
});

describe('a heartbeat that cannot reach the database', () => {
  it('gives the work up when a whole lease has passed', async () => {
    const heartbeat = () => Promise.reject(new Error('connection refused'));
    const began = performance.now();
    const keeper = keepLease({ config: { leaseSeconds: 0.3 }, tuning: { heartbeatsPerLease: 3 }, stopping: new AbortController().signal }, 'job_x', heartbeat);
    let endedAfterMs = 0;
    keeper.signal.addEventListener('abort', () => (endedAfterMs = performance.now() - began));
    await eventually(() => keeper.signal.aborted);
    expect(endedAfterMs).toBeGreaterThan(290);
    expect(keeper.signal.reason).toMatchObject({ name: 'LeaseLost' });
    keeper.stop();
  });
});

it('a heartbeat is sent every five seconds at least, so that a step with a long lease soon learns that its job is deleted', async () => {
  vi.useFakeTimers();
  try {
    let isDeleted = false;
    const heartbeat = async () => !isDeleted;
    const keeper = keepLease({ config: { leaseSeconds: 3600 }, tuning: { heartbeatsPerLease: 3 }, stopping: new AbortController().signal }, 'job_x', heartbeat);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(keeper.signal.aborted).toBe(false);
    isDeleted = true;
    await vi.advanceTimersByTimeAsync(5000);
    expect(keeper.signal.reason).toMatchObject({ name: 'LeaseLost' });
    keeper.stop();
  } finally {
    vi.useRealTimers();
  }
});

describe('the safety net', () => {
  it('queues jobs again whose queue row is lost, given up, or locked by nobody alive', async () => {
    const [lost, given, locked, waiting] = [await create(), await create(), await create(), await create()];
    const queue = world.sql`graphile_worker._private_jobs`;
    await world.sql`DELETE FROM ${queue} WHERE key = ${`step:${lost.id}`}`;
    await world.sql`UPDATE ${queue} SET attempts = max_attempts WHERE key = ${`step:${given.id}`}`;
    await world.sql`UPDATE ${queue} SET locked_by = 'pool-of-nobody', locked_at = now() - interval '2 minutes'
      WHERE key = ${`step:${locked.id}`}`;
    const queued = (await world.store.leases.requeueOrphans(100)).done;
    for (const job of [lost, given, locked]) expect(queued).toContain(job.id);
    expect(queued).not.toContain(waiting.id);
    expect((await world.store.leases.requeueOrphans(100)).found).toBe(0);
  });

  it('frees the queue locks of workers that fell silent', async () => {
    const job = await create();
    await world.store.workers.heartbeat('silent', ['pool-silent']);
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_by = 'pool-silent', locked_at = now()
      WHERE key = ${`step:${job.id}`}`;
    expect(await world.store.workers.reapDead(60)).toEqual([]);
    await world.sql`UPDATE workers SET heartbeat_at = now() - interval '2 minutes' WHERE id = 'silent'`;
    expect(await world.store.workers.reapDead(60)).toEqual(['silent']);
    const [row] = await world.sql`SELECT locked_by FROM graphile_worker.jobs WHERE key = ${`step:${job.id}`}`;
    expect(row).toEqual({ locked_by: null });
  });
});

describe('a database that drops every connection', () => {
  it('neither ends the worker nor loses or doubles the job', async () => {
    const other = await createWorld();
    const shop = await createWorkshop(other);
    const customer = await fundedAccount(other.store, 30);
    let released = () => {};
    shop.media.onEnhance = async ({ signal }) => {
      await Promise.race([hang(signal), new Promise<void>((resolve) => (released = resolve))]);
      return (await import('../helpers/worker-fakes.ts')).enhanceResult;
    };
    const { job } = await other.store.jobs.create(jobInput(customer));
    await shop.worker().start();
    await eventually(() => shop.media.running === 1);
    for (let round = 0; round < 3; round++) {
      await other.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      await pause(300);
    }
    released();
    await eventually(async () => {
      released();
      return (await other.store.jobs.get(customer.id, 'live', job.id))?.status === 'done';
    });
    // The queue is heard again: a second job runs.
    await other.store.accounts.grant(customer.id, 30);
    const second = await other.store.jobs.create(jobInput(customer));
    await eventually(async () => {
      released();
      return (await other.store.jobs.get(customer.id, 'live', second.job.id))?.status === 'done';
    });
    expect(await other.store.ledgerCheck()).toEqual([]);
    await shop.close();
    await other.close();
  });
});

/** Workers that end by themselves: `work --once` and `work --idle-exit`. */
import { describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Lifetime } from '../../src/jobs/index.ts';
import type { Account } from '../../src/store/types.ts';
import { enhanceResult, type Workshop } from '../helpers/worker-fakes.ts';
import { setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import { jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 100,
  scheduled: false,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: async () => {
    // A worker of the next test would take up what is left.
    for (const { id } of await world.sql`SELECT id FROM jobs WHERE account_id = ${account.id} AND deleted_at IS NULL`) {
      await world.store.jobs.delete(account.id, 'live', id as string);
    }
    await world.sql`DELETE FROM graphile_worker._private_jobs`;
  },
});

const create = async () => (await world.store.jobs.create(jobInput(account))).job;
const statusOf = async (job: JobRecord) => (await world.store.jobs.get(account.id, 'live', job.id))?.status;
const start = async (lifetime: Lifetime, change: Parameters<Workshop['worker']>[0] = {}) => {
  const worker = shop.worker({ ...change, deps: { ...change.deps, lifetime } });
  await worker.start();
  return worker;
};

describe('a worker with `once`', () => {
  it('takes the oldest job from its download to its end, and no other', async () => {
    const [first, second] = [await create(), await create()];
    const worker = await start({ once: true });
    expect(await worker.finished).toBe(2);
    await worker.stop();
    expect([await statusOf(first), await statusOf(second)]).toEqual(['done', 'queued']);
    expect(shop.net.downloads).toBe(1);
    expect(shop.errors).toEqual([]);
  });

  it('ends at once when nothing waits', async () => {
    const worker = await start({ once: true });
    expect(await worker.finished).toBe(0);
    await worker.stop();
    expect(await world.sql`SELECT 1 FROM workers WHERE id = ${worker.id}`).toHaveLength(0);
  });

  it('waits for a job as long as `idleS` says', async () => {
    const worker = await start({ once: true, idleS: 600 });
    const job = await create();
    expect(await worker.finished).toBe(2);
    expect(await statusOf(job)).toBe('done');
  });

  it('goes on to another job when the row that it fetched belongs to one that is gone', async () => {
    const [gone, next] = [await create(), await create()];
    await world.store.jobs.delete(account.id, 'live', gone.id);
    const worker = await start({ once: true });
    expect(await worker.finished).toBe(2);
    expect(await statusOf(next)).toBe('done');
  });

  it.each([
    ['enhances nothing where it has no slot for that', { workerConcurrency: 0 }, 1, 'running'],
    ['downloads nothing where it has no slot for that', { downloadConcurrency: 0 }, 0, 'queued'],
  ])('%s', async (_name, config, steps, status) => {
    const job = await create();
    const worker = await start({ once: true }, { config });
    expect(await worker.finished).toBe(steps);
    expect(await statusOf(job)).toBe(status);
  });

  it('counts a job that fails', async () => {
    shop.media.onProbe = () => Promise.reject(new ReelmendError('unreadable_video', 'No video.'));
    const job = await create();
    const worker = await start({ once: true });
    expect(await worker.finished).toBe(1);
    expect(await statusOf(job)).toBe('error');
  });

  it('gives its job back when it is stopped', async () => {
    const job = await create();
    const begun = Promise.withResolvers<void>();
    shop.media.onEnhance = ({ signal }) => {
      begun.resolve();
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason as Error)));
    };
    const worker = await start({ once: true });
    await begun.promise;
    await worker.stop();
    const [row] = await world.sql`SELECT q.locked_by, j.lease_owner FROM jobs j
      JOIN graphile_worker._private_jobs q ON q.key = 'step:' || j.id WHERE j.id = ${job.id}`;
    expect(row).toEqual({ locked_by: null, lease_owner: null });
  });
});

describe('a worker with `idleS`', () => {
  it('ends when no job has run for so long, and not while one runs', async () => {
    const finish = Promise.withResolvers<void>();
    shop.media.onEnhance = () => finish.promise.then(() => enhanceResult);
    const job = await create();
    const worker = await start({ idleS: 1 }, { tuning: { pollIntervalMs: 100 } });
    let hasFinished = false;
    void worker.finished.then(() => (hasFinished = true));
    await eventually(() => shop.media.running === 1);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(hasFinished).toBe(false);
    const resumedAt = performance.now();
    finish.resolve();
    expect(await worker.finished).toBe(2);
    expect(performance.now() - resumedAt).toBeGreaterThanOrEqual(1000);
    expect(await statusOf(job)).toBe('done');
  });

  it('does the work beside the jobs, which does not keep it from ending', async () => {
    const withWebhook = async () => (await world.store.jobs.create(jobInput(account, { webhookUrl: 'https://customer.example.com/hook' }))).job;
    const jobs = [await withWebhook(), await withWebhook()];
    // The worker is not idle before the webhook of the first was sent.
    let begun = 0;
    shop.media.onEnhance = async () => {
      begun += 1;
      if (begun > 1) await eventually(() => shop.net.posts.length > 0);
      return enhanceResult;
    };
    const worker = await start({ idleS: 1 });
    await worker.finished;
    await worker.stop();
    for (const job of jobs) expect(await statusOf(job)).toBe('done');
    expect(shop.net.posts.length).toBeGreaterThan(0);
  });

  it('does not take a queue that cannot be read for an empty one', async () => {
    const worker = await start({ idleS: 4 }, { tuning: { pollIntervalMs: 100 } });
    await world.sql`ALTER TABLE graphile_worker._private_jobs RENAME TO hidden_jobs`;
    let hasFinished = false;
    void worker.finished.then(() => (hasFinished = true));
    await new Promise((resolve) => setTimeout(resolve, 5500));
    expect(hasFinished).toBe(false);
    await world.sql`ALTER TABLE graphile_worker.hidden_jobs RENAME TO _private_jobs`;
    await worker.finished;
  });
});

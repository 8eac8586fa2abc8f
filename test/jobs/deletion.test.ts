/** Jobs that are cancelled, deleted, or at the end of their retention: what is stopped, refunded and destroyed. */
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/store/types.ts';
import { hang, pause, type Workshop } from '../helpers/worker-fakes.ts';
import { jobsOf, leavesNothing, setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import type { World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 30,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: leavesNothing,
});

const { create, now, ended, credits, kinds } = jobsOf(() => ({ world, shop, account }));

describe('cancelling a running job', () => {
  it('stops the child, refunds what was not processed and leaves nothing', async () => {
    shop.media.onEnhance = async ({ signal, onProgress }) => {
      onProgress?.({ fraction: 0.5, framesDone: 120, framesPerSecond: 10, etaS: 12 });
      return hang(signal);
    };
    const job = await create();
    await shop.worker().start();
    await eventually(async () => (await now(job))?.progress === 0.5);
    expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: 15 });
    await eventually(() => shop.media.running === 0);
    await eventually(() => shop.storage.objects.size === 0);
    expect(await credits()).toBe(15);
    expect(await kinds(job)).toEqual(['job.created', 'job.started', 'job.deleted']);
  });

  it('stops the download too', async () => {
    let aborted = false;
    shop.net.onDownload = (_url, signal) =>
      hang(signal).finally(() => {
        aborted = true;
      });
    const job = await create();
    await shop.worker().start();
    await eventually(() => shop.net.downloads === 1);
    expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: 30 });
    await eventually(() => aborted);
  });

  it('of a job in the queue means that it never runs', async () => {
    const job = await create();
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker().start();
    await pause(500);
    expect(shop.net.downloads).toBe(0);
  });
});

describe('deleted objects', () => {
  it('are destroyed as soon as the storage is up again, and not called destroyed before', async () => {
    const job = await create();
    const worker = shop.worker();
    await worker.start();
    await ended(job, 'done');
    shop.storage.fault = new Error('storage is down');
    await world.store.jobs.delete(account.id, 'live', job.id);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE last_error LIKE '%not destroyed yet%'`).length === 1,
    );
    expect((await world.sql`SELECT state FROM objects WHERE job_id = ${job.id}`).map((row) => row['state'])).toEqual([
      'stored',
      'stored',
    ]);
    // Monitoring sees for how long: a task that is tried again later is not due, and a new one is not failing.
    const failing = async () => (await world.store.operations.overview()).queue.find(({ task }) => task === 'objects_destroy')?.oldestFailingSeconds ?? 0;
    await world.sql`UPDATE graphile_worker._private_jobs SET created_at = now() - interval '2 hours' WHERE key = ${`destroy:${job.id}`}`;
    await eventually(async () => (await failing()) >= 7200);
    shop.storage.fault = undefined;
    await eventually(() => shop.storage.objects.size === 0);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND destroyed_at IS NULL`).length === 0,
    );
    await eventually(async () => (await failing()) === 0);
  });

  it('are destroyed even when the queue has lost or given up the task', async () => {
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    shop.storage.fault = new Error('storage is down');
    await world.store.jobs.delete(account.id, 'live', job.id);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`destroy:${job.id}`}`;
    shop.storage.fault = undefined;
    await eventually(() => shop.storage.objects.size === 0);
  });

  it('that come back are destroyed again', async () => {
    const job = await create();
    const first = shop.worker();
    await first.start();
    await ended(job, 'done');
    const key = (await world.store.jobs.resultFiles(job.id))!.outputKey;
    await world.store.jobs.delete(account.id, 'live', job.id);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND destroyed_at IS NULL`).length === 0,
    );
    await first.stop();
    shop.storage.objects.set(key, Buffer.from('back from the dead'));
    shop.storage.objects.set('jobs/somebody/elses', Buffer.from('not ours'));
    await shop.worker().start();
    await eventually(() => !shop.storage.objects.has(key));
    expect(shop.storage.objects.has('jobs/somebody/elses')).toBe(true);
  });
});

describe('retention', () => {
  it('destroys the files of a job whose time has come', async () => {
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${job.id}`;
    await eventually(async () => (await now(job)) === null);
    await eventually(() => shop.storage.objects.size === 0);
    expect(await credits()).toBe(0);
  });
});

/** The worker itself: how it stops, its warm media children, its scratch folders. */
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/store/types.ts';
import { enhanceResult, hang, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { jobsOf, leavesNothing, setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import type { World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 30,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: leavesNothing,
});

const { create, now, ended, scratchFiles } = jobsOf(() => ({ world, shop, account }));

describe('a worker that is stopping', () => {
  const running = async (config: object, finish: Promise<unknown>) => {
    const job = await create();
    shop.media.onEnhance = ({ signal }) => Promise.race([finish.then(() => enhanceResult), hang(signal)]);
    // Without polls, which could take a job that is created while the worker begins to stop.
    const worker = shop.worker({ config, tuning: { pollIntervalMs: hangMs } });
    await worker.start();
    await eventually(() => shop.media.running === 1);
    await eventually(queueRests);
    return { job, worker };
  };

  /** A fetch that was sent before the stop may still bring a row, which is worked. */
  const queueRests = async () => {
    const [connection] = await world.sql`
      SELECT bool_and(state = 'idle' AND clock_timestamp() - state_change > '250 ms') AS rests
      FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reelmend-queue'`;
    return connection!.rests === true;
  };

  it('finishes its running job and takes no other', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { job, worker } = await running({ drainSeconds: 60, workerConcurrency: 1 }, promise);
    const stopped = worker.stop();
    await world.store.accounts.grant(account.id, 30);
    const other = await create();
    const testJob = await create({ mode: 'test' });
    await ended(testJob, 'done');
    expect((await now(job))?.status).toBe('running');
    resolve();
    await stopped;
    expect((await now(job))?.status).toBe('done');
    expect((await now(other))?.status).toBe('queued');
    expect(shop.errors).toEqual([]);
    await world.store.jobs.delete(account.id, 'live', other.id);
  });

  it.each([
    ['after the grace period', { drainSeconds: 1 }, (_: { forceStop(): void }) => {}],
    ['when forceStop is called', { drainSeconds: 60 }, (worker: { forceStop(): void }) => worker.forceStop()],
  ])('gives it back %s', async (_when, config, then) => {
    const { job, worker } = await running(config, new Promise(() => {}));
    const stopped = worker.stop();
    then(worker);
    await stopped;
    expect(shop.media.running).toBe(0);
    const [row] = await world.sql`SELECT locked_by FROM graphile_worker._private_jobs WHERE key = ${`step:${job.id}`}`;
    expect(row).toEqual({ locked_by: null });
    expect((await now(job))?.status).not.toBe('error');
    await world.store.jobs.delete(account.id, 'live', job.id);
  });
});

it('a worker whose step does not end stops listening at the end of the grace period, so that its process can end', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await create();
  shop.media.onEnhance = () => promise.then(() => enhanceResult);
  const worker = shop.worker({ tuning: { stopGraceMs: 100 } });
  await worker.start();
  await eventually(() => shop.media.running === 1);
  const listening = () => world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reelmend-listen' AND pid <> pg_backend_pid()`;
  await eventually(async () => (await listening()).length === 1);
  await worker.stop();
  expect(shop.media.running).toBe(1);
  await eventually(async () => (await listening()).length === 0);
  resolve();
  await eventually(() => shop.media.running === 0);
});

describe('warm media children', () => {
  it('live in the worker’s own scratch folder while it runs; the configuration sets their number', async () => {
    const worker = shop.worker({ config: { warmChildren: 2, device: 'cuda:all', threads: 3 } });
    await worker.start();
    expect(shop.media.openWarmPools).toBe(1);
    expect(shop.media.warmPools.at(-1)).toMatchObject({
      count: 2,
      folder: join(shop.dataDir, 'scratch', worker.id, 'warm-pool'),
      options: { device: 'cuda:all', threads: 3, encoder: { crf: 18 } },
    });
    await worker.stop();
    expect(shop.media.openWarmPools).toBe(0);
    const sets = shop.media.warmPools.length;
    await shop.worker({ config: { warmChildren: 0 } }).start();
    expect(shop.media.warmPools).toHaveLength(sets);
  });
});

describe('scratch folders', () => {
  it('belong to one attempt and are private', async () => {
    let mode = 0;
    shop.media.onProbe = async ({ source }) => {
      if ('path' in source) await access(source.path);
      const [worker] = await scratchFiles();
      const [folder] = await readdir(join(shop.dataDir, 'scratch', worker!));
      const { statSync } = await import('node:fs');
      mode = statSync(join(shop.dataDir, 'scratch', worker!, folder!)).mode & 0o777;
      return probeResult;
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(mode).toBe(0o700);
  });
});

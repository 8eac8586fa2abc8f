/** A worker over the filesystem storage whose disk goes away in the middle of its jobs: no job fails by it, or uses up an attempt. */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { createFilesystemStorage } from '../../src/storage/index.ts';
import type { Account } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorkshop, enhanceResult, FakeMedia, type Workshop } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
let folder: string;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  shop = await createWorkshop(world, { scheduled: false });
  account = await fundedAccount(world.store, 1000);
  folder = await mkdtemp(join(tmpdir(), 'reelmend-unmounted-'));
});
afterEach(async () => {
  await shop.close();
  await rm(folder, { recursive: true, force: true });
});

const create = async () => (await world.store.jobs.create(jobInput(account))).job;
const jobOf = async ({ id }: JobRecord) => (await world.store.jobs.get(account.id, 'live', id))!;
const allEnded = async (jobs: JobRecord[]) => (await Promise.all(jobs.map(jobOf))).every(({ status }) => status === 'done' || status === 'error');
const failures = async () =>
  (await world.sql<{ sum: number }[]>`SELECT sum(failures)::int AS sum FROM jobs WHERE account_id = ${account.id}`)[0]!.sum;

it('waits for the disk with the job that it runs and those that wait for it', async () => {
  const disk = join(folder, 'storage');
  const storage = createFilesystemStorage({ root: disk, publicUrl: () => '', linkSecret: 'a secret of the tests only' });
  const media = new FakeMedia();
  let isMounted = true;
  // The first result is made while the disk is away, and the originals are stored.
  media.onEnhance = async () => {
    await eventually(async () => (await world.sql`SELECT 1 FROM objects WHERE role = 'original' AND state = 'stored'`).length === 3, 'all originals are stored');
    if (isMounted && media.enhancements.length === 1) {
      isMounted = false;
      await rename(disk, `${disk}-away`);
      await mkdir(disk);
    }
    return enhanceResult;
  };
  const worker = shop.worker({
    config: { workerConcurrency: 1 },
    tuning: { storageHealth: { firstPauseMs: 100, longestPauseMs: 400, probeTimeoutMs: 2000, checkMs: 100 } },
    deps: { storage, media },
  });
  const jobs = await Promise.all([create(), create(), create()]);
  await worker.start();
  await eventually(async () => !worker.storageIsUp || (await allEnded(jobs)), 'the worker notices');
  expect(worker.storageIsUp).toBe(false);
  await eventually(async () => (await world.sql`SELECT 1 FROM jobs WHERE lease_owner IS NOT NULL`).length === 0, 'it has handed its work back');
  await rm(disk, { recursive: true });
  await rename(`${disk}-away`, disk);
  await eventually(() => allEnded(jobs), 'all jobs have ended');
  expect((await Promise.all(jobs.map(jobOf))).map(({ status, error }) => [status, error])).toEqual(jobs.map(() => ['done', null]));
  expect(await failures()).toBe(0);
});

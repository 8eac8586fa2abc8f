/** What one account does at its worst, and how long another waits meanwhile: real worker, real queue. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { createWorkshop, hang, type Workshop } from '../helpers/worker-fakes.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let greedy: Account;
let other: Account;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  greedy = await fundedAccount(world.store, 0);
  other = await fundedAccount(world.store, 0);
});
afterEach(() => shop.close());

/** what the greedy account has of each: several times the slots of a worker */
const crowd = isLongRun ? { receivers: 100, slowJobs: 60, deletions: 80 } : { receivers: 36, slowJobs: 24, deletions: 20 };

/** the goal of the service: nobody waits longer for what another account does; a busy machine may take longer for the work itself */
const goalMs = 5000;

const create = async (account: Account, change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, { mode: 'test', ...change }))).job;
const status = async (job: JobRecord) => (await world.store.jobs.get(job.accountId, job.mode, job.id))?.status;
const done = (job: JobRecord) => eventually(async () => (await status(job)) === 'done');
const many = async (count: number, account: Account, change: Partial<CreateJob> = {}) => {
  const jobs: JobRecord[] = [];
  for (let i = 0; i < count; i++) jobs.push(await create(account, change));
  return jobs;
};
const deliveries = (account: Account, state: string) =>
  world.sql`SELECT 1 FROM webhook_deliveries WHERE account_id = ${account.id} AND state = ${state}`;

/** Polls as a worker of the field does; the fakes' tenth of a second would hide waiting. Receivers that hang do so to the end. */
const webhooks = { ...defaultTuning.webhooks, timeoutMs: 10 * hangMs };
const start = (config = {}) => shop.worker({ config: { testModeDelayMs: 0, ...config }, tuning: { pollIntervalMs: 1000, webhooks } }).start();

/** How long this machine takes for the work with nobody else about, at the moment. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The best of several is near the goal, or near the time that the same takes alone. `again` is done before each but the first. */
async function within(
  aloneMs: number,
  attempts: number,
  what: () => Promise<unknown>,
  again: () => Promise<void> = async () => {},
): Promise<void> {
  const limitMs = goalMs + 20 * aloneMs;
  let best = Infinity;
  for (let attempt = 0; attempt < attempts && best >= limitMs; attempt += 1) {
    if (attempt > 0) await again();
    best = Math.min(best, await timeOf(what));
  }
  expect(best).toBeLessThan(limitMs);
}

describe('17.15: beside an account that does its worst', () => {
  it(`a webhook of another is sent in time: ${crowd.receivers} receivers hang`, async () => {
    let hanging = 0;
    shop.net.onPost = async (url, { signal }) => {
      if (!url.includes('hangs')) return {};
      hanging += 1;
      return hang(signal);
    };
    await start();
    let sent = 0;
    const sendOne = async () => {
      const job = await create(other, { webhookUrl: 'https://works.example.com/hook' });
      sent += 1;
      await eventually(async () => (await deliveries(other, 'delivered')).length === sent);
      expect(await status(job)).toBe('done');
    };
    const aloneMs = await timeOf(sendOne);
    await many(crowd.receivers, greedy, { webhookUrl: 'https://hangs.example.com/hook' });
    await eventually(async () => (await deliveries(greedy, 'pending')).length === crowd.receivers);
    await eventually(() => hanging >= 3);
    await sleep(1000);
    await within(aloneMs, 8, sendOne);
    // Three at a time: no attempt has ended.
    expect(hanging).toBe(3);
  });

  it(`a sandbox job and a deletion of another are done in time: ${crowd.slowJobs} sandbox jobs are slow`, async () => {
    await start();
    const secure = await many(5, other, { tier: 'secure' });
    await Promise.all(secure.map(done));
    const removeOne = async () => {
      const { id } = secure.pop()!;
      await world.store.jobs.delete(other.id, 'test', id);
      await eventually(async () => (await world.store.certificates.get(other.id, 'test', id))?.state === 'issued');
    };
    const [removalMs, jobMs] = [await timeOf(removeOne), await timeOf(async () => done(await create(other)))];
    const slowDown = async () => {
      const slow = await many(crowd.slowJobs, greedy, { videoUrl: 'https://example.com/slow.mp4' });
      await eventually(async () => (await status(slow[5]!)) === 'running');
    };
    await slowDown();
    await within(removalMs, secure.length, removeOne, slowDown);
    await within(jobMs, 4, async () => done(await create(other)), slowDown);
  });

  it(`a deletion and a sandbox job of another are done in time: ${crowd.deletions} deletions hang`, async () => {
    greedy = await fundedAccount(world.store, crowd.deletions * 30);
    other = await fundedAccount(world.store, 5 * 30);
    const live = { mode: 'live', credits: 30 } as const;
    await start();
    const kept = await many(5, other, { ...live, tier: 'secure' });
    const deleted = await many(crowd.deletions, greedy, live);
    await Promise.all([...kept, ...deleted].map(done));
    const keys = new Set(deleted.map(({ id }) => id));
    const destroy = shop.storage.destroy.bind(shop.storage);
    const over = Promise.withResolvers<void>();
    shop.storage.destroy = async (key) => {
      if (keys.has(key.split('/')[1]!)) await over.promise;
      await destroy(key);
    };
    const removeOne = async () => {
      const { id } = kept.pop()!;
      await world.store.jobs.delete(other.id, 'live', id);
      await done(await create(other));
      await eventually(async () => (await world.store.certificates.get(other.id, 'live', id))?.state === 'issued');
    };
    const aloneMs = await timeOf(removeOne);
    for (const { id } of deleted) await world.store.jobs.delete(greedy.id, 'live', id);
    await within(aloneMs, kept.length, removeOne);
    over.resolve();
  });
});

describe('17.8: downloads that never end', () => {
  it('hold neither the slots of enhancements nor those of another account’s downloads', async () => {
    greedy = await fundedAccount(world.store, 300);
    other = await fundedAccount(world.store, 9 * 30);
    shop.net.onDownload = (url, signal) => (url.includes('slow') ? hang(signal) : Promise.resolve());
    await start({ workerConcurrency: 1 });
    const change = { mode: 'live', credits: 30, videoUrl: 'https://fast.example.com/film.mp4' } as const;
    const enhanceOne = async () => done(await create(other, change));
    const aloneMs = await timeOf(enhanceOne);
    const slow = await many(10, greedy, { mode: 'live', credits: 30, videoUrl: 'https://slow.example.com/film.mp4' });
    await eventually(() => shop.net.downloads > 1);
    await sleep(500);
    await within(aloneMs, 8, enhanceOne);
    for (const { id } of slow) await world.store.jobs.delete(greedy.id, 'live', id);
  });
});

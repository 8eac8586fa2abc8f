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

/** A worker with a database of its own, and an account that uses it properly. */
interface Service {
  world: World;
  shop: Workshop;
  account: Account;
}

let world: World;
let idleWorld: World;
let shop: Workshop;
let greedy: Account;
/** where the greedy account is */
let shared: Service;
/** The control: the same work at the same time on the same machine, beside no other account. */
let idle: Service;
beforeAll(async () => {
  [world, idleWorld] = [await createWorld(), await createWorld()];
});
afterAll(() => Promise.all([world.close(), idleWorld.close()]));
beforeEach(async () => {
  const service = async (of: World): Promise<Service> => ({ world: of, shop: await createWorkshop(of), account: await fundedAccount(of.store, 9 * 30) });
  [shared, idle] = [await service(world), await service(idleWorld)];
  shop = shared.shop;
  greedy = await fundedAccount(world.store, 0);
});
afterEach(() => Promise.all([shared.shop.close(), idle.shop.close()]));

/** what the greedy account has of each: several times the slots of a worker */
const crowd = isLongRun ? { receivers: 100, slowJobs: 60, deletions: 80 } : { receivers: 36, slowJobs: 24, deletions: 20 };

/** the goal of the service: nobody waits longer for what another account does */
const goalMs = 5000;
/** how often each goal is tried; every time counts */
const runs = 3;

const createIn = async ({ store }: World, account: Account, change: Partial<CreateJob> = {}) =>
  (await store.jobs.create(jobInput(account, { mode: 'test', ...change }))).job;
const status = async (job: JobRecord, { store } = world) => (await store.jobs.get(job.accountId, job.mode, job.id))?.status;
const done = (job: JobRecord, of = world) => eventually(async () => (await status(job, of)) === 'done');
const many = async (count: number, account: Account, change: Partial<CreateJob> = {}, of = world) => {
  const jobs: JobRecord[] = [];
  for (let i = 0; i < count; i++) jobs.push(await createIn(of, account, change));
  return jobs;
};
const create = ({ world: of, account }: Service, change: Partial<CreateJob> = {}) => createIn(of, account, change);
/** Jobs of the service's own account that are done, to be deleted one after the other. */
const doneJobs = async ({ world: of, account }: Service, change: Partial<CreateJob>) => {
  const jobs = await many(runs, account, change, of);
  await Promise.all(jobs.map((job) => done(job, of)));
  return jobs;
};
const isCertified = ({ world: of }: Service, { accountId, mode, id }: JobRecord) =>
  eventually(async () => (await of.store.certificates.get(accountId, mode, id))?.state === 'issued');
const deliveries = (account: Account, state: string) =>
  world.sql`SELECT 1 FROM webhook_deliveries WHERE account_id = ${account.id} AND state = ${state}`;

/** Polls as a worker of the field does; the fakes' tenth of a second would hide waiting. Receivers that hang do so to the end. */
const webhooks = { ...defaultTuning.webhooks, timeoutMs: 10 * hangMs };
const start = (config = {}) =>
  Promise.all([shared, idle].map((service) => service.shop.worker({ config: { testModeDelayMs: 0, ...config }, tuning: { pollIntervalMs: 1000, webhooks } }).start()));

async function timeOf(work: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

/**
 * Each time, what the other account does adds less than the goal to the time that the control takes meanwhile: a machine that is
 * busy with other work delays both. `again` is done before each time but the first.
 */
async function expectGoal(what: (service: Service) => Promise<unknown>, again: () => Promise<void> = async () => {}): Promise<void> {
  for (let run = 0; run < runs; run += 1) {
    if (run > 0) await again();
    const [ms, controlMs] = await Promise.all([timeOf(what(shared)), timeOf(what(idle))]);
    const logged = shared.shop.warnings.join('');
    expect(ms - controlMs, `run ${run}: ${Math.round(ms)} ms, and ${Math.round(controlMs)} ms beside nobody. Logged:\n${logged}`).toBeLessThan(goalMs);
  }
}

describe('beside an account that does its worst', () => {
  it(`a webhook of another is sent in time: ${crowd.receivers} receivers hang`, async () => {
    let hanging = 0;
    shop.net.onPost = async (url, { signal }) => {
      if (!url.includes('hangs')) return {};
      hanging += 1;
      return hang(signal);
    };
    await start();
    const sendOne = async (service: Service) => {
      const { id } = await create(service, { webhookUrl: 'https://works.example.com/hook' });
      await eventually(async () => (await service.world.sql`SELECT 1 FROM webhook_deliveries WHERE job_id = ${id} AND state = 'delivered'`).length === 1);
    };
    await many(crowd.receivers, greedy, { webhookUrl: 'https://hangs.example.com/hook' });
    await eventually(async () => (await deliveries(greedy, 'pending')).length === crowd.receivers);
    await eventually(() => hanging >= 3);
    await sleep(1000);
    await expectGoal(sendOne);
    // Three at a time: no attempt has ended.
    expect(hanging).toBe(3);
  });

  it(`a test job and a deletion of another are done in time: ${crowd.slowJobs} test jobs are slow`, async () => {
    await start();
    const secure = new Map<Service, JobRecord[]>();
    for (const service of [shared, idle]) secure.set(service, await doneJobs(service, { tier: 'secure' }));
    const removeOne = async (service: Service) => {
      const job = secure.get(service)!.pop()!;
      await service.world.store.jobs.delete(job.accountId, 'test', job.id);
      await isCertified(service, job);
    };
    const slowDown = async () => {
      const slow = await many(crowd.slowJobs, greedy, { videoUrl: 'https://example.com/slow.mp4' });
      await eventually(async () => (await status(slow[5]!)) === 'running');
    };
    await slowDown();
    await expectGoal(removeOne, slowDown);
    await expectGoal(async (service) => done(await create(service), service.world), slowDown);
  });

  it(`a deletion and a test job of another are done in time: ${crowd.deletions} deletions hang`, async () => {
    greedy = await fundedAccount(world.store, crowd.deletions * 30);
    const live = { mode: 'live', credits: 30 } as const;
    await start();
    const kept = new Map<Service, JobRecord[]>();
    for (const service of [shared, idle]) kept.set(service, await doneJobs(service, { ...live, tier: 'secure' }));
    const deleted = await many(crowd.deletions, greedy, live);
    await Promise.all(deleted.map((job) => done(job)));
    const keys = new Set(deleted.map(({ id }) => id));
    const destroy = shop.storage.destroy.bind(shop.storage);
    const over = Promise.withResolvers<void>();
    shop.storage.destroy = async (key) => {
      if (keys.has(key.split('/')[1]!)) await over.promise;
      await destroy(key);
    };
    const removeOne = async (service: Service) => {
      const job = kept.get(service)!.pop()!;
      await service.world.store.jobs.delete(job.accountId, 'live', job.id);
      await done(await create(service), service.world);
      await isCertified(service, job);
    };
    for (const { id } of deleted) await world.store.jobs.delete(greedy.id, 'live', id);
    await expectGoal(removeOne);
    over.resolve();
  });
});

describe('downloads that never end', () => {
  it('hold neither the slots of enhancements nor those of another account’s downloads', async () => {
    greedy = await fundedAccount(world.store, 300);
    shop.net.onDownload = (url, signal) => (url.includes('slow') ? hang(signal) : Promise.resolve());
    await start({ workerConcurrency: 1 });
    const slow = await many(10, greedy, { mode: 'live', credits: 30, videoUrl: 'https://slow.example.com/film.mp4' });
    await eventually(() => shop.net.downloads > 1);
    await sleep(500);
    const change = { mode: 'live', credits: 30, videoUrl: 'https://fast.example.com/film.mp4' } as const;
    await expectGoal(async (service) => done(await create(service, change), service.world));
    for (const { id } of slow) await world.store.jobs.delete(greedy.id, 'live', id);
  });
});

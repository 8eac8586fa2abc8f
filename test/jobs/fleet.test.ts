/** How accounts share the slots of all workers. Media is stood in for. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import type { EnhanceRequest } from '../../src/media/types.ts';
import { cutIntoSegments, indexOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, segmented, setUpFleet, stepwise, watchSlots } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { create, ended, long, now, planned, rich } = fleetJobs(() => ({ world, shop }));

const stepOf = async (job: JobRecord) => (await world.sql<{ step: string }[]>`SELECT step FROM jobs WHERE id = ${job.id}`)[0]!.step;

describe('a short video', () => {
  // Only the short ones are downloaded here.
  beforeEach(() => {
    cutIntoSegments(shop.media, { ...cutInto(8), source: {} });
  });

  it('of the same account waits for no more than the segment that runs', async () => {
    const account = await rich();
    await planned(await long(account));
    const steps = stepwise(shop.media);
    await shop.worker({ config: { ...segmented, workerConcurrency: 1 } }).start();
    await eventually(() => steps.waiting.length === 1);
    const short = await create(account);
    await eventually(async () => (await now(short))?.source !== null && (await stepOf(short)) === 'enhance');
    expect(indexOf(await steps.next())).toBe(0);
    // One more at most: the segment of the long job that is in the order of the queue.
    const then = [await steps.next(), await steps.next()];
    expect(then.some((request) => indexOf(request) === undefined)).toBe(true);
    await ended(short);
  });

  it('of another account is next, however many long ones the first account has', async () => {
    const greedy = await rich();
    for (let n = 0; n < 5; n++) await planned(await long(greedy));
    const steps = stepwise(shop.media);
    await shop.worker({ config: { ...segmented, workerConcurrency: 1 } }).start();
    await eventually(() => steps.waiting.length === 1);
    const short = await create(await rich());
    await eventually(async () => (await stepOf(short)) === 'enhance');
    expect(indexOf(await steps.next())).toBe(0);
    expect(indexOf(await steps.next())).toBeUndefined();
    await ended(short);
  });
});

it('two accounts with long videos share the slots of all workers', async () => {
  const [greedy, other] = [await rich(), await rich()];
  for (let n = 0; n < 4; n++) await planned(await long(greedy));
  const theirs = await long(other);
  await planned(theirs, 16);
  const steps = stepwise(shop.media);
  const config = { ...segmented, workerConcurrency: 2 };
  await Promise.all([shop.worker({ config }).start(), shop.worker({ config }).start()]);
  await eventually(() => steps.waiting.length === 4);
  const isTheirs = ({ outputDir }: EnhanceRequest) => outputDir.includes(theirs.id);
  for (let n = 0; n < 12; n++) {
    await steps.next();
    await eventually(() => steps.waiting.length === 4);
  }
  // Half of 16; a row that has just ended may still be counted. In the order of the queue it would be a fifth.
  expect(shop.media.enhancements.filter(isTheirs).length).toBeGreaterThanOrEqual(6);
});

it('an account that has used less machine time is served until it has caught up', async () => {
  const [heavy, light] = [await rich(), await rich()];
  await planned(await long(heavy));
  await planned(await long(light));
  // Rows of these tests take milliseconds.
  await world.sql`INSERT INTO account_machine_time (account_id, virtual_start_seconds, virtual_finish_seconds, typical_seconds)
    VALUES (${heavy.id}, 1000, 9000, 100), (${light.id}, 1100, 1200, 1)`;
  const steps = stepwise(shop.media);
  await shop.worker({ config: { ...segmented, workerConcurrency: 2 } }).start();
  const served: string[] = [];
  const isHeavy = async ({ outputDir }: EnhanceRequest) => (await world.sql`SELECT 1 FROM jobs WHERE account_id = ${heavy.id} AND strpos(${outputDir}, id) > 0`).length > 0;
  for (let n = 0; n < 16; n++) served.push((await isHeavy(await steps.next())) ? 'heavy' : 'light');
  expect(served).toEqual([...Array<string>(8).fill('light'), ...Array<string>(8).fill('heavy')]);
  const [row] = await world.sql<{ typical: number }[]>`SELECT typical_seconds AS typical FROM account_machine_time WHERE account_id = ${light.id}`;
  expect(row!.typical).not.toBe(1);
});

it('a slot that passed over an account for the row of another polls again when that row is gone', async () => {
  const [busy, other] = [await rich(), await rich()];
  await planned(await long(busy));
  // One of so many workers that it follows no announcement. It polls again in hours.
  await world.sql`INSERT INTO workers (id, device_classes) SELECT 'elsewhere-' || n, '{cpu}' FROM generate_series(1, 400) n`;
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.99);
  onTestFinished(() => random.mockRestore());
  const steps = stepwise(shop.media);
  await shop.worker({ config: { ...segmented, workerConcurrency: 1 }, tuning: { pollIntervalMs: 600_000 } }).start();
  await eventually(() => steps.waiting.length === 1);
  await planned(await long(other));
  const { enhancementLoad } = world.store.workers;
  const lost: number[] = [];
  world.store.workers.enhancementLoad = async (tasks) => {
    const load = await enhancementLoad(tasks);
    // Other workers are quicker.
    lost.push((await world.sql`DELETE FROM graphile_worker._private_jobs WHERE jsonb_exists(flags, ${other.id})`).count);
    return load;
  };
  await steps.next();
  await eventually(() => steps.waiting.length === 1);
  expect(lost[0]).toBeGreaterThan(0);
});

it('an account has no more slots than the operator allows', async () => {
  const account = await rich();
  const jobs = [await long(account), await long(account)];
  for (const job of jobs) await planned(job);
  const most = watchSlots(shop.media);
  await shop.worker({ config: { ...segmented, workerConcurrency: 4, enhancementsPerAccount: 1 } }).start();
  for (const job of jobs) await ended(job);
  // Slots that ask in the same moment may exceed it by one; without the limit all four are busy.
  expect(most()).toBeLessThanOrEqual(2);
});

it('an account with a quota has no more slots than that, where the service has no limit', async () => {
  const account = await rich();
  await world.store.accounts.setQuotas(account.id, { parallel_enhancements: 1 });
  expect(await world.store.workers.anyParallelQuota()).toBe(true);
  const jobs = [await long(account), await long(account)];
  for (const job of jobs) await planned(job);
  const most = watchSlots(shop.media);
  await shop.worker({ config: { ...segmented, workerConcurrency: 4 } }).start();
  for (const job of jobs) await ended(job);
  // Slots that ask in the same moment may exceed it by one; without the quota all four are busy.
  expect(most()).toBeLessThanOrEqual(2);
  await world.store.accounts.setQuotas(account.id, { parallel_enhancements: null });
  expect(await world.store.workers.anyParallelQuota()).toBe(false);
});

describe('a large fleet', () => {
  it('takes new rows although its workers follow no notification', async () => {
    const account = await rich();
    await world.sql`INSERT INTO workers (id, device_classes) SELECT 'elsewhere-' || n, '{cpu}' FROM generate_series(1, 40) n`;
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.99);
    onTestFinished(() => random.mockRestore());
    await shop.worker({ tuning: { pollIntervalMs: 100 } }).start();
    const jobs: JobRecord[] = [];
    shop.media.onProbe = async () => probeResult;
    for (let n = 0; n < 3; n++) jobs.push(await create(account));
    for (const job of jobs) await ended(job);
  });

  it('is counted again while its workers run, and by the device class that is rare', async () => {
    const { countAlive } = world.store.workers;
    await world.sql`INSERT INTO workers (id) SELECT 'new-' || n FROM generate_series(1, 2) n`;
    expect(await countAlive(['cpu'])).toBe(2);
    await world.sql`INSERT INTO workers (id, device_classes) SELECT 'cpu-' || n, '{cpu}' FROM generate_series(1, 30) n`;
    await world.sql`INSERT INTO workers (id, device_classes) SELECT 'both-' || n, '{cuda,cpu}' FROM generate_series(1, 3) n`;
    expect([await countAlive(['cpu']), await countAlive(['cuda', 'cpu']), await countAlive(['cuda'])]).toEqual([33, 3, 3]);
    const counts: number[] = [];
    world.store.workers.countAlive = async (classes) => {
      const alive = await countAlive(classes);
      counts.push(alive);
      return alive;
    };
    await shop.worker({ config: { device: 'cpu' } }).start();
    await eventually(() => counts.includes(34));
    await world.sql`DELETE FROM workers WHERE id LIKE 'cpu-%'`;
    await eventually(() => counts.at(-1) === 4);
  });
});

/** How segments share the workers: between accounts, jobs and classes of devices. Media is stood in for. */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { accountsToSkip } from '../../src/jobs/fair-share.ts';
import { followedShare, pollFactor } from '../../src/jobs/fleet-size.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import type { EnhanceRequest } from '../../src/media/types.ts';
import type { AccountLoad, DeviceClass } from '../../src/store/index.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorkshop, enhanceResult, FakeMedia, hang, pause, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

const pieceS = 10;
const piece = { ...enhanceResult, frames: 250, durationS: pieceS };
const spansOf = (count: number) => Array.from({ length: count }, (_, index) => ({ startS: index * pieceS, endS: (index + 1) * pieceS, frames: 250 }));

let world: World;
let shop: Workshop;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  prepare(shop.media, 8);
});
afterEach(async () => {
  await shop.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
  await world.sql`DELETE FROM graphile_worker._private_jobs`;
});

/** Media of a worker that cuts each long video into `count` segments. */
function prepare(media: FakeMedia, count: number): void {
  media.onPlanSegments = async ({ options }) => {
    const { width, height, condition, source } = enhanceResult;
    const device = media.deviceFor(options);
    const text = device === 'cpu' ? 'a plan for cpu' : 'a plan for cuda';
    return { plan: { source, width, height, device, model: 'none', stages: [], condition }, segments: spansOf(count), text, whyWhole: '' };
  };
  media.onEnhance = async ({ options }) => (options.piece === undefined ? enhanceResult : piece);
  media.onProbe = async ({ source }) =>
    basename((source as { path: string }).path) === 'source' ? { ...probeResult, durationS: count * pieceS } : { ...probeResult, width: 1920, height: 1080, durationS: pieceS, decodedFrames: 250 };
  media.onJoin = async ({ piecesDir, pieces, outputDir, outputName }) => {
    const parts = await Promise.all(pieces.map((name) => readFile(join(piecesDir, name), 'utf8')));
    await writeFile(join(outputDir, outputName), parts.join(', '));
    return { width: 1920, height: 1080, frames: 250 * pieces.length, durationS: pieceS * pieces.length, sizeBytes: parts.join(', ').length };
  };
}

const segmented = { segmentsFromSeconds: 15 };
const rich = () => fundedAccount(world.store, 10_000);
const long = (account: Account, seconds = 80) => create(account, { durationSeconds: seconds, source: { ...sampleSource, duration: seconds } });
const create = async (account: Account, change: Partial<CreateJob> = {}) => (await world.store.jobs.create(jobInput(account, change))).job;
const now = (job: JobRecord) => world.store.jobs.get(job.accountId, job.mode, job.id);
const ended = (job: JobRecord, status: 'done' | 'error' = 'done') => eventually(async () => (await now(job))?.status === status);
const indexOf = ({ options }: EnhanceRequest) => options.piece?.index;

/** Lets the test end one enhancement after the other. */
function stepwise(media: FakeMedia) {
  const waiting: { request: EnhanceRequest; finish: () => void }[] = [];
  const make = media.onEnhance;
  media.onEnhance = async (request) => {
    await Promise.race([new Promise<void>((finish) => waiting.push({ request, finish })), hang(request.signal)]);
    return make(request);
  };
  return {
    waiting,
    async next() {
      await eventually(() => waiting.length > 0);
      const { request, finish } = waiting.shift()!;
      finish();
      return request;
    },
  };
}

/** Takes the job to the state in which its segments are queued. */
async function planned(job: JobRecord, count = 8, atOnce = 64, deviceClass: DeviceClass = 'cpu'): Promise<void> {
  const { leases, objects, segments } = world.store;
  const ingest = (await leases.acquire(job.id, 'ingest', 'planner', 5))!;
  const key = await objects.registerPendingObject(ingest.fence, 'original');
  shop.storage.objects.set(key, Buffer.from('a real film'));
  await leases.ingested(ingest.fence, { key, size: 11, sha256: 'b'.repeat(64), version: null }, job.source!);
  const { fence } = (await leases.acquire(job.id, 'enhance', 'planner', 5))!;
  const spans = spansOf(count).map(({ startS, endS, frames }) => ({ startSeconds: startS, endSeconds: endS, frames }));
  await segments.planned(fence, { text: `a plan for ${deviceClass}`, deviceClass, segments: spans, atOnce });
}

const queued = (job: JobRecord) => world.sql<{ key: string; priority: number; task: string }[]>`
  SELECT key, priority, task_identifier AS task FROM graphile_worker.jobs WHERE key LIKE ${`segment:${job.id}:%`} ORDER BY priority, run_at`;

describe('accountsToSkip', () => {
  const load = (account: string, running: number, waiting: number, quota: number | null = null): AccountLoad => ({ account, running, waiting, quota });
  it.each<[string, AccountLoad[], { perAccount?: number; lastServed?: string }, string[]]>([
    ['one account alone is served', [load('a', 9, 9)], { lastServed: 'a' }, []],
    ['the account with fewer slots is served', [load('a', 3, 9), load('b', 1, 1)], {}, ['a']],
    ['an account that has nothing to run does not hold others back', [load('a', 3, 9), load('b', 1, 0)], {}, []],
    ['with equally many, accounts take turns', [load('a', 0, 9), load('b', 0, 1)], { lastServed: 'a' }, ['a']],
    ['with equally many elsewhere, none waits', [load('a', 1, 9), load('b', 1, 1)], { lastServed: 'c' }, []],
    ['an account at its limit waits, even alone', [load('a', 2, 9)], { perAccount: 2 }, ['a']],
    ['an account at its limit does not hold others back', [load('a', 2, 9), load('b', 5, 9)], { perAccount: 2, lastServed: 'b' }, ['a', 'b']],
    ['an account has a quota of its own, below the limit of all', [load('a', 1, 9, 1), load('b', 1, 9)], { perAccount: 4 }, ['a']],
    ['and one above it', [load('a', 4, 9, 6)], { perAccount: 4 }, []],
    ['below the limit the fewest are served', [load('a', 1, 9), load('b', 0, 9)], { perAccount: 2 }, ['a']],
  ])('%s', (_, loads, options, skipped) => {
    expect(accountsToSkip(loads, { perAccount: 0, lastServed: undefined, ...options })).toEqual(skipped);
  });
});

describe('segments in the queue', () => {
  it('are queued in order, a few at a time, each under its class of devices', async () => {
    const job = await long(await rich());
    await planned(job, 8, 3);
    expect(await queued(job)).toMatchObject([
      { key: `segment:${job.id}:0`, priority: 0, task: 'segment_cpu' },
      { key: `segment:${job.id}:1`, priority: 2 },
      { key: `segment:${job.id}:2`, priority: 2 },
    ]);
    const seen: number[] = [];
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) => {
      // Rows of ended segments stay for a moment.
      seen.push((await world.sql`SELECT 1 FROM segments WHERE job_id = ${job.id} AND queued AND state <> 'done'`).length);
      return onEnhance(request);
    };
    await shop.worker({ config: { ...segmented, workerConcurrency: 4, segmentsAtOnce: 3 } }).start();
    await ended(job);
    expect(seen.length).toBe(8);
    expect(Math.max(...seen)).toBeLessThanOrEqual(3);
  });

  it('have one with the priority of other jobs at all times, though all are queued', async () => {
    const { segments } = world.store;
    const job = await long(await rich());
    await planned(job, 4);
    const endOne = async (number: number) => {
      const { fence } = (await segments.acquire(job.id, number, 'maker', 60))!;
      const key = await segments.registerPendingPiece(fence);
      const stored = { key, size: 7, sha256: 'c'.repeat(64), version: null };
      await segments.finish(fence, { stored, result: { applied: null as never, device: 'cpu' }, atOnce: 64 });
      await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`segment:${job.id}:${number}`}`;
    };
    const first = async () => (await queued(job)).filter(({ priority }) => priority === 0).map(({ key }) => key.split(':')[2]);
    expect(await first()).toEqual(['0']);
    await endOne(2);
    expect(await first()).toEqual(['0']);
    const { fence } = (await segments.acquire(job.id, 1, 'maker', 60))!;
    await segments.retryLater(fence, { delayS: 3600 });
    const [other] = await world.sql<{ run_at: Date }[]>`SELECT now() AS run_at`;
    await endOne(0);
    // Behind what waited before, and not before its delay has passed.
    expect(await first()).toEqual(['1']);
    const due = await world.sql<{ run_at: Date }[]>`SELECT run_at FROM graphile_worker.jobs WHERE key = ${`segment:${job.id}:1`}`;
    expect(due[0]!.run_at.getTime()).toBeGreaterThan(other!.run_at.getTime() + 3_000_000);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`segment:${job.id}:1`}`;
    await endOne(1);
    expect(await first()).toEqual(['3']);
    const next = await world.sql<{ run_at: Date }[]>`SELECT run_at FROM graphile_worker.jobs WHERE key = ${`segment:${job.id}:3`}`;
    expect(next[0]!.run_at.getTime()).toBeGreaterThan(other!.run_at.getTime());
  });

  it('run no more of a job at a time than that, however many workers are free', async () => {
    const job = await long(await rich());
    let most = 0;
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) => {
      most = Math.max(most, shop.media.running);
      await pause(50);
      return onEnhance(request);
    };
    const config = { ...segmented, workerConcurrency: 4, segmentsAtOnce: 2 };
    await Promise.all([shop.worker({ config }).start(), shop.worker({ config }).start()]);
    await ended(job);
    expect(most).toBe(2);
  });

  it('that an older worker ended are followed by the next ones within a minute', async () => {
    const job = await long(await rich());
    await planned(job, 8, 2);
    await world.sql`UPDATE segments SET queued = false WHERE job_id = ${job.id}`;
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'segment:%'`;
    await shop.worker({ config: segmented }).start();
    await ended(job);
  });

  it('of a second job begin before the first job’s further ones, and the join comes first of all', async () => {
    const account = await rich();
    const first = await long(account);
    await planned(first, 3);
    const second = await long(account);
    await planned(second, 3);
    const order: string[] = [];
    const { onEnhance, onJoin } = shop.media;
    shop.media.onEnhance = async (request) => {
      order.push(`${request.outputDir.includes(first.id) ? 'first' : 'second'} ${indexOf(request)}`);
      return onEnhance(request);
    };
    shop.media.onJoin = async (request) => {
      order.push('join');
      return onJoin(request);
    };
    shop.media.onProbe = async () => ({ ...probeResult, width: 1920, height: 1080, durationS: pieceS, decodedFrames: 250 });
    await shop.worker({ config: { ...segmented, workerConcurrency: 1 } }).start();
    await eventually(() => order.filter((each) => each === 'join').length > 0);
    expect(order.slice(0, 2)).toEqual(['first 0', 'second 0']);
    const begun = order.slice(0, order.indexOf('join'));
    expect([...new Set(begun.map((each) => each.split(' ')[0]))].some((each) => begun.filter((one) => one.startsWith(each!)).length === 3)).toBe(true);
  });
});

describe('a short video', () => {
  // Only the short ones are downloaded here.
  beforeEach(() => {
    shop.media.onProbe = async ({ source }) =>
      basename((source as { path: string }).path) === 'source' ? probeResult : { ...probeResult, width: 1920, height: 1080, durationS: pieceS, decodedFrames: 250 };
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

it('the first link to a piece is recorded once, and again if that failed', async () => {
  const account = await rich();
  const job = await long(account);
  await planned(job);
  const access = { accountId: account.id, jobId: job.id, number: 0, data: { key: 'a' } };
  const recorded = async () => (await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 9 })).filter(({ kind }) => kind === 'result.accessed');
  await expect(world.store.jobs.recordPartialOutput({ ...access, accountId: 'acct_unknown' })).rejects.toThrow();
  expect(await recorded()).toEqual([]);
  await Promise.all([1, 2, 3].map(() => world.store.jobs.recordPartialOutput(access)));
  expect((await recorded()).map(({ data }) => data)).toEqual([{ segment: 0, key: 'a' }]);
});

const stepOf = async (job: JobRecord) => (await world.sql<{ step: string }[]>`SELECT step FROM jobs WHERE id = ${job.id}`)[0]!.step;

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
  // What began at once was taken as it came. Each slot that becomes free makes up for it.
  for (let n = 0; n < 12; n++) {
    await steps.next();
    await eventually(() => steps.waiting.length === 4);
  }
  // Half of 16; a row that has just ended may still be counted. In the order of the queue it would be a fifth.
  expect(shop.media.enhancements.filter(isTheirs).length).toBeGreaterThanOrEqual(6);
});

/** Returns how many enhancements have run at the same time at most, from now on. */
function watchSlots(): () => number {
  let most = 0;
  const { onEnhance } = shop.media;
  shop.media.onEnhance = async (request) => {
    most = Math.max(most, shop.media.running);
    await pause(30);
    return onEnhance(request);
  };
  return () => most;
}

it('an account has no more slots than the operator allows', async () => {
  const account = await rich();
  const jobs = [await long(account), await long(account)];
  for (const job of jobs) await planned(job);
  const most = watchSlots();
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
  const most = watchSlots();
  await shop.worker({ config: { ...segmented, workerConcurrency: 4 } }).start();
  for (const job of jobs) await ended(job);
  // Slots that ask in the same moment may exceed it by one; without the quota all four are busy.
  expect(most()).toBeLessThanOrEqual(2);
  await world.store.accounts.setQuotas(account.id, { parallel_enhancements: null });
  expect(await world.store.workers.anyParallelQuota()).toBe(false);
});

describe('classes of devices', () => {
  const fault = failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video.' });

  function gpuMedia(): FakeMedia {
    const media = new FakeMedia();
    media.hasGpu = true;
    prepare(media, 3);
    return media;
  }

  const devicesOf = (media: FakeMedia, index: number) => media.enhancements.filter((request) => indexOf(request) === index).map(({ options }) => options.device);
  const output = async (job: JobRecord) => shop.storage.objects.get((await world.store.jobs.resultFiles(job.id))!.outputKey)?.toString();

  it('only workers of the plan’s class take its segments', async () => {
    const media = gpuMedia();
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    const gpu = shop.worker({ config: { ...segmented, device: 'cuda:0' }, deps: { media } });
    await Promise.all([gpu.start(), shop.worker({ config: segmented }).start()]);
    await ended(job);
    expect([shop.media.enhancements.length, media.enhancements.length]).toEqual([0, 3]);
    expect(media.enhancements.every(({ options }) => options.device === 'cuda:0')).toBe(true);
  });

  it('a GPU that fails gets the usual attempts, and no piece is made by the CPU', async () => {
    const media = gpuMedia();
    const { onEnhance } = media;
    media.onEnhance = async (request) => (indexOf(request) === 1 && devicesOf(media, 1).length < 5 ? Promise.reject(fault) : onEnhance(request));
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    await shop.worker({ config: { ...segmented, device: 'auto' }, deps: { media } }).start();
    await ended(job);
    expect(devicesOf(media, 1)).toEqual(Array.from({ length: 5 }, () => 'cuda:all'));
    expect([devicesOf(media, 0), devicesOf(media, 2), await output(job)]).toEqual([['cuda:all'], ['cuda:all'], 'piece 0, piece 1, piece 2']);
  });

  it('a segment that fails on one each time: the video is made anew in segments of the other', async () => {
    const media = gpuMedia();
    const { onEnhance } = media;
    media.onEnhance = async (request) => (request.options.device !== 'cpu' && indexOf(request) === 1 ? Promise.reject(fault) : onEnhance(request));
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    const registry = new Registry();
    await shop.worker({ config: { ...segmented, device: 'auto' }, deps: { media, metrics: createWorkerMetrics(registry) } }).start();
    await ended(job);
    expect(devicesOf(media, 1)).toEqual([...Array.from({ length: 5 }, () => 'cuda:all'), 'cpu']);
    for (const index of [0, 2]) expect(devicesOf(media, index)).toEqual(['cuda:all', 'cpu']);
    expect(await output(job)).toBe('piece 0, piece 1, piece 2');
    expect(await registry.metrics()).toContain('reelmend_jobs_replanned_total{reason="failed"} 1');
  });

  it.each([
    ['no worker has the other', { device: 'cuda:0' }, 5],
    ['it fails on both', { device: 'auto' }, 6],
  ])('a segment that fails ends the job with a refund when %s', async (_, config, times) => {
    const media = gpuMedia();
    const { onEnhance } = media;
    const atOnce = new ReelmendError('processing_failed', 'The decoder crashed.');
    media.onEnhance = async (request) => (indexOf(request) === 1 ? Promise.reject(request.options.device === 'cpu' ? atOnce : fault) : onEnhance(request));
    const account = await rich();
    const job = await long(account, 30);
    await planned(job, 3, 64, 'cuda');
    await shop.worker({ config: { ...segmented, ...config }, deps: { media } }).start();
    await ended(job, 'error');
    expect(devicesOf(media, 1).length).toBe(times);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(10_000);
  });

  const stepAndClass = async (job: JobRecord) => (await world.sql<{ step: string; device_class: string | null; unserved: boolean }[]>`
    SELECT step, device_class, unserved_since IS NOT NULL AS unserved FROM jobs WHERE id = ${job.id}`)[0]!;

  it('segments of a class that no worker has any more are planned again by the others, after some time', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    const { segments } = world.store;
    // As long as no worker runs at all, the GPUs may come back.
    expect(await segments.replanUnserved(0, 10)).toEqual([]);
    expect(await stepAndClass(job)).toMatchObject({ unserved: false });
    prepare(shop.media, 3);
    const registry = new Registry();
    const worker = shop.worker({ config: segmented, tuning: { unservedClassS: 2 }, deps: { metrics: createWorkerMetrics(registry) } });
    await worker.start();
    await eventually(async () => (await stepAndClass(job)).unserved);
    expect(await stepAndClass(job)).toMatchObject({ step: 'segments' });
    await ended(job);
    expect(shop.media.enhancements.map(({ options }) => options.device)).toEqual(['cpu', 'cpu', 'cpu']);
    expect(await output(job)).toBe('piece 0, piece 1, piece 2');
    expect(await registry.metrics()).toContain('reelmend_jobs_replanned_total{reason="no_worker"} 1');
    await eventually(async () => shop.storage.objects.size === 2);
  });

  it('segments whose workers come back in time stay as they are', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    const { segments } = world.store;
    await world.sql`INSERT INTO workers (id, device_classes) VALUES ('with a CPU', '{cpu}')`;
    expect(await segments.replanUnserved(60, 10)).toEqual([]);
    expect((await stepAndClass(job)).unserved).toBe(true);
    await world.sql`INSERT INTO workers (id, device_classes) VALUES ('with a GPU', '{cuda}')`;
    expect(await segments.replanUnserved(0, 10)).toEqual([]);
    expect(await stepAndClass(job)).toEqual({ step: 'segments', device_class: null, unserved: false });
    await world.sql`DELETE FROM workers WHERE id LIKE 'with a %'`;
  });

  it('a video that is to be made on a class that no worker has any more is planned by any', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3, 64, 'cuda');
    await world.sql`INSERT INTO workers (id, device_classes) VALUES ('with both', '{cuda,cpu}')`;
    const { segments } = world.store;
    const { fence } = (await segments.acquire(job.id, 0, 'with both', 60))!;
    expect(await segments.moveToOtherClass(fence)).toBe(true);
    expect(await stepAndClass(job)).toMatchObject({ step: 'enhance', device_class: 'cpu' });
    const task = async () => (await world.sql<{ task: string }[]>`SELECT task_identifier AS task FROM graphile_worker.jobs WHERE key = ${`step:${job.id}`}`)[0]!.task;
    expect(await task()).toBe('enhance_cpu');
    await world.sql`UPDATE workers SET device_classes = '{cuda}'`;
    expect(await segments.replanUnserved(0, 10)).toEqual([job.id]);
    expect([await stepAndClass(job), await task()]).toEqual([{ step: 'enhance', device_class: null, unserved: false }, 'job_enhance']);
    await world.sql`DELETE FROM workers WHERE id = 'with both'`;
  });
});

describe('a job in segments that is cancelled', () => {
  it('stops everywhere within a lease, and gets back the seconds that were not processed', async () => {
    shop.media.onEnhance = async (request) => (indexOf(request)! < 4 ? piece : hang(request.signal));
    const account = await rich();
    const job = await long(account);
    const config = { ...segmented, workerConcurrency: 2 };
    await Promise.all([shop.worker({ config }).start(), shop.worker({ config }).start()]);
    await eventually(async () => shop.media.running === 4 && (await now(job))!.progress > 0.48);
    const progress = (await now(job))!.progress;
    const deleted = (await world.store.jobs.delete(account.id, 'live', job.id))!;
    await eventually(() => shop.media.running === 0);
    // Four of eight segments; the share of joining is left, too.
    expect(progress).toBeCloseTo(0.49, 6);
    expect(deleted.refundedCredits).toBe(Math.floor((80 - Math.ceil(0.49 * 80)) * (job.creditsCharged / 80)));
    expect((await world.store.accounts.get(account.id))!.credits).toBe(10_000 - job.creditsCharged + deleted.refundedCredits);
    await eventually(async () => shop.storage.objects.size === 0 && (await queued(job)).length === 0);
  });
});

it('the time left follows from the segments that run', async () => {
  const release = Promise.withResolvers<void>();
  shop.media.onEnhance = async (request) => {
    if (indexOf(request)! >= 2) {
      await pause(1100);
      request.onProgress?.({ fraction: 0.5, framesDone: 125, framesPerSecond: 9, etaS: 1 });
      await release.promise;
    }
    return piece;
  };
  const job = await long(await rich());
  const began = performance.now();
  await shop.worker({ config: { ...segmented, workerConcurrency: 2 } }).start();
  await eventually(async () => (await now(job))!.progress > 0.367);
  const ranS = (performance.now() - began) / 1000;
  // Two run at half a segment in about 1.1 s each, or more on a busy machine: five segments are left, so at least 5 s.
  const { etaSeconds } = (await now(job))!;
  expect(etaSeconds).toBeGreaterThanOrEqual(5);
  expect(etaSeconds).toBeLessThan(Math.max(60, 20 * ranS));
  release.resolve();
  await ended(job);
});

describe('a large fleet', () => {
  it.each([[1, 1, 1], [4, 1, 1], [8, 2, 1], [40, 10, 0.2], [1000, 10, 0.008]])(
    'of %i workers: each polls at %f times the interval and follows %f of the announcements',
    (alive, factor, share) => {
      expect([pollFactor(alive), followedShare(alive)]).toEqual([factor, share]);
    },
  );

  it('takes new rows although its workers follow few announcements', async () => {
    const account = await rich();
    await world.sql`INSERT INTO workers (id) SELECT 'elsewhere-' || n FROM generate_series(1, 400) n`;
    await shop.worker({ tuning: { pollIntervalMs: 100 } }).start();
    const jobs: JobRecord[] = [];
    shop.media.onProbe = async () => probeResult;
    for (let n = 0; n < 3; n++) jobs.push(await create(account));
    for (const job of jobs) await ended(job);
    await world.sql`DELETE FROM workers WHERE id LIKE 'elsewhere-%'`;
  });
});

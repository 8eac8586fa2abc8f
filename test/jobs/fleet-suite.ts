/** What the tests of segments on several workers share: media that cut videos into pieces of ten seconds, and accounts with credits. */
import { afterEach, beforeEach, expect } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import type { EnhanceRequest } from '../../src/media/types.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { cutIntoSegments, pieceOf, type QueuedCut, queueSegments } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorkshop, type FakeMedia, hang, pause, type Workshop } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

const pieceS = 10;
/** Cuts a video of `count` pieces. */
export const cutInto = (count: number) => ({ count, pieceS, source: { durationS: count * pieceS } });
export const piece = pieceOf(cutInto(1));
/** of a worker that makes the long videos of these tests in segments, and the short ones whole */
export const segmented = { segmentsFromSeconds: 15 };

export interface Fleet {
  world: World;
  shop: Workshop;
}

/**
 * Gives each test a database of its own, and workers whose media cut each video into eight segments. In one database for all
 * tests, workers would take the jobs that an earlier test left open: the scheduled tasks queue them again.
 */
export function setUpFleet(use: (fleet: Fleet) => void): void {
  let fleet: Fleet;
  beforeEach(async () => {
    const world = await createWorld();
    fleet = { world, shop: await createWorkshop(world) };
    cutIntoSegments(fleet.shop.media, cutInto(8));
    use(fleet);
  });
  afterEach(async () => {
    const { world, shop } = fleet;
    await shop.close();
    const violations = await world.store.ledgerCheck();
    await world.close();
    expect(violations).toEqual([]);
  });
}

/** What the tests do with jobs. `fleet` returns the parts of the current test. */
export function fleetJobs(fleet: () => Fleet) {
  const create = async (account: Account, change: Partial<CreateJob> = {}) => (await fleet().world.store.jobs.create(jobInput(account, change))).job;
  const now = (job: JobRecord) => fleet().world.store.jobs.get(job.accountId, job.mode, job.id);
  return {
    rich: () => fundedAccount(fleet().world.store, 10_000),
    create,
    /** a job with a long video */
    long: (account: Account, seconds = 80, change: Partial<CreateJob> = {}) =>
      create(account, { durationSeconds: seconds, source: { ...sampleSource, duration: seconds }, ...change }),
    now,
    ended: (job: JobRecord, status: 'done' | 'error' = 'done') => eventually(async () => (await now(job))?.status === status),
    /** Takes the job to the state with its segments queued. */
    planned: (job: JobRecord, count = 8, more: Pick<QueuedCut, 'atOnce' | 'deviceClass'> = {}) => queueSegments(fleet(), job, { ...cutInto(count), ...more }),
    /** the rows of its segments in the queue */
    queued: (job: JobRecord) => fleet().world.sql<{ key: string; priority: number; task: string }[]>`
      SELECT key, priority, task_identifier AS task FROM graphile_worker.jobs WHERE key LIKE ${`segment:${job.id}:%`} ORDER BY priority, run_at`,
  };
}

/** Lets the test end one enhancement after the other. */
export function stepwise(media: FakeMedia) {
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

/** Counts the enhancements that run at the same time, from now on. Returns a function that returns the largest number so far. */
export function watchSlots(media: FakeMedia): () => number {
  let most = 0;
  const { onEnhance } = media;
  media.onEnhance = async (request) => {
    most = Math.max(most, media.running);
    await pause(50);
    return onEnhance(request);
  };
  return () => most;
}

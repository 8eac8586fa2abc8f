/** Leases on segments: who may write, and what an expired or refused one leaves. Media is stood in for. */
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { periodicTasks } from '../../src/jobs/periodic-tasks.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { WorkerDescription } from '../../src/jobs/worker-description.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { LeaseLost } from '../../src/store/index.ts';
import type { SegmentFence } from '../../src/store/segment-rows.ts';
import { asWorker, cutIntoSegments, fakeEngine, indexOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { FakeMedia, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, segmented, setUpFleet } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { ended, long, now, planned, queued, rich } = fleetJobs(() => ({ world, shop }));

const acquire = async (id: string, number: number, owner = 'maker') => (await world.store.segments.acquire(id, number, asWorker(owner)))!;
const stored = { key: '', size: 7, sha256: 'c'.repeat(64), version: null };
const piece = (key: string) => ({ stored: { ...stored, key }, result: { applied: null as never, device: 'cpu' }, atOnce: 64 });

async function endOne(id: string, number: number): Promise<void> {
  const { fence } = await acquire(id, number);
  await world.store.segments.finish(fence, piece(await world.store.segments.registerPendingPiece(fence)));
}

describe('a late worker with a segment of an earlier plan', () => {
  /** The same worker has the same segment, for the first time, under two plans. */
  async function planTwice(): Promise<{ jobId: string; late: SegmentFence; present: SegmentFence }> {
    const job = await long(await rich(), 30);
    const cut = { text: 'a plan', deviceClass: 'cpu' as const, engine: fakeEngine, segments: [{ startSeconds: 0, endSeconds: 30, frames: 750 }], atOnce: 64 };
    await planned(job, 1);
    const late = (await acquire(job.id, 0)).fence;
    await world.store.segments.giveUp(late);
    const { fence } = (await world.store.leases.acquire(job.id, 'enhance', 'planner', 600))!;
    await world.store.segments.planned(fence, cut);
    const present = (await acquire(job.id, 0)).fence;
    expect([late.attempt, late.owner]).toEqual([present.attempt, present.owner]);
    return { jobId: job.id, late, present };
  }
  const stateOf = (jobId: string) => world.sql`SELECT state, attempt, lease_owner, progress, object_key, failures FROM segments WHERE job_id = ${jobId}`;
  type Segments = World['store']['segments'];
  const writes: Record<string, (segments: Segments, fence: SegmentFence) => Promise<unknown>> = {
    finish: (segments, fence) => segments.finish(fence, piece(fence.pieceKey)),
    fail: (segments, fence) => segments.fail(fence, { code: 'processing_failed', message: 'No.' }),
    'retry later': (segments, fence) => segments.retryLater(fence, { delayS: 0 }),
    'register a piece': (segments, fence) => segments.registerPendingPiece(fence),
    'give up the plan': (segments, fence) => segments.giveUp(fence),
  };

  it.each(Object.keys(writes))('is refused: %s', async (what) => {
    const { jobId, late } = await planTwice();
    const before = await stateOf(jobId);
    await expect(writes[what]!(world.store.segments, late)).rejects.toThrow(LeaseLost);
    expect(await stateOf(jobId)).toEqual(before);
  });

  it('cannot renew or give back the lease of the present one', async () => {
    const { jobId, late, present } = await planTwice();
    const { segments } = world.store;
    const before = await stateOf(jobId);
    expect([await segments.heartbeat(late, 60), await segments.progress(late, 0.5, 60)]).toEqual([false, false]);
    await segments.release(late);
    expect(await stateOf(jobId)).toEqual(before);
    expect(await segments.heartbeat(present, 60)).toBe(true);
  });

  it('takes no segment of the present one', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3);
    const { promise: isLate, resolve } = Promise.withResolvers<ReturnType<typeof acquire>>();
    await world.sql.begin(async (tx) => {
      // It has read the job, and not yet the segment, when the video is planned again.
      await tx`LOCK TABLE segments IN ACCESS EXCLUSIVE MODE`;
      resolve(acquire(job.id, 1, 'late'));
      await eventually(async () => (await world.sql`SELECT FROM pg_locks WHERE relation = 'segments'::regclass AND NOT granted`).length > 0);
      await tx`UPDATE jobs SET attempt = attempt + 1 WHERE id = ${job.id}`;
    });
    expect(await isLate).toBeNull();
    expect(await world.sql`SELECT state, attempt FROM segments WHERE job_id = ${job.id} AND number = 1`).toEqual([{ state: 'pending', attempt: 0 }]);
  });

  it('works in a folder of its own, and its piece is not used', async () => {
    const media = new FakeMedia();
    media.hasGpu = true;
    cutIntoSegments(media, cutInto(3));
    const { onEnhance } = media;
    const fault = failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video.' });
    const late = Promise.withResolvers<void>();
    media.onEnhance = async (request) => {
      if (request.options.device === 'cpu') return onEnhance(request);
      if (indexOf(request) === 2) throw fault;
      // It goes on although it is told to stop.
      if (indexOf(request) === 1) await late.promise;
      return onEnhance(request);
    };
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    await shop.worker({ config: { ...segmented, device: 'auto', workerConcurrency: 3 }, deps: { media } }).start();
    const runsOf = (device: string) => media.enhancements.filter((each) => indexOf(each) === 1 && each.options.device === device);
    await eventually(() => runsOf('cpu').length === 1);
    late.resolve();
    await ended(job);
    expect(runsOf('cpu')[0]!.outputDir).not.toBe(runsOf('cuda:all')[0]!.outputDir);
    expect(new Set((await world.sql`SELECT object_key AS key FROM segments WHERE job_id = ${job.id}`).map(({ key }) => key))).not.toContain(undefined);
    await eventually(async () => shop.storage.objects.size === 2);
  });
});

it('the time left of a job whose segment is made anew is that of its present attempt', async () => {
  const { segments } = world.store;
  const job = await long(await rich(), 20);
  await planned(job, 2);
  /** The segment reaches that share in a hundred seconds. */
  async function attempt(fraction: number): Promise<void> {
    const { fence } = await acquire(job.id, 0);
    await world.sql`UPDATE segments SET started_at = clock_timestamp() - interval '100 seconds' WHERE job_id = ${job.id} AND number = 0`;
    await segments.progress(fence, fraction, 60);
  }
  const shown = async () => (await now(job))!;
  await attempt(0.9);
  const before = await shown();
  expect(before.progress).toBeCloseTo(0.441, 6);
  expect(before.etaSeconds).toBeGreaterThan(100);
  expect(before.etaSeconds).toBeLessThan(200);
  await world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE job_id = ${job.id} AND number = 0`;
  await segments.sweepExpired(5);
  expect(await world.sql`SELECT state, progress FROM segments WHERE job_id = ${job.id} AND number = 0`).toEqual([{ state: 'pending', progress: 0 }]);
  await attempt(0.1);
  const after = await shown();
  expect(after.progress).toBe(before.progress);
  expect(after.etaSeconds).toBeGreaterThan(1800);
});

it('the piece that an earlier attempt has left may be destroyed as soon as the next one begins', async () => {
  const { segments, objects } = world.store;
  const job = await long(await rich(), 20);
  await planned(job, 2);
  const { fence } = await acquire(job.id, 0);
  const left = await segments.registerPendingPiece(fence);
  await segments.retryLater(fence, { delayS: 0 });
  const again = await acquire(job.id, 0);
  expect(await objects.pendingDeletion(job.id)).toEqual({ keys: [left], busyForS: 0 });
  // Its own piece stays.
  await segments.registerPendingPiece(again.fence);
  expect(await objects.pendingDeletion(job.id)).toEqual({ keys: [left], busyForS: 0 });
});

it.each<[string, (fence: SegmentFence) => Promise<unknown>]>([
  ['the next attempt has just begun', async (fence) => {
    await world.store.segments.release(fence);
    await world.store.segments.progress((await acquire(fence.jobId, 0)).fence, 0.1, 60);
  }],
  ['its GPU failed, and another device has begun anew', (fence) => world.store.segments.progress(fence, 0.1, 60)],
])('a cancellation gives back the seconds of a segment whose work was lost: %s', async (_, end) => {
  const { segments } = world.store;
  const account = await rich();
  const job = await long(account, 20);
  await planned(job, 2);
  const { fence } = await acquire(job.id, 0);
  await segments.progress(fence, 0.9, 60);
  await end(fence);
  expect((await now(job))!.progress).toBeCloseTo(0.441, 6);
  // The first of 20 seconds.
  expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: (19 / 20) * job.creditsCharged });
});

it('a cancellation gives back the seconds of a dead worker whose lease nobody has removed yet, and not those of finished segments', async () => {
  const { segments, jobs } = world.store;
  const job = await long(await rich(), 20);
  await planned(job, 2);
  await endOne(job.id, 0);
  await segments.progress((await acquire(job.id, 1)).fence, 0.9, 60);
  await world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE job_id = ${job.id} AND number = 1`;
  expect(await jobs.delete(job.accountId, 'live', job.id)).toMatchObject({ refundedCredits: job.creditsCharged / 2 });
});

describe('a remaining time that no integer holds', () => {
  // As after the clock of the database has gone forward by years while a segment was made.
  it('stops no segment from being finished', async () => {
    const job = await long(await rich());
    await planned(job);
    await acquire(job.id, 1);
    await world.sql`UPDATE segments SET progress = 0.0001, started_at = now() - interval '90 years' WHERE job_id = ${job.id} AND number = 1`;
    await endOne(job.id, 0);
    expect((await now(job))!.etaSeconds).toBe(2 ** 31 - 1);
  });

  it('stops no whole job from showing its progress', async () => {
    const job = await long(await rich());
    const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'maker', 60))!;
    await world.store.leases.progress(fence, { fraction: 0.001, etaSeconds: 1e12 }, 60);
    expect(await now(job)).toMatchObject({ progress: 0.001, etaSeconds: 2 ** 31 - 1 });
  });
});

describe("operators' list of workers", () => {
  it('shows a job once while a worker makes segments of it', async () => {
    const [job, whole] = [await long(await rich()), await long(await rich())];
    await planned(job);
    for (const id of ['maker', 'other']) await world.store.workers.heartbeat(id, []);
    await world.store.leases.acquire(whole.id, 'ingest', 'maker', 60);
    const first = (await acquire(job.id, 0)).fence;
    await acquire(job.id, 1);
    await acquire(job.id, 2, 'other');
    await world.store.segments.progress(first, 0.5, 600);
    const { progress } = (await now(job))!;
    const workers = await world.store.operations.workers({ limit: 10 });
    const jobsOf = (id: string) => workers.find((worker) => worker.id === id)!.jobs;
    const work = { id: job.id, step: 'segments', progress };
    expect(jobsOf('maker')).toMatchObject([work, { id: whole.id, step: 'ingest' }]);
    expect(jobsOf('maker')[0]!.leaseExpiresAt.getTime()).toBeGreaterThan(Date.now() + 500_000);
    expect(jobsOf('other')).toMatchObject([work]);
  });
});

describe("operators' view of one job", () => {
  it('has its worker, attempts, segments, files and events, and no URL or metadata of the customer', async () => {
    const job = await long(await rich());
    await world.sql`UPDATE jobs SET metadata = '{"secret": "canary"}', video_url = 'https://canary.example/', webhook_url = 'https://canary.example/' WHERE id = ${job.id}`;
    expect(await world.store.operations.job(job.id)).toMatchObject({ status: 'queued', step: 'ingest', worker: null, host: null, segments: [], queuedUntil: expect.any(Date) as Date });
    await planned(job);
    await world.sql`INSERT INTO workers (id, host) VALUES ('maker', 'rack-7') ON CONFLICT (id) DO UPDATE SET host = 'rack-7'`;
    const { fence } = await acquire(job.id, 0);
    await world.store.segments.progress(fence, 0.5, 600);
    const seen = (await world.store.operations.job(job.id))!;
    expect(seen).toMatchObject({ id: job.id, accountId: job.accountId, mode: 'live', status: 'running', step: 'segments', errorCode: null, deletedAt: null });
    expect(seen.segments[0]).toMatchObject({ number: 0, state: 'running', worker: 'maker', host: 'rack-7', attempts: 1, failures: 0, progress: 0.5 });
    expect(seen.segments[1]).toMatchObject({ state: 'pending', worker: null, host: null });
    expect(seen.files.map(({ role }) => role)).toContain('original');
    expect(seen.events.map(({ kind }) => kind)).toEqual(['job.created', 'job.started']);
    expect(JSON.stringify(seen)).not.toContain('canary');
    await world.store.jobs.delete(job.accountId, 'live', job.id, { key_id: 'key_1', key_name: 'canary' });
    const deleted = await world.store.operations.job(job.id);
    expect(deleted).toMatchObject({ deletedAt: expect.any(Date) as Date, deletedBy: 'customer' });
    expect(deleted!.events.at(-1)).toMatchObject({ kind: 'job.deleted', data: { key_id: 'key_1' } });
    expect(JSON.stringify(deleted)).not.toContain('canary');
    expect(await world.store.operations.job('job_unknown')).toBeNull();
  });
});

/** The first response of each different call is lost, as when the connection breaks at the commit. */
function losing<Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) {
  const answered = new Set<string>();
  return async (...args: Args): Promise<Result> => {
    const result = await call(...args);
    const which = JSON.stringify(args.slice(0, 2));
    if (answered.has(which)) return result;
    answered.add(which);
    throw Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' });
  };
}

it('a worker that does not hear that it has a lease takes it up nevertheless', async () => {
  const { leases, segments } = world.store;
  const store = {
    ...world.store,
    leases: { ...leases, acquire: losing(leases.acquire) },
    segments: { ...segments, acquire: losing(segments.acquire) },
  };
  const job = await long(await rich());
  await shop.worker({ config: segmented, deps: { store } }).start();
  await ended(job);
  expect(await world.sql`SELECT status, crashes FROM jobs WHERE id = ${job.id}`).toEqual([{ status: 'done', crashes: 0 }]);
});

describe('a segment that fails', () => {
  it('after its job was deleted leaves nothing', async () => {
    const account = await rich();
    const job = await long(account);
    await planned(job);
    const { fence } = await acquire(job.id, 0);
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker({ config: segmented }).start();
    await eventually(async () => shop.storage.objects.size === 0);
    await expect(world.store.segments.retryLater(fence, { delayS: 1 })).rejects.toThrow(LeaseLost);
    await world.store.segments.release(fence);
    await eventually(async () => (await world.sql`SELECT FROM segments WHERE job_id = ${job.id}`).length === 0);
    expect(await queued(job)).toEqual([]);
  });

  it('after its job was deleted holds back the certificate until its worker has let go', async () => {
    const account = await rich();
    const job = await long(account, 80, { tier: 'secure' });
    await planned(job);
    const { fence } = await acquire(job.id, 0);
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker({ config: segmented }).start();
    await eventually(async () => shop.storage.objects.size === 0);
    const state = async () => (await world.store.certificates.get(account.id, 'live', job.id))?.state;
    await sleep(1500);
    expect(await state()).toBe('pending');
    await world.store.segments.release(fence);
    await eventually(async () => (await state()) === 'issued');
  });

  it('after its video was planned anew and deleted holds back the certificate until the leases of the earlier plan have expired', async () => {
    const account = await rich();
    const job = await long(account, 80, { tier: 'secure' });
    await planned(job);
    const leaseSeconds = 5;
    const late = (await world.store.segments.acquire(job.id, 1, asWorker('late', leaseSeconds)))!;
    const expiresAt = Date.now() + 1000 * leaseSeconds;
    const key = await world.store.segments.registerPendingPiece(late.fence);
    await world.store.segments.giveUp((await acquire(job.id, 0)).fence);
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker({ config: segmented }).start();
    const certificate = () => world.store.certificates.get(account.id, 'live', job.id);
    await sleep(1500);
    expect((await certificate())!.state).toBe('pending');
    // The last moment at which the late worker, which has not heard of the new plan, may store its piece.
    await sleep(expiresAt - Date.now() - 1000);
    shop.storage.objects.set(key, Buffer.from('a piece'));
    await eventually(async () => (await certificate())!.state === 'issued');
    expect(Date.now()).toBeGreaterThan(expiresAt - 500);
    expect(shop.storage.objects.has(key)).toBe(false);
  });

  it.each(['processing_timeout', 'processing_failed'] as const)('with %s is made once more, by any worker', async (code) => {
    const { onEnhance } = shop.media;
    let failures = 0;
    shop.media.onEnhance = async (request) => (indexOf(request) === 5 && failures++ === 0 ? Promise.reject(new ReelmendError(code, 'It took too long.')) : onEnhance(request));
    const job = await long(await rich());
    await shop.worker({ config: segmented }).start();
    await ended(job);
    expect(shop.media.enhancements.filter((request) => indexOf(request) === 5).length).toBe(2);
  });

  it.each(['processing_timeout', 'unreadable_video'] as const)('each time with %s ends the job with a refund', async (code) => {
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) => (indexOf(request) === 5 ? Promise.reject(new ReelmendError(code, 'It did not work.')) : onEnhance(request));
    const account = await rich();
    const job = await long(account);
    await shop.worker({ config: segmented }).start();
    await ended(job, 'error');
    expect(shop.media.enhancements.filter((request) => indexOf(request) === 5).length).toBe(code === 'unreadable_video' ? 1 : 2);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(10_000);
  });
});

it('lost pieces are queued a few at a time, one of them with the priority of other jobs', async () => {
  const job = await long(await rich());
  await planned(job, 8);
  for (let number = 0; number < 8; number++) await endOne(job.id, number);
  await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'segment:%'`;
  const { fence } = (await world.store.leases.acquire(job.id, 'join', 'joiner', 60, { engine: fakeEngine }))!;
  expect(await world.store.segments.remake(fence, { numbers: [1, 3, 6], maxFailures: 5, atOnce: 2 })).toBe(true);
  expect((await queued(job)).map(({ key, priority }) => [key.split(':')[2], priority === 0])).toEqual([
    ['1', true],
    ['3', false],
  ]);
  await shop.worker({ config: segmented }).start();
  await ended(job);
});

it('a worker with `once` leaves a segment that waits after a failure to others', async () => {
  const job = await long(await rich());
  await planned(job, 3);
  await world.store.segments.retryLater((await acquire(job.id, 1)).fence, { delayS: 3600 });
  expect((await world.store.segments.waiting(job.id, asWorker('maker'))).map(({ isDelayed }) => isDelayed)).toEqual([false, true, false]);
  const worker = shop.worker({ config: segmented, deps: { lifetime: { once: true } } });
  await worker.start();
  await worker.finished;
  await worker.stop();
  expect(shop.media.enhancements.map(indexOf)).toEqual([0, 2]);
  expect((await now(job))!.status).toBe('running');
});

describe('leases that expired while no worker reached the database', () => {
  afterEach(() => vi.restoreAllMocks());

  /** The periodic tasks of a worker, on clocks that the test sets, and the lease of a segment of another one. */
  async function prepare(leaseSeconds: number) {
    const job = await long(await rich());
    await planned(job, 1);
    const { fence } = await acquire(job.id, 0);
    const clock = { awakeMs: 0, asleepMs: 0 };
    const began = Date.now();
    vi.spyOn(performance, 'now').mockImplementation(() => clock.awakeMs);
    vi.spyOn(Date, 'now').mockImplementation(() => began + clock.awakeMs + clock.asleepMs);
    const parts = { media: shop.media, metrics: createWorkerMetrics(), deviceClasses: ['cpu'], engine: fakeEngine };
    const facts = { id: 'another', store: world.store, logger: pino({ level: 'silent' }), tuning: defaultTuning, config: { leaseSeconds }, fleet: { alive: 1 }, ...parts };
    const worker = facts as unknown as WorkerContext;
    const tasks = periodicTasks(worker, [], new WorkerDescription(worker));
    return {
      fence,
      clock,
      run: (name: string) => tasks.find((task) => task.name === name)!.run(),
      crashes: async () => (await world.sql`SELECT crashes FROM segments WHERE job_id = ${job.id}`)[0]!['crashes'],
      expire: () => world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE job_id = ${job.id}`,
    };
  }

  it('are swept only after the time of another lease', async () => {
    const { fence, clock, run, crashes, expire } = await prepare(20);
    await expire();
    // The outage has lasted longer than a lease, and ends.
    clock.awakeMs = 25_000;
    await run('leases');
    await run('heartbeat');
    clock.awakeMs = 40_000;
    await run('heartbeat');
    await run('leases');
    expect(await crashes()).toBe(0);
    expect(await world.store.segments.heartbeat(fence, 1)).toBe(true);
    await expire();
    clock.awakeMs = 46_000;
    await run('leases');
    expect(await crashes()).toBe(1);
  });

  it.each([
    ['the machine slept', { awakeMs: 3000, asleepMs: 600_000 }],
    ['the processes stood still for nearly a lease', { awakeMs: 18_000, asleepMs: 0 }],
  ])('are not swept at once when %s', async (_, after) => {
    const { fence, clock, run, crashes, expire } = await prepare(20);
    await run('heartbeat');
    await expire();
    Object.assign(clock, after);
    await run('leases');
    await run('heartbeat');
    await run('leases');
    expect(await crashes()).toBe(0);
    expect(await world.store.segments.heartbeat(fence, 20)).toBe(true);
  });
});

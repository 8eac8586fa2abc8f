/** Segments and joins keep to the engine of their plan: workers with another one, as during an upgrade, leave them. Media is stood in for. */
import { hash } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import type { WorkerConfig } from '../../src/jobs/index.ts';
import { appliedEnhancements } from '../../src/jobs/enhance-step.ts';
import { engineOf } from '../../src/jobs/enhancement-tasks.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { asWorker, cutIntoSegments, fakeEngine, indexOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { enhanceResult, FakeMedia, pause, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, segmented, setUpFleet, stepwise } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { ended, long, planned, queued, rich } = fleetJobs(() => ({ world, shop }));

const mismatch = failureFromChild({ code: 'segment_mismatch', message: 'The segments were planned by another version of the engine.' });

/** Media whose plans name its engine, and that refuse those of another one, like the engine. Counts its plans and joins. */
class MediaOfEngine extends FakeMedia {
  plans = 0;
  joins = 0;

  constructor(engine: string, count = 3) {
    super();
    this.engine = engine;
    cutIntoSegments(this, cutInto(count));
    const { onPlanSegments, onEnhance, onJoin } = this;
    const refuseOthers = (plan = engine) => {
      if (!plan.startsWith(engine)) throw mismatch;
    };
    this.onPlanSegments = async (request) => {
      this.plans += 1;
      return { ...(await onPlanSegments(request)), text: `${engine} on cpu` };
    };
    this.onEnhance = async (request) => {
      refuseOthers(request.options.piece?.plan);
      return indexOf(request) === undefined ? { ...enhanceResult, durationS: 10 * count } : onEnhance(request);
    };
    this.onJoin = async (request) => {
      this.joins += 1;
      refuseOthers(request.plan);
      return onJoin(request);
    };
  }

  get pieces() {
    return this.enhancements.map(indexOf).filter((index) => index !== undefined).toSorted();
  }

  get wholes() {
    return this.enhancements.filter((request) => indexOf(request) === undefined).length;
  }
}

const start = async (media: FakeMedia, config: Partial<WorkerConfig> = {}, more: Parameters<Workshop['worker']>[0] = {}) => {
  const worker = shop.worker({ ...more, config: { ...segmented, ...config }, deps: { media, ...more.deps } });
  await worker.start();
  return worker;
};
const output = async (job: JobRecord) => shop.storage.objects.get((await world.store.jobs.resultFiles(job.id))!.outputKey)?.toString();
const credits = async ({ accountId }: JobRecord) => (await world.store.accounts.get(accountId))!.credits;
const stateOf = async ({ id }: JobRecord) => (await world.sql<{ step: string; unserved: boolean; inOnePiece: boolean }[]>`
  SELECT step, unserved_since IS NOT NULL AS unserved, in_one_piece AS "inOnePiece" FROM jobs WHERE id = ${id}`)[0]!;
const taskOfStep = async ({ id }: JobRecord) => (await world.sql<{ task: string }[]>`
  SELECT task_identifier AS task FROM graphile_worker.jobs WHERE key = ${`step:${id}`}`)[0]?.task;
const all = 'piece 0, piece 1, piece 2';

/** A job with three segments in the queue, and no row of an earlier step. */
async function inSegments(): Promise<JobRecord> {
  const job = await long(await rich(), 30);
  await planned(job, 3);
  await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`step:${job.id}`}`;
  return job;
}

/** Takes a job whose segments are queued to its join. */
async function made({ id }: JobRecord): Promise<void> {
  const { segments } = world.store;
  for (const number of [0, 1, 2]) {
    const { fence } = (await segments.acquire(id, number, asWorker('maker')))!;
    const key = await segments.registerPendingPiece(fence);
    const piece = Buffer.from(`piece ${number}`);
    shop.storage.objects.set(key, piece);
    const stored = { key, size: piece.length, sha256: hash('sha256', piece), version: null };
    await segments.finish(fence, { stored, result: { applied: appliedEnhancements(enhanceResult), device: 'cpu' }, atOnce: 64 });
  }
}

describe('an upgrade', () => {
  it('old workers finish the videos that they planned, while new ones take new videos', async () => {
    const [old, recent] = [new MediaOfEngine('engine 1'), new MediaOfEngine('engine 2')];
    const steps = stepwise(old);
    const first = await long(await rich(), 30);
    const oldWorker = await start(old, { workerConcurrency: 1 });
    await eventually(() => steps.waiting.length === 1);
    await start(recent);
    const second = await long(await rich(), 30);
    // The old worker is busy.
    await ended(second);
    expect([recent.plans, recent.pieces, recent.joins]).toEqual([1, [0, 1, 2], 1]);
    for (let n = 0; n < 3; n++) await steps.next();
    await ended(first);
    expect([old.plans, old.pieces, old.joins]).toEqual([1, [0, 1, 2], 1]);
    expect([old.wholes, recent.wholes]).toEqual([0, 0]);
    for (const job of [first, second]) expect([await output(job), await credits(job)]).toEqual([all, 10_000 - job.creditsCharged]);
    await oldWorker.stop();
  });

  it('a video whose last old worker is gone is planned anew by the others, once, and charged once', async () => {
    const [old, recent] = [new MediaOfEngine('engine 1'), new MediaOfEngine('engine 2')];
    const steps = stepwise(old);
    const job = await long(await rich(), 30);
    const oldWorker = await start(old, { workerConcurrency: 1 });
    await steps.next();
    await eventually(() => steps.waiting.length === 1);
    const registry = new Registry();
    await start(recent, {}, { tuning: { unservedEngineS: 1 }, deps: { metrics: createWorkerMetrics(registry) } });
    await oldWorker.stop();
    await ended(job);
    expect([recent.plans, recent.pieces, recent.wholes, await output(job)]).toEqual([1, [0, 1, 2], 0, all]);
    expect(await credits(job)).toBe(10_000 - job.creditsCharged);
    expect(await registry.metrics()).toContain('reelmend_jobs_replanned_total{reason="no_worker"} 1');
    // Only the original and the result are left.
    await eventually(async () => shop.storage.objects.size === 2);
  });

  it('segments that older workers queued go to any worker, and are enhanced in one piece by another engine', async () => {
    const recent = new MediaOfEngine('engine 2');
    const job = await inSegments();
    await world.sql`UPDATE segments SET engine = NULL WHERE job_id = ${job.id}`;
    await world.sql`SELECT graphile_worker.add_job('segment_cpu', payload, job_key := key) FROM (
      SELECT json_build_object('jobId', job_id, 'segment', number) AS payload, 'segment:' || job_id || ':' || number AS key FROM segments WHERE job_id = ${job.id}) s`;
    await start(recent, { workerConcurrency: 1 });
    await ended(job);
    expect([recent.wholes, await output(job), await credits(job)]).toEqual([1, 'enhanced 1080p', 10_000 - job.creditsCharged]);
  });

  it('segments that older workers queued are made and joined by the same engine', async () => {
    const job = await inSegments();
    await world.sql`UPDATE segments SET engine = NULL WHERE job_id = ${job.id}`;
    await start(shop.media);
    await ended(job);
    expect(await output(job)).toBe(all);
  });
});

describe('workers with another engine', () => {
  it('leave segments to those that have it, and take them for none of their tasks', async () => {
    const other = new MediaOfEngine('engine 2');
    const job = await inSegments();
    // Queued by a worker of an older version, or before the video was planned again.
    await world.sql`SELECT graphile_worker.add_job('segment_cpu', ${world.sql.json({ jobId: job.id, segment: 1 })}::json)`;
    await start(other);
    await eventually(async () => (await world.sql`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'segment_cpu'`).length === 0);
    await pause(500);
    expect(other.enhancements).toEqual([]);
    expect((await queued(job)).map(({ task }) => task)).toEqual(Array.from({ length: 3 }, () => `segment_cpu:${fakeEngine}`));
    await start(shop.media);
    await ended(job);
    expect([await output(job), other.enhancements, other.joins]).toEqual([all, [], 0]);
  });

  it('leave the join, also if its queue row names no engine, and a worker with the engine gets it', async () => {
    const job = await inSegments();
    const { leases } = world.store;
    await made(job);
    expect([(await stateOf(job)).step, await taskOfStep(job)]).toEqual(['join', `job_join:${fakeEngine}`]);
    for (const engine of [engineOf({ media: new MediaOfEngine('engine 2') }), null]) expect(await leases.acquire(job.id, 'join', 'other', 60, { engine })).toBeNull();
    const other = new MediaOfEngine('engine 2');
    await world.sql`SELECT graphile_worker.add_job('job_join', ${world.sql.json({ jobId: job.id })}::json, job_key := ${`step:${job.id}`})`;
    await start(other);
    // The scheduled tasks queue it again.
    await eventually(async () => (await taskOfStep(job)) === `job_join:${fakeEngine}`);
    expect(other.joins).toBe(0);
    await start(shop.media);
    await ended(job);
    expect([await output(job), other.joins]).toEqual([all, 0]);
  });

  it('go on to the end of one job only as far as they can', async () => {
    const other = new MediaOfEngine('engine 2');
    const job = await inSegments();
    expect(await world.store.segments.waiting(job.id, { deviceClasses: ['cpu'], engine: engineOf({ media: other }) })).toEqual([]);
    expect(await world.store.segments.waiting(job.id, { deviceClasses: ['cpu'], engine: fakeEngine })).toHaveLength(3);
    const worker = await start(other, {}, { deps: { lifetime: { once: true, idleS: 1 } } });
    expect(await worker.finished).toBe(0);
    expect(other.enhancements).toEqual([]);
  });
});

describe('an engine that no worker has any more', () => {
  afterEach(() => vi.restoreAllMocks());
  const replan = (wait: { deviceClassS: number; engineS: number }) => world.store.segments.replanUnserved(wait, 10).then(({ done }) => done);
  const withWorker = ({ classes, engine }: { classes: string; engine: string | null }) =>
    world.sql`INSERT INTO workers (id, device_classes, engine) VALUES ('the only one', ${classes}::text[], ${engine})`;
  const engineAtOnce = { deviceClassS: 600, engineS: 0 };
  const classAtOnce = { deviceClassS: 0, engineS: 600 };

  it.each([
    ['has its class and its engine', { classes: '{cpu}', engine: fakeEngine }, { any: false, after: null }],
    ['has its class and another engine', { classes: '{cpu}', engine: 'another' }, { any: true, after: engineAtOnce }],
    ['has its class and is of an older version', { classes: '{cpu}', engine: null }, { any: true, after: engineAtOnce }],
    ['has its engine and another class', { classes: '{cuda}', engine: fakeEngine }, { any: true, after: classAtOnce }],
    ['has another class and another engine', { classes: '{cuda}', engine: 'another' }, { any: true, after: classAtOnce }],
    ['enhances nothing', { classes: '{}', engine: 'another' }, { any: false, after: null }],
  ])('segments, where a worker %s', async (_, worker, { any, after }) => {
    const job = await inSegments();
    await withWorker(worker);
    expect(await replan({ deviceClassS: 600, engineS: 600 })).toEqual([]);
    expect((await stateOf(job)).unserved).toBe(any);
    expect(await replan(after === engineAtOnce ? classAtOnce : engineAtOnce)).toEqual([]);
    expect(await replan(after ?? { deviceClassS: 0, engineS: 0 })).toEqual(any ? [job.id] : []);
    expect(await stateOf(job)).toEqual({ step: any ? 'enhance' : 'segments', unserved: false, inOnePiece: false });
    expect(await taskOfStep(job)).toBe(any ? 'job_enhance' : undefined);
  });

  it.each([
    ['its engine, on any class', { classes: '{cuda}', engine: fakeEngine }, null],
    ['another engine', { classes: '{cpu}', engine: 'another' }, engineAtOnce],
    ['another engine on another class', { classes: '{cuda}', engine: 'another' }, classAtOnce],
  ])('a join, where a worker has %s', async (_, worker, after) => {
    const job = await inSegments();
    await made(job);
    await withWorker(worker);
    await replan({ deviceClassS: 600, engineS: 600 });
    expect((await stateOf(job)).unserved).toBe(after !== null);
    if (after !== null) expect(await replan(after === engineAtOnce ? classAtOnce : engineAtOnce)).toEqual([]);
    expect(await replan(after ?? { deviceClassS: 0, engineS: 0 })).toEqual(after === null ? [] : [job.id]);
    expect((await stateOf(job)).step).toBe(after === null ? 'join' : 'enhance');
    expect(await credits(job)).toBe(10_000 - job.creditsCharged);
  });

  it('a worker whose row was removed while its process slept is described with its next heartbeat', async () => {
    const worker = await start(shop.media, { leaseSeconds: 4 }, { tuning: { periodicMs: { scratch: 250, describe: 300_000, fleet: 500, schedule: 5000 } } });
    const described = async () => (await world.sql`SELECT FROM workers WHERE id = ${worker.id} AND engine = ${fakeEngine} AND device_classes = '{cpu}'`).length === 1;
    await eventually(described);
    await world.sql`DELETE FROM workers`;
    await eventually(described);
  });

  it('a worker whose description failed is described with its next heartbeat', async () => {
    const describing = vi.spyOn(world.store.workers, 'describe').mockRejectedValueOnce(new Error('the connection is lost'));
    const worker = await start(shop.media, { leaseSeconds: 4 }, { tuning: { periodicMs: { scratch: 250, describe: 300_000, fleet: 500, schedule: 5000 } } });
    await eventually(async () => (await world.sql`SELECT FROM workers WHERE id = ${worker.id} AND engine = ${fakeEngine} AND device_classes = '{cpu}'`).length === 1);
    // Then it is known, and the heartbeats say nothing more.
    await pause(2500);
    expect(describing).toHaveBeenCalledTimes(2);
  });

  it('a worker that drains counts no more: others plan anew what waits for its engine, but not the job that it goes on with', async () => {
    const recent = new MediaOfEngine('engine 2');
    const steps = stepwise(shop.media);
    const [first, second] = [await inSegments(), await inSegments()];
    const old = await start(shop.media, { workerConcurrency: 1, drainSeconds: 60 });
    await eventually(() => steps.waiting.length === 1);
    const stopped = old.stop();
    const [running] = await world.sql<{ id: string }[]>`SELECT job_id AS id FROM segments WHERE state = 'running'`;
    const [its, other] = running!.id === first.id ? [first, second] : [second, first];
    await start(recent, {}, { tuning: { unservedEngineS: 1 } });
    await ended(other);
    expect([recent.plans, await output(other), await stateOf(its)]).toEqual([1, all, { step: 'segments', unserved: false, inOnePiece: false }]);
    await steps.next();
    await stopped;
    await ended(its);
    expect([recent.plans, await output(its)]).toEqual([2, all]);
    for (const job of [first, second]) expect(await credits(job)).toBe(10_000 - job.creditsCharged);
  });

  it('a worker for one job that drains goes on with all its segments', async () => {
    const recent = new MediaOfEngine('engine 2');
    const steps = stepwise(shop.media);
    const job = await inSegments();
    const old = await start(shop.media, { drainSeconds: 60 }, { deps: { lifetime: { once: true } } });
    await eventually(() => steps.waiting.length === 1);
    const stopped = old.stop();
    await start(recent, {}, { tuning: { unservedEngineS: 1 } });
    await eventually(async () => (await world.sql`SELECT FROM workers WHERE engine = ${fakeEngine} AND device_classes = '{}'`).length === 1);
    for (let n = 0; n < 3; n++) {
      await pause(1500);
      await steps.next();
    }
    await ended(job);
    await stopped;
    expect([recent.plans, recent.enhancements, await output(job)]).toEqual([0, [], all]);
  });
});

describe('the queue', () => {
  it('is measured, and demands workers, by what is done, not by engine', async () => {
    const job = await inSegments();
    await world.sql`SELECT graphile_worker.add_job('job_join:0123456789abcdef', '{}'::json, flags := ARRAY[${job.accountId}])`;
    await world.sql`SELECT graphile_worker.add_job('segment_cuda:0123456789abcdef', '{}'::json, flags := ARRAY[${job.accountId}])`;
    const { queue } = await world.store.operations.overview();
    expect(queue.filter(({ task }) => /^(segment|job_join)/.test(task))).toMatchObject([
      { task: 'job_join', waiting: 1 },
      { task: 'segment_cpu', waiting: 3 },
      { task: 'segment_cuda', waiting: 1 },
    ]);
    const demand = async (...tasks: string[]) => Number((await world.sql`SELECT worker_demand(${tasks}) AS steps`)[0]!['steps']);
    expect([await demand('job_enhance'), await demand('job_enhance:cpu'), await demand('job_enhance:cuda'), await demand('segment_cpu')]).toEqual([5, 4, 2, 3]);
  });

  it('knows the load and the use of an account, whatever the engine of its rows is', async () => {
    const job = await inSegments();
    const { workers, machineTime } = world.store;
    const mine = `segment_cpu:${fakeEngine}`;
    expect(await workers.enhancementLoad([mine])).toMatchObject([{ account: job.accountId, running: 0, waits: true }]);
    expect(await workers.enhancementLoad(['segment_cpu:another'])).toEqual([]);
    await machineTime.charge(job.accountId, 0);
    await world.sql`UPDATE account_machine_time SET served_at = now() - interval '1 hour'`;
    const known = () => world.sql`SELECT FROM account_machine_time`;
    await machineTime.forget(600);
    expect(await known()).toHaveLength(1);
    await world.sql`UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE key LIKE 'segment:%'`;
    await workers.dropFinishedRows();
    expect(await queued(job)).toEqual([]);
    await machineTime.forget(600);
    expect(await known()).toHaveLength(0);
  });
});

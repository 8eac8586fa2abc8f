/** The segments of one job: their order in the queue, their links, their end, and the time that they take. Media is stood in for. */
import { describe, expect, it } from 'vitest';
import type { Lifetime } from '../../src/jobs/index.ts';
import { crashed } from '../../src/media/failures.ts';
import { asWorker, fakeEngine, indexOf, measuredPieceOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { hang, pause, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, piece, segmented, setUpFleet, watchSlots } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { ended, long, now, planned, queued, rich } = fleetJobs(() => ({ world, shop }));

describe('segments in the queue', () => {
  it('are queued in order, a few at a time, each under its device class and engine', async () => {
    const job = await long(await rich());
    await planned(job, 8, { atOnce: 3 });
    expect(await queued(job)).toMatchObject([
      { key: `segment:${job.id}:0`, priority: 0, task: `segment_cpu:${fakeEngine}` },
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

  it('share one notification', async () => {
    const job = await long(await rich());
    const counts: number[] = [];
    await world.sql.listen('jobs:insert', (message) => counts.push((JSON.parse(message) as { count: number }).count));
    await planned(job, 8);
    await eventually(() => counts.length > 0 && counts.reduce((sum, count) => sum + count) >= 8);
    expect(counts).toContain(8);
  });

  it('have one with the priority of other jobs at all times, though all are queued', async () => {
    const { segments } = world.store;
    const job = await long(await rich());
    await planned(job, 4);
    const endOne = async (number: number) => {
      const { fence } = (await segments.acquire(job.id, number, asWorker('maker')))!;
      const key = await segments.registerPendingPiece(fence);
      const stored = { key, size: 7, sha256: 'c'.repeat(64), version: null };
      await segments.finish(fence, { stored, result: { applied: null as never, device: 'cpu' }, atOnce: 64 });
      await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`segment:${job.id}:${number}`}`;
    };
    const first = async () => (await queued(job)).filter(({ priority }) => priority === 0).map(({ key }) => key.split(':')[2]);
    expect(await first()).toEqual(['0']);
    await endOne(2);
    expect(await first()).toEqual(['0']);
    const { fence } = (await segments.acquire(job.id, 1, asWorker('maker')))!;
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
    const most = watchSlots(shop.media);
    const config = { ...segmented, workerConcurrency: 4, segmentsAtOnce: 2 };
    await Promise.all([shop.worker({ config }).start(), shop.worker({ config }).start()]);
    await ended(job);
    expect(most()).toBe(2);
  });

  it('that an older worker ended are followed by the next ones within a minute', async () => {
    const job = await long(await rich());
    await planned(job, 8, { atOnce: 2 });
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
    shop.media.onProbe = async () => measuredPieceOf(cutInto(8));
    await shop.worker({ config: { ...segmented, workerConcurrency: 1 } }).start();
    await eventually(() => order.filter((each) => each === 'join').length > 0);
    expect(order.slice(0, 2)).toEqual(['first 0', 'second 0']);
    const begun = order.slice(0, order.indexOf('join'));
    expect([...new Set(begun.map((each) => each.split(' ')[0]))].some((each) => begun.filter((one) => one.startsWith(each!)).length === 3)).toBe(true);
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

describe('a job whose pieces are given up', () => {
  const endOne = async (id: string, number: number) => {
    const { segments } = world.store;
    const { fence } = (await segments.acquire(id, number, asWorker('maker')))!;
    const key = await segments.registerPendingPiece(fence);
    await segments.finish(fence, { stored: { key, size: 7, sha256: 'c'.repeat(64), version: null }, result: { applied: null as never, device: 'cpu' }, atOnce: 64 });
  };
  const giveUp: Record<string, (id: string) => Promise<unknown>> = {
    'it is planned for the other device class': async (id) => {
      await world.sql`INSERT INTO workers (id, device_classes) VALUES ('with both', '{cuda,cpu}')`;
      return world.store.segments.moveToOtherClass((await world.store.segments.acquire(id, 5, asWorker('with both')))!.fence);
    },
    'it is enhanced in one piece': async (id) => world.store.segments.giveUp((await world.store.segments.acquire(id, 5, asWorker('maker')))!.fence),
  };

  it('counts the segments as unprocessed whose pieces are lost before the join', async () => {
    const account = await rich();
    const job = await long(account);
    await planned(job, 8);
    for (let number = 0; number < 8; number++) await endOne(job.id, number);
    const { fence } = (await world.store.leases.acquire(job.id, 'join', 'joiner', 60, { engine: fakeEngine }))!;
    expect(await world.store.segments.remake(fence, { numbers: [1, 6], maxFailures: 5, atOnce: 64 })).toBe(true);
    expect((await now(job))!.progress).toBeCloseTo(0.98, 6);
    const deleted = (await world.store.jobs.delete(account.id, 'live', job.id))!;
    expect(deleted.refundedCredits).toBe((80 - Math.ceil(0.98 * 0.75 * 80)) * (job.creditsCharged / 80));
  });

  it.each(Object.keys(giveUp))('counts none of them as processed: %s', async (how) => {
    const account = await rich();
    const job = await long(account);
    await planned(job, 8);
    for (let number = 0; number < 4; number++) await endOne(job.id, number);
    expect((await now(job))!.progress).toBeCloseTo(0.49, 6);
    await giveUp[how]!(job.id);
    const shown = { status: 'running', progress: expect.closeTo(0.49, 6) };
    expect(await now(job)).toMatchObject({ ...shown, etaSeconds: null });
    const { fence } = (await world.store.leases.acquire(job.id, 'enhance', 'maker', 60))!;
    await world.store.leases.progress(fence, { fraction: 0.3, etaSeconds: 60 }, 60);
    expect(await now(job)).toMatchObject({ ...shown, etaSeconds: 60 });
    await expect(world.sql`UPDATE jobs SET progress = 0.2 WHERE id = ${job.id}`).rejects.toThrow('cannot move');
    const deleted = (await world.store.jobs.delete(account.id, 'live', job.id))!;
    expect(deleted.refundedCredits).toBe(0.7 * job.creditsCharged);
  });
});

describe('a worker with `once`', () => {
  const runOnce = async (lifetime: Lifetime = {}) => {
    const worker = shop.worker({ config: segmented, deps: { lifetime: { once: true, ...lifetime } } });
    await worker.start();
    const steps = await worker.finished;
    await worker.stop();
    return steps;
  };

  it('makes a whole long video, and no other', async () => {
    const account = await rich();
    const [job, other] = [await long(account), await long(account)];
    // Its download, its plan, its segments, and the join.
    expect(await runOnce()).toBe(1 + 1 + 8 + 1);
    expect([(await now(job))!.status, (await now(other))!.status]).toEqual(['done', 'queued']);
  });

  it('leaves a segment that fails to the queue; the next one makes what is left', async () => {
    let hasFailed = false;
    shop.media.onEnhance = async (request) => {
      if (indexOf(request) !== 3 || hasFailed) return piece;
      hasFailed = true;
      throw crashed({ code: 137, signal: null }, '');
    };
    const job = await long(await rich());
    expect(await runOnce()).toBe(1 + 1 + 4);
    expect((await now(job))!.status).toBe('running');
    expect(await runOnce({ idleS: 60 })).toBe(5 + 1);
    expect((await now(job))!.status).toBe('done');
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

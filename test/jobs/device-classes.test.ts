/** Segments keep to the device class of their plan. Media is stood in for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import { failureFromChild, gpuIsLost, noUsableGpu } from '../../src/media/failures.ts';
import { asWorker, cutIntoSegments, fakeEngine, indexOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { FakeMedia, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, segmented, setUpFleet } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { create, ended, long, now, planned, rich } = fleetJobs(() => ({ world, shop }));

describe('device classes', () => {
  const fault = failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video.' });

  function gpuMedia(): FakeMedia {
    const media = new FakeMedia();
    media.hasGpu = true;
    cutIntoSegments(media, cutInto(3));
    return media;
  }

  const devicesOf = (media: FakeMedia, index: number) => media.enhancements.filter((request) => indexOf(request) === index).map(({ options }) => options.device);
  const output = async (job: JobRecord) => shop.storage.objects.get((await world.store.jobs.resultFiles(job.id))!.outputKey)?.toString();

  it('only workers of the plan’s class take its segments', async () => {
    const media = gpuMedia();
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    const gpu = shop.worker({ config: { ...segmented, device: 'cuda:0' }, deps: { media } });
    await Promise.all([gpu.start(), shop.worker({ config: segmented }).start()]);
    await ended(job);
    expect([shop.media.enhancements.length, media.enhancements.length]).toEqual([0, 3]);
    expect(media.enhancements.every(({ options }) => options.device === 'cuda:0')).toBe(true);
  });

  it('a queue row of an earlier plan, for the other class, takes none of them', async () => {
    const media = gpuMedia();
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cpu' });
    await world.sql`SELECT graphile_worker.add_job('segment_cuda', ${world.sql.json({ jobId: job.id, segment: 1 })}::json)`;
    await shop.worker({ config: { ...segmented, device: 'cuda:0' }, deps: { media } }).start();
    await eventually(async () => (await world.sql`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'segment_cuda'`).length === 0);
    const rows = await world.sql`SELECT s.state, s.attempt, j.step FROM segments s JOIN jobs j ON j.id = job_id WHERE job_id = ${job.id} AND number = 1`;
    expect(rows).toEqual([{ state: 'pending', attempt: 0, step: 'segments' }]);
    expect(media.enhancements).toEqual([]);
  });

  it('a worker whose GPUs are all lost leaves the work to others, and takes some when one can be used again', async () => {
    const media = gpuMedia();
    media.usable = false;
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    await shop.worker({ config: { ...segmented, device: 'cuda:all' }, deps: { media } }).start();
    await sleep(500);
    expect(media.enhancements).toEqual([]);
    expect(await world.sql`SELECT failures FROM segments WHERE job_id = ${job.id} AND failures > 0`).toEqual([]);
    media.usable = true;
    await ended(job);
    expect(media.enhancements).toHaveLength(3);
  });

  it('a worker that ends when it is idle also ends when all its GPUs are lost, so that another machine takes its place', async () => {
    const media = gpuMedia();
    media.usable = false;
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    const worker = shop.worker({ config: { ...segmented, device: 'cuda:all', downloadConcurrency: 0 }, deps: { media, lifetime: { idleS: 1 } } });
    await worker.start();
    expect(await worker.finished).toBe(0);
    expect(media.enhancements).toEqual([]);
  });

  it('a worker that finds no usable GPU costs a video no more than an attempt', async () => {
    const media = gpuMedia();
    const { onEnhance } = media;
    let refused = 0;
    media.onEnhance = async (request) => (indexOf(request) === 1 && ++refused <= 4 ? Promise.reject(noUsableGpu()) : onEnhance(request));
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    await shop.worker({ config: { ...segmented, device: 'cuda:all' }, deps: { media } }).start();
    await ended(job);
    expect(await output(job)).toBe('piece 0, piece 1, piece 2');
  });

  it('a whole video whose only GPU is lost waits, and is made on the CPU once the worker has been started again with `auto`', async () => {
    const media = new FakeMedia();
    media.onEnhance = async () => {
      media.usable = false;
      throw gpuIsLost(fault);
    };
    const job = await create(await rich());
    const worker = shop.worker({ config: { device: 'cuda:0' }, deps: { media } });
    await worker.start();
    await eventually(() => media.enhancements.length === 1);
    await sleep(1000);
    await worker.stop();
    expect(media.enhancements).toHaveLength(1);
    expect(await now(job)).toMatchObject({ status: 'running', creditsRefunded: 0 });
    await shop.worker({ config: { device: 'auto' } }).start();
    await ended(job);
    expect(shop.media.enhancements.map(({ options }) => options.device)).toEqual(['auto']);
  });

  it('a GPU that fails gets the usual attempts, and no piece is made by the CPU', async () => {
    const media = gpuMedia();
    const { onEnhance } = media;
    media.onEnhance = async (request) => (indexOf(request) === 1 && devicesOf(media, 1).length < 5 ? Promise.reject(fault) : onEnhance(request));
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
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
    await planned(job, 3, { deviceClass: 'cuda' });
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
    ['it fails on both', { device: 'auto' }, 5 + 2],
  ])('a segment that fails ends the job with a refund when %s', async (_, config, times) => {
    const media = gpuMedia();
    const { onEnhance } = media;
    const atOnce = new ReelmendError('processing_failed', 'The decoder crashed.');
    media.onEnhance = async (request) => (indexOf(request) === 1 ? Promise.reject(request.options.device === 'cpu' ? atOnce : fault) : onEnhance(request));
    const account = await rich();
    const job = await long(account, 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    await shop.worker({ config: { ...segmented, ...config }, deps: { media } }).start();
    await ended(job, 'error');
    expect(devicesOf(media, 1).length).toBe(times);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(10_000);
  });

  const stepAndClass = async (job: JobRecord) => (await world.sql<{ step: string; device_class: string | null; unserved: boolean }[]>`
    SELECT step, device_class, unserved_since IS NOT NULL AS unserved FROM jobs WHERE id = ${job.id}`)[0]!;

  it('segments of a class that no worker has any more are planned again by the others, after some time', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    const { segments } = world.store;
    // As long as no worker runs at all, the GPUs may come back.
    expect((await segments.replanUnserved({ deviceClassS: 0, engineS: 0 }, 10)).done).toEqual([]);
    expect(await stepAndClass(job)).toMatchObject({ unserved: false });
    cutIntoSegments(shop.media, cutInto(3));
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
    await planned(job, 3, { deviceClass: 'cuda' });
    const { segments } = world.store;
    await world.sql`INSERT INTO workers (id, device_classes, engine) VALUES ('with a CPU', '{cpu}', ${fakeEngine})`;
    expect((await segments.replanUnserved({ deviceClassS: 60, engineS: 60 }, 10)).done).toEqual([]);
    expect((await stepAndClass(job)).unserved).toBe(true);
    await world.sql`INSERT INTO workers (id, device_classes, engine) VALUES ('with a GPU', '{cuda}', ${fakeEngine})`;
    expect((await segments.replanUnserved({ deviceClassS: 0, engineS: 0 }, 10)).done).toEqual([]);
    expect(await stepAndClass(job)).toEqual({ step: 'segments', device_class: null, unserved: false });
  });

  it('a video that is to be made on a class that no worker has any more is planned by any', async () => {
    const job = await long(await rich(), 30);
    await planned(job, 3, { deviceClass: 'cuda' });
    await world.sql`INSERT INTO workers (id, device_classes, engine) VALUES ('with both', '{cuda,cpu}', ${fakeEngine})`;
    const { segments } = world.store;
    const { fence } = (await segments.acquire(job.id, 0, asWorker('with both')))!;
    expect(await segments.moveToOtherClass(fence)).toBe(true);
    expect(await stepAndClass(job)).toMatchObject({ step: 'enhance', device_class: 'cpu' });
    const task = async () => (await world.sql<{ task: string }[]>`SELECT task_identifier AS task FROM graphile_worker.jobs WHERE key = ${`step:${job.id}`}`)[0]!.task;
    expect(await task()).toBe('enhance_cpu');
    await world.sql`UPDATE workers SET device_classes = '{cuda}'`;
    expect((await segments.replanUnserved({ deviceClassS: 0, engineS: 0 }, 10)).done).toEqual([job.id]);
    expect([await stepAndClass(job), await task()]).toEqual([{ step: 'enhance', device_class: null, unserved: false }, 'job_enhance']);
  });
});

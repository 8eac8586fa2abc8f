/** A preview in the worker: which stretches it makes of what media measures, what it stores, and what a failure costs. */
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { defaultVideoLimits } from '../../src/domain/limits.ts';
import { headroomBytes } from '../../src/jobs/insufficient-disk-space.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import type { EnhancePlan } from '../../src/media/types.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { createWorkshop, enhanceResult, hang, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

const settings = [{ resolution: '1080p' as const, model: 'none' }, { resolution: '4k' as const, output: { quality: 30 } }];
/** 9.6 s have four candidates. */
const starts = [0.2, 2.6, 5, 7.4];

let world: World;
let shop: Workshop;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 100);
  shop.media.onPlan = async ({ inputPath }) => plan((await readFile(inputPath, 'utf8')) === 'enhanced source' && inputPath.includes(`sample-${starts[3]!.toFixed(3)}`) ? 0.7 : 0.1);
  shop.media.onEnhance = async ({ options: { segment, target }, outputName }) => {
    const start = starts.findLast((each) => each <= segment!.startS)!;
    if (!outputName.startsWith('sample-')) return { ...enhanceResult, width: target === '4k' ? 3840 : 1920, height: target === '4k' ? 2160 : 1080 };
    return { ...enhanceResult, frames: 25, faces: start === starts[1] ? 25 : 0, durationS: 1, sizeBytes: start === starts[0] ? 9000 : 1000 };
  };
});
afterEach(async () => {
  await shop.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
});

const plan = (denoise: number): EnhancePlan => ({
  ...{ source: probeResult, width: 1920, height: 1080, device: 'cpu', model: 'none', condition: '' },
  stages: [
    { name: 'denoise', strength: denoise, why: '' },
    { name: 'sharpen', strength: 1, why: 'not a sign of damage' },
  ],
});

const create = async (change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, { metadata: {}, durationSeconds: 12, credits: change.mode === 'test' ? 0 : 54, preview: { settings }, ...change }))).job;
const now = (job: JobRecord) => world.store.jobs.get(account.id, job.mode, job.id);
const ended = (job: JobRecord, status: 'done' | 'error') => eventually(async () => (await now(job))?.status === status);
const credits = async () => (await world.store.accounts.get(account.id))!.credits;
const kinds = async (job: JobRecord) =>
  (await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 50 })).map(({ kind }) => kind).reverse();

it('has the stretches that stand out, each untouched and with each setting, and keeps nothing else', async () => {
  expect(sampleSource.duration).toBeCloseTo(9.6, 1);
  await world.store.webhookEndpoints.create({ accountId: account.id, mode: 'live', url: 'https://hooks.example.com/', events: ['job.completed', 'job.failed'], description: '' });
  const job = await create();
  expect(job.id).toMatch(/^prv_/);
  await shop.worker().start();
  await ended(job, 'done');
  const { stretches, clips } = (await now(job))!.preview!;
  expect(stretches!.map(({ start, duration, reason }) => [Number(start.toFixed(3)), duration, reason])).toEqual([
    [starts[0], 2, 'hardest_to_encode'],
    [starts[1], 2, 'face'],
    [starts[3], 2, 'most_damaged'],
  ]);
  expect(clips!.map(({ stretch, setting, width }) => [stretch, setting, width])).toEqual(
    [0, 1, 2].flatMap((stretch) => [[stretch, null, 1920], [stretch, 0, 1920], [stretch, 1, 3840]]),
  );
  // The copy of the video and the samples are gone.
  await eventually(() => shop.storage.objects.size === clips!.length);
  const stored = clips!.map(({ key }) => shop.storage.objects.get(key)?.toString());
  expect(stored).toEqual([0, 1, 2].flatMap(() => ['enhanced source', 'enhanced 1080p', 'enhanced 4k']));
  const made = shop.media.enhancements.filter(({ outputName }) => outputName.startsWith('clip-')).map(({ options }) => options);
  expect(made[1]).toMatchObject({ target: '1080p', model: 'none', denoise: 'auto', encoder: { crf: 18 } });
  expect(made[2]).toMatchObject({ target: '4k', encoder: { crf: 30 } });
  expect(made[0]).toMatchObject({ target: 'source', model: 'none', denoise: 'off', sharpen: 'off', adaptiveContrast: 'off', faceRestoration: 'off' });
  expect(await kinds(job)).toEqual(['preview.created', 'preview.started', 'preview.completed']);
  expect(shop.net.posts).toEqual([]);
  expect(await credits()).toBe(46);

  await world.store.jobs.delete(account.id, 'live', job.id);
  await eventually(() => shop.storage.objects.size === 0);
  expect(await credits()).toBe(46);
});

it.each([60, 600, 21_600])('of %d s enhances the seconds that it bills, and samples a few more without a network', async (durationS) => {
  const planned: string[] = [];
  shop.media.onProbe = async () => ({ ...probeResult, durationS });
  shop.media.onPlan = async ({ inputPath }) => {
    planned.push(inputPath);
    return plan(0.1);
  };
  shop.media.onEnhance = async () => enhanceResult;
  const job = await create({ source: { ...sampleSource, duration: durationS } });
  // Of the longest video, a whole result would not fit on the disk.
  const readDiskUsage = async () => ({ device: 1, freeBytes: headroomBytes + 1e9, sizeBytes: 1e12 });
  await shop.worker({ config: { limits: { ...defaultVideoLimits, durationS } }, deps: { readDiskUsage } }).start();
  await ended(job, 'done');
  const work = shop.media.enhancements.map(({ options: { segment, target, model }, outputName }) => ({
    ...{ target, model, isSample: outputName.startsWith('sample-'), seconds: segment!.endS - segment!.startS },
  }));
  const secondsOf = (found: typeof work) => found.reduce((sum, { seconds }) => sum + seconds, 0);
  const enhanced = work.filter(({ target }) => target !== 'source');
  // Two settings, of which a job would enhance the whole video each.
  expect(secondsOf(enhanced)).toBeCloseTo(job.durationSeconds, 6);
  expect(secondsOf(enhanced)).toBeLessThanOrEqual((2 * durationS) / 10);
  // The rest is encoded as it is: the untouched stretches, and eight samples. Each sample is planned once.
  const untouched = work.filter(({ target }) => target === 'source');
  expect(untouched.every(({ model }) => model === 'none')).toBe(true);
  expect(secondsOf(untouched.filter(({ isSample }) => isSample))).toBeCloseTo(8, 6);
  expect(secondsOf(untouched)).toBeCloseTo(8 + 6, 6);
  expect(planned).toHaveLength(8);
});

it('passes over places where the video has no frame, and is refunded where too few have one', async () => {
  const usual = shop.media.onEnhance;
  let empty = 1;
  shop.media.onEnhance = (request) =>
    request.options.segment!.startS < starts[empty]! && request.outputName.startsWith('sample-')
      ? Promise.reject(failureFromChild({ code: 'invalid_argument', message: 'The segment contains no frame of the video.' }))
      : usual(request);
  const first = await create();
  await shop.worker().start();
  await ended(first, 'done');
  expect((await now(first))!.preview!.stretches!.map(({ start }) => Number(start.toFixed(3)))).toEqual(starts.slice(1));
  empty = 2;
  await world.store.accounts.grant(account.id, 54);
  const second = await create();
  await ended(second, 'error');
  expect(await now(second)).toMatchObject({ creditsRefunded: 54, error: { message: 'The frames of the video are too far apart for a preview.' } });
});

it('is refunded when it fails, and leaves nothing', async () => {
  shop.media.onEnhance = async ({ outputName }) => {
    if (outputName === 'clip-4.mp4') throw new ReelmendError('processing_failed', 'The video could not be processed.');
    return enhanceResult;
  };
  const job = await create();
  await shop.worker().start();
  await ended(job, 'error');
  expect(await now(job)).toMatchObject({ creditsCharged: 54, creditsRefunded: 54, error: { code: 'processing_failed' } });
  expect(await credits()).toBe(100);
  await eventually(() => shop.storage.objects.size === 0);
  expect(await kinds(job)).toEqual(['preview.created', 'preview.started', 'preview.failed']);
});

it('that is deleted while it runs stops, and the refund is what was not made', async () => {
  shop.media.onEnhance = async ({ outputName, signal }) => (outputName === 'clip-7.mp4' ? hang(signal) : { ...enhanceResult, sizeBytes: 1 });
  const job = await create();
  await shop.worker().start();
  await eventually(() => shop.media.running === 1 && shop.media.enhancements.at(-1)?.outputName === 'clip-7.mp4');
  const { refundedCredits } = (await world.store.jobs.delete(account.id, 'live', job.id))!;
  expect(refundedCredits).toBeGreaterThan(0);
  expect(await credits()).toBe(46 + refundedCredits);
  await eventually(() => shop.media.running === 0 && shop.storage.objects.size === 0);
});

it('is certified when it is of the Secure tier', async () => {
  const job = await create({ tier: 'secure' });
  await shop.worker().start();
  await ended(job, 'done');
  await world.store.jobs.delete(account.id, 'live', job.id);
  await eventually(async () => (await world.store.certificates.get(account.id, 'live', job.id))?.state === 'issued');
  const found = await world.store.certificates.get(account.id, 'live', job.id);
  const jws = found?.state === 'issued' ? found.jws : '';
  const { job_id, objects } = JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as { job_id: string; objects: { role: string }[] };
  expect(job_id).toBe(job.id);
  expect(objects.map(({ role }) => role).sort()).toEqual([...Array<string>(9).fill('clip'), 'original']);
});

it('of test mode shows the samples, which stay when it is deleted', async () => {
  const job = await create({ mode: 'test', source: null });
  await shop.worker().start();
  await ended(job, 'done');
  const { stretches, clips } = (await now(job))!.preview!;
  expect(stretches).toHaveLength(3);
  expect(new Set(stretches!.map(({ reason }) => reason))).toEqual(new Set(['evenly_spaced']));
  expect(clips!.map(({ key }) => key.split('-')[2])).toEqual([0, 1, 2].flatMap(() => ['1080p', '1080p', '4k']));
  expect(shop.media.enhancements).toEqual([]);
  await world.store.jobs.delete(account.id, 'test', job.id);
  for (const { key } of clips!) expect(shop.storage.objects.has(key)).toBe(true);
});

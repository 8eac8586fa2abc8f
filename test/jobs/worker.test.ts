/** A live job in the worker: what it does in each step, and how it ends when one fails. */
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ReelmendError, type ErrorCode } from '../../src/domain/errors.ts';
import type { ProbeResult } from '../../src/media/types.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { canBeRead } from '../../src/media/child-user.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import type { Account } from '../../src/store/types.ts';
import { enhanceResult, pause, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { jobsOf, leavesNothing, setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import { jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 30,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: leavesNothing,
});

const { create, now, ended, credits, kinds } = jobsOf(() => ({ world, shop, account }));

describe('a live job', () => {
  it('is handed to media as a file that a child without rights can read', async () => {
    const readable: Record<string, boolean[]> = { probe: [], enhance: [] };
    shop.media.onProbe = async ({ source }) => {
      readable['probe']!.push(canBeRead((source as { path: string }).path));
      return probeResult;
    };
    shop.media.onEnhance = async ({ input }) => {
      readable['enhance']!.push(canBeRead(input as string));
      return enhanceResult;
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(readable).toEqual({ probe: [true], enhance: [true] });
  });

  it('is fetched, measured, enhanced and stored', async () => {
    const job = await create({ enhancements: { sharpen: 0.7, face_restoration: 'off' } });
    await shop.worker().start();
    await ended(job, 'done');
    const done = (await now(job))!;
    const key = (await world.store.jobs.resultFiles(job.id))!.outputKey;
    expect(shop.storage.objects.get(key)?.toString()).toBe('enhanced 1080p');
    expect(done).toMatchObject({
      progress: 1,
      etaSeconds: null,
      error: null,
      creditsRefunded: 0,
      source: jobInput(account).source,
      output: { width: 1920, height: 1080, size_bytes: 14 },
      applied: { denoise: 0.2, sharpen: 0.3, face_restoration: 0, adaptive_contrast: 0.1, model: 'lanczos', device: 'cpu',
        plan: [{ stage: 'denoise', strength: 0.2, reason: 'the source has noise of 3.5 and no compression error (RMS, 8-bit levels)' }],
        condition: 'compressed, enlarged before from about 360p' },
    });
    expect(shop.media.enhancements[0]?.options).toMatchObject({
      target: '1080p',
      sharpen: 0.7,
      faceRestoration: 'off',
      denoise: 'auto',
      adaptiveContrast: 'auto',
    });
    expect(await kinds(job)).toEqual(['job.created', 'job.started', 'job.completed']);
    expect(await credits()).toBe(0);
    expect([...shop.storage.objects.keys()]).toHaveLength(2);
    await eventually(async () => (await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE task_identifier NOT LIKE 'scheduled%'`).length === 0);
    expect(shop.errors).toEqual([]);
  });

  it('shows its progress and never lets it fall', async () => {
    const seen: number[] = [];
    shop.media.onEnhance = async ({ onProgress }) => {
      const report = (fraction: number, etaS: number) => onProgress?.({ fraction, framesDone: 1, framesPerSecond: 9, etaS });
      const written = (etaSeconds: number | null) =>
        eventually(async () => {
          const current = (await now(job))!;
          if (current.progress > 0 && current.etaSeconds === etaSeconds) seen.push(current.progress);
          return current.progress > 0 && current.etaSeconds === etaSeconds;
        });
      for (const [fraction, etaS, etaSeconds] of [[0.2, -1, null], [0.6, 4.2, 5], [0.4, 6.5, 7]] as const) {
        report(fraction, etaS);
        await written(etaSeconds);
        await pause(1100); // it is written once a second
      }
      return enhanceResult;
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(seen).toEqual([0.2, 0.6, 0.6]);
  });
});

it('counters of jobs begin at 0: Prometheus sees no rate in a series that begins with the first job of a short-lived worker', async () => {
  const registry = new Registry();
  createWorkerMetrics(registry);
  const text = await registry.metrics();
  for (const mode of ['live', 'test']) {
    expect(text).toContain(`reelmend_jobs_finished_total{mode="${mode}"} 0`);
    for (const code of ['processing_failed', 'processing_timeout']) expect(text).toContain(`reelmend_job_failures_total{code="${code}",mode="${mode}"} 0`);
  }
});

it('a job whose workers crash too often counts as a finished and failed one', async () => {
  const job = await create();
  await world.sql`UPDATE jobs SET status = 'running', started_at = now(), attempt = 5, crashes = 4, lease_owner = 'dead',
    lease_expires_at = now() - interval '1 minute' WHERE id = ${job.id}`;
  const registry = new Registry();
  await shop.worker({ deps: { metrics: createWorkerMetrics(registry) } }).start();
  await ended(job, 'error');
  const lines = ['reelmend_jobs_finished_total{mode="live"} 1', 'reelmend_job_failures_total{code="processing_failed",mode="live"} 1'];
  await eventually(async () => {
    const text = await registry.metrics();
    return lines.every((line) => text.includes(line));
  });
});

describe('a live job that cannot succeed ends in error and is refunded once', () => {
  const refuse = (code: ErrorCode) => async (): Promise<never> => {
    throw new ReelmendError(code, `No: ${code}.`);
  };
  const download = (code: ErrorCode) => () => {
    shop.net.onDownload = refuse(code);
  };
  const probe = (durationS: number) => () => {
    shop.media.onProbe = async () => ({ ...probeResult, durationS });
  };
  const enhancing = (onEnhance: Workshop['media']['onEnhance']) => () => {
    shop.media.onEnhance = onEnhance;
  };
  const unreadable = () => {
    shop.media.onProbe = refuse('unreadable_video');
  };
  const shorter = async () => ({ ...enhanceResult, durationS: 3 });
  const cases: { name: string; code: string; prepare(): void; downloads?: number }[] = [
    { name: 'a source that is no video', code: 'unreadable_video', prepare: unreadable },
    { name: 'a source that grew longer', code: 'source_changed', prepare: probe(10.7) },
    { name: 'a source that is too long now', code: 'video_too_long', prepare: probe(601) },
    { name: 'a source that is too large now', code: 'video_too_large', prepare: download('video_too_large') },
    { name: 'an address that became private', code: 'url_not_allowed', prepare: download('url_not_allowed') },
    { name: 'a source that is gone', code: 'video_unreachable', downloads: 3, prepare: download('video_unreachable') },
    { name: 'a child that crashes', code: 'processing_failed', prepare: enhancing(refuse('processing_failed')) },
    {
      name: 'a child that takes too long',
      code: 'processing_timeout',
      prepare: enhancing(refuse('processing_timeout')),
    },
    {
      name: 'a video that decodes to more than it says',
      code: 'source_changed',
      prepare: enhancing(refuse('video_too_long')),
    },
    { name: 'a video that decodes to less than it says', code: 'source_changed', prepare: enhancing(shorter) },
  ];
  for (const { name, code, prepare, downloads = 1 } of cases) {
    it(`${name}: ${code}`, async () => {
      prepare();
      const job = await create();
      await shop.worker().start();
      await ended(job, 'error');
      expect((await now(job))!).toMatchObject({
        error: { code, message: expect.stringMatching(/\.$/) },
        creditsRefunded: 30,
      });
      expect(await credits()).toBe(30);
      expect(shop.net.downloads).toBe(downloads);
      expect(await kinds(job)).toEqual(['job.created', 'job.started', 'job.failed']);
      await eventually(() => shop.storage.objects.size === 0);
      await eventually(
        async () =>
          (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND state <> 'destroyed'`).length === 0,
      );
    });
  }
});

describe('a source that is another file than the one that was measured', () => {
  const measured = jobInput({ id: '' } as Account).source!;
  const other: [string, Partial<ProbeResult>, RegExp][] = [
    ['container', { container: 'webm' }, /container was mp4 /],
    ['video codec', { videoCodec: 'hevc' }, /video_codec was h264 /],
    ['audio codec', { audio: [] }, /audio_codec was aac .* null now/],
    ['width', { width: 962 }, /width was 960 /],
    ['height', { height: 542 }, /height was 540 /],
    ['frame rate', { frameRate: 50 }, /frame_rate was 25 /],
    ['size', { sizeBytes: 123_457 }, /size_bytes was 123456 /],
  ];
  it.each(other)('ends as source_changed and is refunded: %s', async (_name, change, message) => {
    shop.media.onProbe = async () => ({ ...probeResult, ...change });
    const job = await create();
    await shop.worker().start();
    await ended(job, 'error');
    const error = { code: 'source_changed', message: expect.stringMatching(message) as string };
    expect(await now(job)).toMatchObject({ error, creditsRefunded: 30 });
    expect(await credits()).toBe(30);
    expect(shop.net.downloads).toBe(1);
  });

  it.each([
    { before: '"v1"', now: '"v2"', status: 'error' },
    { before: '"v1"', now: '"v1"', status: 'done' },
    { before: '"v1"', now: null, status: 'done' },
    { before: undefined, now: '"v2"', status: 'done' },
  ] as const)('by its ETag, where both were sent: $before, $now: $status', async ({ before, now: etag, status }) => {
    shop.net.etag = etag;
    const job = await create({ source: { ...measured, ...(before === undefined ? {} : { etag: before }) } });
    await shop.worker().start();
    await ended(job, status);
    if (status === 'error') expect((await now(job))!.error).toMatchObject({ code: 'source_changed' });
  });

  it('passes where the frame rate of the whole file differs by a hair', async () => {
    shop.media.onProbe = async () => ({ ...probeResult, frameRate: 25.1, durationS: 9.7 });
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
  });
});

describe('failures that may pass', () => {
  it('are tried again until they have passed', async () => {
    let left = 4;
    shop.storage.beforePut = async () => {
      if (left-- > 0) throw new Error('503 Slow Down');
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(await credits()).toBe(0);
    // What the failed attempts had registered is destroyed; original and output are left.
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND state <> 'destroyed'`).length === 2,
    );
  });

  it('a full disk under the media child is one of them', async () => {
    const enhance = shop.media.onEnhance;
    let left = 2;
    shop.media.onEnhance = (request) => {
      if (left-- > 0) return Promise.reject(failureFromChild({ code: 'io', message: 'No space is left.' }));
      return enhance(request);
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(left).toBe(-1);
  });

  it('end the job with a refund when they do not pass', async () => {
    shop.storage.beforePut = () => Promise.reject(new Error('s3://inside: 503'));
    const job = await create();
    await shop.worker().start();
    await ended(job, 'error');
    const failed = (await now(job))!;
    expect(failed.error?.code).toBe('processing_failed');
    expect(failed.error?.message).not.toContain('inside');
    expect(shop.net.downloads).toBe(5);
    expect(await credits()).toBe(30);
  });
});

import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ReelmendError, type ErrorCode } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { ProbeResult } from '../../src/media/types.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { canBeRead } from '../../src/media/users.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { createWorkshop, enhanceResult, hang, pause, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 30);
});
afterEach(async () => {
  await shop.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
  expect(await scratchFiles()).toEqual([]);
});

const scratchFiles = () => readdir(join(shop.dataDir, 'scratch')).catch(() => []);
const create = async (change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, change))).job;
const now = (job: JobRecord) => world.store.jobs.get(account.id, job.mode, job.id);
const ended = (job: JobRecord, status: 'done' | 'error') => eventually(async () => (await now(job))?.status === status);
const credits = async () => (await world.store.accounts.get(account.id))!.credits;
const kinds = async (job: JobRecord) =>
  (await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 50 }))
    .map((event) => event.kind)
    .reverse();

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
        plan: [{ stage: 'denoise', strength: 0.2, reason: 'the source has noise of 3.5 and a compression error of 0.0 (RMS, 8-bit levels)' }],
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

describe('17.6: a source that is another file than the one that was measured', () => {
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

describe('cancelling a running job', () => {
  it('stops the child, refunds what was not processed and leaves nothing', async () => {
    shop.media.onEnhance = async ({ signal, onProgress }) => {
      onProgress?.({ fraction: 0.5, framesDone: 120, framesPerSecond: 10, etaS: 12 });
      return hang(signal);
    };
    const job = await create();
    await shop.worker().start();
    await eventually(async () => (await now(job))?.progress === 0.5);
    expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: 15 });
    await eventually(() => shop.media.running === 0);
    await eventually(() => shop.storage.objects.size === 0);
    expect(await credits()).toBe(15);
    expect(await kinds(job)).toEqual(['job.created', 'job.started', 'job.deleted']);
  });

  it('stops the download too', async () => {
    let aborted = false;
    shop.net.onDownload = (_url, signal) =>
      hang(signal).finally(() => {
        aborted = true;
      });
    const job = await create();
    await shop.worker().start();
    await eventually(() => shop.net.downloads === 1);
    expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: 30 });
    await eventually(() => aborted);
  });

  it('of a job in the queue means that it never runs', async () => {
    const job = await create();
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker().start();
    await pause(500);
    expect(shop.net.downloads).toBe(0);
  });
});

describe('deleted objects', () => {
  it('are destroyed as soon as the storage is up again, and not called destroyed before', async () => {
    const job = await create();
    const worker = shop.worker();
    await worker.start();
    await ended(job, 'done');
    shop.storage.fault = new Error('storage is down');
    await world.store.jobs.delete(account.id, 'live', job.id);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE last_error LIKE '%not destroyed yet%'`).length === 1,
    );
    expect((await world.sql`SELECT state FROM objects WHERE job_id = ${job.id}`).map((row) => row['state'])).toEqual([
      'stored',
      'stored',
    ]);
    shop.storage.fault = undefined;
    await eventually(() => shop.storage.objects.size === 0);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND destroyed_at IS NULL`).length === 0,
    );
  });

  it('are destroyed even when the queue has lost or given up the task', async () => {
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    shop.storage.fault = new Error('storage is down');
    await world.store.jobs.delete(account.id, 'live', job.id);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`destroy:${job.id}`}`;
    shop.storage.fault = undefined;
    await eventually(() => shop.storage.objects.size === 0);
  });

  it('that come back are destroyed again', async () => {
    const job = await create();
    const first = shop.worker();
    await first.start();
    await ended(job, 'done');
    const key = (await world.store.jobs.resultFiles(job.id))!.outputKey;
    await world.store.jobs.delete(account.id, 'live', job.id);
    await eventually(
      async () =>
        (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND destroyed_at IS NULL`).length === 0,
    );
    await first.stop();
    shop.storage.objects.set(key, Buffer.from('back from the dead'));
    shop.storage.objects.set('jobs/somebody/elses', Buffer.from('not ours'));
    await shop.worker().start();
    await eventually(() => !shop.storage.objects.has(key));
    expect(shop.storage.objects.has('jobs/somebody/elses')).toBe(true);
  });
});

describe('retention', () => {
  it('destroys the files of a job whose time has come', async () => {
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${job.id}`;
    await eventually(async () => (await now(job)) === null);
    await eventually(() => shop.storage.objects.size === 0);
    expect(await credits()).toBe(0);
  });
});

describe('a sandbox job', () => {
  for (const [file, status] of [
    ['film.mp4', 'done'],
    ['processing_failed.mp4', 'error'],
  ] as const) {
    it(`of ${file} ends ${status}, fetching nothing and costing nothing`, async () => {
      const job = await create({ mode: 'test', videoUrl: `https://example.com/${file}`, resolution: '4k' });
      await shop.worker().start();
      await ended(job, status);
      const over = (await now(job))!;
      expect(shop.net.downloads).toBe(0);
      expect(shop.media.enhancements).toEqual([]);
      expect(await credits()).toBe(30);
      expect(over).toMatchObject(
        status === 'done'
          ? { output: { width: 3840, height: 2160, size_bytes: 8 }, error: null }
          : { output: null, error: { code: 'processing_failed' } },
      );
    });
  }

  it('17.14: shares one stored sample with all others of its size, which the deletion of one leaves alone', async () => {
    const jobs = await Promise.all(
      Array.from({ length: 20 }, (_, n) => create({ mode: 'test', tier: 'secure', resolution: n % 2 ? '4k' : '1080p' })),
    );
    await shop.worker().start();
    await Promise.all(jobs.map((job) => ended(job, 'done')));
    const keys = [...shop.storage.objects.keys()];
    expect(keys.map((key) => /^samples\/test-mode-(1080p|4k)-[0-9a-f]{16}\.mp4$/.exec(key)?.[1]).toSorted()).toEqual(['1080p', '4k']);
    const [deleted, kept] = [jobs[0]!, jobs[2]!];
    await world.store.jobs.delete(account.id, 'test', deleted.id);
    const certificate = async () => world.store.certificates.get(account.id, 'test', deleted.id);
    await eventually(async () => (await certificate())?.state === 'issued');
    const { jws } = (await certificate()) as { jws: string };
    const payload = JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as { objects: unknown[] };
    expect(payload.objects).toEqual([]);
    const key = (await world.store.jobs.resultFiles(kept.id))?.outputKey;
    expect(await shop.storage.stat(key!)).toEqual({ size: 8 });
    expect(shop.storage.objects.size).toBe(2);
    for (const job of jobs) await world.store.jobs.delete(account.id, 'test', job.id);
  });

  it('17.14: waits until there is enough disk space for the sample', async () => {
    let freeBytes = 0;
    const readDiskUsage = async () => ({ device: 1, freeBytes, sizeBytes: 1e12 });
    const job = await create({ mode: 'test' });
    const tuning = { insufficientDisk: { retryDelayS: 0.2, patienceS: 60, maxWaitS: 3600 } };
    await shop.worker({ deps: { readDiskUsage }, tuning, config: { testModeDelayMs: 10 } }).start();
    await eventually(async () => (await world.sql`SELECT attempt FROM jobs WHERE id = ${job.id}`)[0]!['attempt'] > 2);
    expect(shop.storage.objects.size).toBe(0);
    freeBytes = 1e12;
    await ended(job, 'done');
    expect(shop.storage.objects.size).toBe(1);
  });

  it('takes its delay, does not wait behind media jobs, and slow.* shows progress', async () => {
    shop.media.onEnhance = ({ signal }) => hang(signal);
    const blocker = await create();
    const slow = await create({ mode: 'test', videoUrl: 'https://example.com/slow.mp4' });
    const plain = await create({ mode: 'test' });
    await shop.worker({ config: { workerConcurrency: 1, testModeDelayMs: 700 } }).start();
    const start = performance.now();
    await ended(plain, 'done');
    expect(performance.now() - start).toBeGreaterThan(600);
    await eventually(async () => ((await now(slow))?.progress ?? 0) > 0.02);
    expect((await now(slow))!).toMatchObject({ status: 'running', etaSeconds: expect.any(Number) });
    expect((await now(blocker))?.status).toBe('running');
    for (const job of [slow, blocker]) await world.store.jobs.delete(account.id, job.mode, job.id);
  });
});

describe('a worker that is stopping', () => {
  const running = async (config: object, finish: Promise<unknown>) => {
    const job = await create();
    shop.media.onEnhance = ({ signal }) => Promise.race([finish.then(() => enhanceResult), hang(signal)]);
    const worker = shop.worker({ config });
    await worker.start();
    await eventually(() => shop.media.running === 1);
    return { job, worker };
  };

  it('finishes its running job and takes no other', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { job, worker } = await running({ drainSeconds: 60, workerConcurrency: 1 }, promise);
    const stopped = worker.stop();
    await world.store.accounts.grant(account.id, 30);
    const other = await create();
    const testJob = await create({ mode: 'test' });
    await ended(testJob, 'done');
    expect((await now(job))?.status).toBe('running');
    resolve();
    await stopped;
    expect((await now(job))?.status).toBe('done');
    expect((await now(other))?.status).toBe('queued');
    expect(shop.errors).toEqual([]);
    await world.store.jobs.delete(account.id, 'live', other.id);
  });

  it.each([
    ['after the grace period', { drainSeconds: 1 }, (_: { forceStop(): void }) => {}],
    ['when forceStop is called', { drainSeconds: 60 }, (worker: { forceStop(): void }) => worker.forceStop()],
  ])('gives it back %s', async (_when, config, then) => {
    const { job, worker } = await running(config, new Promise(() => {}));
    const stopped = worker.stop();
    then(worker);
    await stopped;
    expect(shop.media.running).toBe(0);
    const [row] = await world.sql`SELECT locked_by FROM graphile_worker._private_jobs WHERE key = ${`step:${job.id}`}`;
    expect(row).toEqual({ locked_by: null });
    expect((await now(job))?.status).not.toBe('error');
    await world.store.jobs.delete(account.id, 'live', job.id);
  });
});

describe('warm media children', () => {
  it('live in the worker’s own scratch folder while it runs; the configuration sets their number', async () => {
    const worker = shop.worker({ config: { warmChildren: 2, device: 'cuda:all', threads: 3 } });
    await worker.start();
    expect(shop.media.openWarmPools).toBe(1);
    expect(shop.media.warmPools.at(-1)).toMatchObject({
      count: 2,
      folder: join(shop.dataDir, 'scratch', worker.id, 'warm-pool'),
      options: { device: 'cuda:all', threads: 3, encoder: { crf: 18 } },
    });
    await worker.stop();
    expect(shop.media.openWarmPools).toBe(0);
    const sets = shop.media.warmPools.length;
    await shop.worker({ config: { warmChildren: 0 } }).start();
    expect(shop.media.warmPools).toHaveLength(sets);
  });
});

describe('scratch folders', () => {
  it('belong to one attempt and are private', async () => {
    let mode = 0;
    shop.media.onProbe = async ({ source }) => {
      if ('path' in source) await access(source.path);
      const [worker] = await scratchFiles();
      const [folder] = await readdir(join(shop.dataDir, 'scratch', worker!));
      const { statSync } = await import('node:fs');
      mode = statSync(join(shop.dataDir, 'scratch', worker!, folder!)).mode & 0o777;
      return probeResult;
    };
    const job = await create();
    await shop.worker().start();
    await ended(job, 'done');
    expect(mode).toBe(0o700);
  });
});

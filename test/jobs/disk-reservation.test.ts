/** Jobs whose worker is short of disk space. */
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobRecord, OutputSettings, PreviewSetting, SourceFacts } from '../../src/domain/job.ts';
import { expectedResultBytes } from '../../src/domain/output-size.ts';
import { bytesOf, isCut } from '../../src/jobs/disk-needs.ts';
import { type DiskContext, type DiskNeed, DiskReservations, withDiskReservation, withDownloadReservation } from '../../src/jobs/disk-reservation.ts';
import { headroomBytes } from '../../src/jobs/insufficient-disk-space.ts';
import { type DiskUsageReader, readDiskUsage } from '../../src/storage/disk.ts';
import type { Account } from '../../src/store/types.ts';
import { cutIntoSegments } from '../helpers/segment-fakes.ts';
import { createWorkshop, enhanceResult, pause, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

describe('disk space', () => {
  it('is what df says, also of a folder that is still to be made', async () => {
    for (const folder of [tmpdir(), join(tmpdir(), 'not', 'made', 'yet')]) {
      const { freeBytes, sizeBytes } = await readDiskUsage(folder);
      const df = execFileSync('df', ['-B1', '--output=avail,size', tmpdir()], { encoding: 'utf8' });
      const [avail, size] = df.split('\n')[1]!.trim().split(/\s+/).map(Number);
      expect(sizeBytes).toBe(size);
      // Others write there meanwhile.
      expect(Math.abs(freeBytes - avail!)).toBeLessThan(5e9);
      expect(freeBytes).toBeGreaterThan(0);
    }
  });

  it('that a result takes grows with its pixels, its frames and its quality', () => {
    const source = { frame_rate: 25, duration: 10 } as SourceFacts;
    const job = { resolution: '1080p', durationSeconds: 10, source, outputSettings: {} } as const;
    const bytes = expectedResultBytes(job, 16);
    // The encoder's table has 21 Mbit/s on the average: 26 MB in ten seconds.
    expect(bytes).toBeGreaterThan(20e6);
    expect(bytes).toBeLessThan(35e6);
    expect(expectedResultBytes({ ...job, resolution: '4k' }, 16) / bytes).toBeCloseTo(4, 5);
    expect(expectedResultBytes(job, 22) / bytes).toBeCloseTo(0.5, 5);
    expect(expectedResultBytes({ ...job, source: { ...source, duration: 20 } }, 16) / bytes).toBeCloseTo(2, 5);
    const chosen = (outputSettings: OutputSettings) => expectedResultBytes({ ...job, outputSettings }, 16) / bytes;
    expect(chosen({ quality: 22 })).toBeCloseTo(0.5, 5);
    expect(chosen({ quality: 'standard' })).toBe(1);
    expect(chosen({ quality: 'high' })).toBeCloseTo(2 ** (4 / 6), 5);
    // 10.5 s of 8 Mbit/s; half a second of it is the encoder's buffer.
    expect(chosen({ quality: 'high', max_bitrate: 8_000_000 }) * bytes).toBeCloseTo(10.5e6, 0);
    for (const unknown of [null, { ...source, frame_rate: 0 }]) {
      expect(expectedResultBytes({ ...job, source: unknown }, 16) / bytes).toBeCloseTo(30 / 25, 5);
    }
  });

  it('that a preview takes is that of its clips and samples, however long the video is, and whatever length is cut', () => {
    const settings: PreviewSetting[] = [{ resolution: '1080p' }, { resolution: '4k', output: { quality: 22 } }];
    const whole = { crf: 16, inSegments: false };
    const needs = (duration: number) => {
      const source = { ...sampleSource, width: 960, height: 540, frame_rate: 25, duration };
      const job = { id: '', resolution: '4k', durationSeconds: 12, source, outputSettings: {}, preview: { settings } } as const;
      expect(isCut({ segmentsFromSeconds: 10 }, job)).toBe(false);
      return { ...bytesOf(job, whole), job: bytesOf({ ...job, preview: null }, whole).results };
    };
    const [short, long] = [needs(16), needs(21_600)] as const;
    expect(long.results).toBe(short.results);
    expect(long.results).toBeLessThan(long.job / 100);
    // Six seconds of full HD, six of four times as many pixels at half the bits, and fourteen of a quarter at CRF 12.
    const second = (25 * 1920 * 1080 * 0.4) / 8;
    expect(long.results / second).toBeCloseTo(6 + (6 * 4) / 2 + (14 / 4) * 2 ** (4 / 6), 3);
    expect(long.source).toBe(sampleSource.size_bytes);
  });

  const parts = { config: { dataDir: '/data', encoder: { crf: 16 } }, store: { leases: { pendingEnhancements: async () => [] } } };
  const worker = (kind: 'filesystem' | 's3', disk: DiskUsageReader): DiskContext =>
    ({ ...parts, storage: { kind }, readDiskUsage: disk, reservations: new DiskReservations() });
  const needs: DiskNeed[] = [
    { folder: 'scratch', bytes: 60e6 },
    { folder: 'storage', bytes: 60e6 },
  ];
  const size = { sizeBytes: 1e12 };
  const cases: { name: string; kind: 'filesystem' | 's3'; free: number; apart: boolean; fits: boolean }[] = [
    { name: 'both needs, where the folders share a disk', kind: 'filesystem', free: 120e6, apart: false, fits: true },
    { name: 'both needs and not a byte less', kind: 'filesystem', free: 120e6 - 1, apart: false, fits: false },
    { name: 'one need on each of two disks', kind: 'filesystem', free: 60e6, apart: true, fits: true },
    { name: 'the scratch files alone, where the storage is S3', kind: 's3', free: 60e6, apart: false, fits: true },
    { name: 'the scratch files, also with S3', kind: 's3', free: 60e6 - 1, apart: false, fits: false },
  ];
  it.each(cases)('must hold $name', async ({ kind, free, apart, fits }) => {
    const disk: DiskUsageReader = async (folder) => ({ device: apart && folder.endsWith('storage') ? 2 : 1, freeBytes: free + headroomBytes, ...size });
    const outcome = await withDiskReservation(worker(kind, disk), { jobId: null, needs }, async () => true).catch((error: Error) => error.name);
    expect(outcome).toBe(fits ? true : 'InsufficientDiskSpace');
  });

  it('is not counted on twice by steps beside each other, and is given back whatever becomes of them', async () => {
    const crowded = worker('filesystem', async () => ({ device: 1, freeBytes: 200e6 + headroomBytes, ...size }));
    const { promise: first, reject: fail } = Promise.withResolvers<void>();
    const steps = [0, 1].map(() => withDiskReservation(crowded, { jobId: null, needs }, () => first));
    await expect(steps[1]).rejects.toThrow('The scratch folder has 300 MB free, and about 340 MB are needed, 120 of them for other jobs');
    await expect(withDiskReservation(crowded, { jobId: null, needs: needs.slice(0, 1) }, async () => 'small')).resolves.toBe('small');
    fail(new Error('broken'));
    await expect(steps[0]).rejects.toThrow('broken');
    await expect(withDiskReservation(crowded, { jobId: null, needs }, async () => 'next')).resolves.toBe('next');
  });
});

describe('a download', () => {
  const source = { frame_rate: 25, duration: 10 } as SourceFacts;
  const job = (id: string) => ({ id, resolution: '1080p', durationSeconds: 10, source, outputSettings: {}, preview: null }) as const;
  const resultBytes = expectedResultBytes(job(''), 16);
  const enhancement = { jobId: 'running', needs: [{ folder: 'scratch', bytes: resultBytes }, { folder: 'storage', bytes: resultBytes }] } as const;

  /** Free bytes beside the headroom that let the download of another job in. */
  async function isLetIn(freeBytes: number, reserved: boolean): Promise<boolean> {
    const context: DiskContext = {
      config: { dataDir: '/data', encoder: { crf: 16 } },
      storage: { kind: 'filesystem' },
      store: { leases: { pendingEnhancements: async () => [job('running')] } },
      readDiskUsage: async () => ({ device: 1, freeBytes: freeBytes + headroomBytes, sizeBytes: 1e12 }),
      reservations: new DiskReservations(),
    };
    const download = () => withDownloadReservation(context, job('other'), async () => true).catch(() => false);
    return reserved ? withDiskReservation(context, enhancement, download) : download();
  }

  it('counts an enhancement once: by its reservation while it runs, and by its expected size before', async () => {
    expect(await isLetIn(4 * resultBytes, true)).toBe(true);
    expect(await isLetIn(4 * resultBytes - 1, true)).toBe(false);
    // An enhancement that has not begun needs its scratch files after those of the download.
    expect(await isLetIn(3 * resultBytes, false)).toBe(true);
    expect(await isLetIn(3 * resultBytes - 1, false)).toBe(false);
  });
});

describe('a job whose worker has too little disk space', () => {
  let world: World;
  let shop: Workshop;
  let account: Account;
  let lines: { level: number; msg: string; step?: string; neededBytes?: number }[];
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    shop = await createWorkshop(world);
    account = await fundedAccount(world.store, 30);
    lines = [];
  });
  afterEach(async () => {
    await shop.close();
    expect(await world.store.ledgerCheck()).toEqual([]);
  });

  const create = async () => (await world.store.jobs.create(jobInput(account))).job;
  const now = (job: JobRecord) => world.store.jobs.get(account.id, 'live', job.id);
  const ended = (job: JobRecord, status: 'done' | 'error') => eventually(async () => (await now(job))?.status === status);
  const failures = async (job: JobRecord) => (await world.sql`SELECT failures FROM jobs WHERE id = ${job.id}`)[0]!['failures'] as number;
  const warnings = () => lines.filter(({ level }) => level === 40);
  const longestDiskWait = async () => (await world.store.operations.overview()).jobs.longestDiskWaitSeconds;
  const diskWith = (freeBytes: number) => ({ device: 1, freeBytes, sizeBytes: 1e12 });

  function start(disk: DiskUsageReader, { patienceS = 60, maxWaitS = 3600 } = {}) {
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
    return shop.worker({ deps: { readDiskUsage: disk, logger }, tuning: { insufficientDisk: { retryDelayS: 0.05, patienceS, maxWaitS } } }).start();
  }

  it.each(['ingest', 'enhance'] as const)('waits before its step %s, and is done when there is space', async (step) => {
    let free = step === 'ingest' ? 0 : undefined;
    let polls = 0;
    const disk: DiskUsageReader = async () => {
      if (shop.storage.objects.size > 0 && step === 'enhance') free ??= 110e6;
      polls += 1;
      return diskWith(free ?? 1e12);
    };
    const job = await create();
    await start(disk);
    // More often than a failure would be forgiven.
    await eventually(() => warnings().length > 6);
    expect(await now(job)).toMatchObject({ status: 'running', error: null });
    expect(await failures(job)).toBe(0);
    expect(shop.net.downloads).toBe(step === 'ingest' ? 0 : 1);
    expect(shop.media.enhancements).toEqual([]);
    for (const line of warnings()) {
      expect(line.msg).toMatch(/^The scratch folder has [0-9]+ MB free, and about [0-9]+ MB are needed: the step will be retried by any worker$/);
      expect(line).toMatchObject({ step, job: job.id, delayS: 0.05, neededBytes: expect.any(Number) as number });
    }
    await world.sql`UPDATE jobs SET disk_wait_since = now() - interval '20 minutes' WHERE id = ${job.id}`;
    // Between two looks at the disk.
    await eventually(async () => Number(await longestDiskWait()) >= 1200, 'the wait is reported');
    free = 1e12;
    await ended(job, 'done');
    expect(polls).toBeGreaterThan(6);
    expect(await longestDiskWait()).toBeNull();
    expect((await world.store.accounts.get(account.id))!.credits).toBe(0);
  });

  it('is done by another worker that has it', async () => {
    const job = await create();
    await start(async () => diskWith(0));
    await eventually(() => warnings().length > 6);
    await start(async () => diskWith(1e12));
    await ended(job, 'done');
    expect(await failures(job)).toBe(0);
  });

  /** The clock of this process goes half an hour ahead of the database's. */
  function setClockAhead(): void {
    const { now: realNow } = Date;
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 31 * 60_000);
  }
  afterEach(() => void vi.restoreAllMocks());

  it('is not given up because the clock of the worker is ahead', async () => {
    setClockAhead();
    const job = await create();
    let free = 0;
    await start(async () => diskWith(free), { patienceS: 30 * 60 });
    await eventually(() => warnings().length > 3);
    expect(await failures(job)).toBe(0);
    free = 1e12;
    await ended(job, 'done');
  });

  describe('in segments', () => {
    const segmented = { segmentsFromSeconds: 5 };
    let planned = 0;
    beforeEach(() => {
      planned = 0;
      cutIntoSegments(shop.media, { count: 2, pieceS: 4.8 });
      const { onPlanSegments } = shop.media;
      shop.media.onPlanSegments = (request) => {
        planned += 1;
        return onPlanSegments(request);
      };
    });
    const startSegmented = (disk: DiskUsageReader, insufficientDisk: { patienceS: number; maxWaitS: number }) => {
      const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
      return shop.worker({ config: segmented, deps: { readDiskUsage: disk, logger }, tuning: { insufficientDisk: { retryDelayS: 0.05, ...insufficientDisk } } }).start();
    };

    it('is not planned where its pieces and its result would not fit beside each other', async () => {
      const job = await create();
      const result = expectedResultBytes(job, 18);
      let free = 0;
      const disk: DiskUsageReader = async (folder) => ({ ...diskWith(free), device: folder.endsWith('storage') ? 2 : 1 });
      free = headroomBytes + job.source!.size_bytes + 2 * result - 1;
      await startSegmented(disk, { patienceS: 60, maxWaitS: 3600 });
      await eventually(() => warnings().length > 3);
      expect([planned, shop.media.enhancements.length]).toEqual([0, 0]);
      free += 1;
      await ended(job, 'done');
      expect(planned).toBe(1);
    });

    it('is not given up because the clock of the worker is ahead', async () => {
      setClockAhead();
      const job = await create();
      let isFull = true;
      await startSegmented(async () => diskWith(planned > 0 && isFull ? 0 : 1e12), { patienceS: 30 * 60, maxWaitS: 3600 });
      await eventually(() => warnings().filter((line) => 'segment' in line).length > 6);
      const ofSegments = await world.sql`SELECT failures FROM segments WHERE job_id = ${job.id}`;
      expect(ofSegments.map((row) => row['failures'] as number)).toEqual([0, 0]);
      await world.sql`UPDATE segments SET disk_wait_since = now() - interval '20 minutes' WHERE job_id = ${job.id}`;
      await eventually(async () => Number(await longestDiskWait()) >= 1200, 'the wait is reported');
      isFull = false;
      await ended(job, 'done');
    });

    it('waits for its join, although the disk of one worker is full for long: others may have the space', async () => {
      const job = await create();
      const isMade = () => [...shop.storage.objects.keys()].filter((key) => key.includes('/segments/')).length === 2;
      await startSegmented(async () => diskWith(isMade() ? 0 : 1e12), { patienceS: 0.01, maxWaitS: 3600 });
      await eventually(() => warnings().filter(({ step }) => step === 'join').length > 6);
      expect(await now(job)).toMatchObject({ status: 'running', error: null });
      expect(await failures(job)).toBe(0);
      await startSegmented(async () => diskWith(1e12), { patienceS: 0.01, maxWaitS: 3600 });
      await ended(job, 'done');
      expect(shop.media.enhancements.length).toBe(2);
    });
  });

  it('fails with a refund when no space comes free for long', async () => {
    const job = await create();
    await start(async () => diskWith(0), { patienceS: 0 });
    await ended(job, 'error');
    expect((await now(job))!.error).toEqual({ code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' });
    expect(shop.net.downloads).toBe(0);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(30);
  });

  /** A disk that holds what its jobs have stored, and what they are writing; the customer deletes what is done. */
  function fillingDisk(sizeBytes: number, sourceBytes: number) {
    const scratch = { downloads: 0 };
    const used = () => {
      const stored = [...shop.storage.objects.keys()].map((key) => (key.endsWith('original') ? sourceBytes : 25e6));
      return stored.reduce((sum, bytes) => sum + bytes, 0) + (scratch.downloads + shop.media.running) * sourceBytes;
    };
    let least = sizeBytes;
    const reader: DiskUsageReader = async () => {
      least = Math.min(least, sizeBytes - used());
      return { device: 1, freeBytes: sizeBytes - used(), sizeBytes };
    };
    shop.net.onDownload = async () => {
      scratch.downloads += 1;
      await pause(20);
      least = Math.min(least, sizeBytes - used());
      scratch.downloads -= 1;
    };
    return { reader, least: () => least };
  }

  it('is done in its turn: of 40 uploads of 2 GB a disk of 12 GB never holds more than can be enhanced', async () => {
    const sourceBytes = 2e9;
    await world.store.accounts.grant(account.id, 39 * 30);
    const jobs: JobRecord[] = [];
    const source = { ...sampleSource, size_bytes: sourceBytes };
    for (let i = 0; i < 40; i++) jobs.push((await world.store.jobs.create(jobInput(account, { source }))).job);
    const disk = fillingDisk(12e9, sourceBytes);
    shop.media.onProbe = async () => ({ ...probeResult, sizeBytes: sourceBytes });
    const enhance = shop.media.onEnhance;
    shop.media.onEnhance = async (request) => {
      await pause(50);
      return enhance(request);
    };
    // Less patience than the line is long.
    await start(disk.reader, { patienceS: 1 });
    const ends: Record<string, number> = { done: 0, error: 0 };
    const open = new Set(jobs);
    await eventually(async () => {
      for (const job of open) {
        const state = (await now(job))!.status;
        if (state !== 'done' && state !== 'error') continue;
        ends[state]! += 1;
        open.delete(job);
        await world.store.jobs.delete(account.id, 'live', job.id);
      }
      return open.size === 0;
    });
    expect(ends).toEqual({ done: 40, error: 0 });
    expect(disk.least()).toBeGreaterThan(0);
  });

  it('is let in beside an enhancement under way, which is counted once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.media.onEnhance = async () => {
      await promise;
      return enhanceResult;
    };
    // 100 MB stay free; each job needs 40 MB, and the result of the first would be another 20 MB if it were counted twice.
    await start(async () => diskWith(190e6));
    const first = await create();
    await eventually(() => shop.media.running === 1);
    await world.store.accounts.grant(account.id, 30);
    const second = await create();
    await eventually(() => shop.net.downloads === 2);
    resolve();
    await Promise.all([ended(first, 'done'), ended(second, 'done')]);
  });

  it('fails with a refund when the whole disk is too small for it, although others are under way', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.media.onEnhance = async () => {
      await promise;
      return enhanceResult;
    };
    await start(async () => ({ ...diskWith(300e6), sizeBytes: 300e6 }), { patienceS: 0.5 });
    const small = await create();
    await eventually(() => shop.media.running === 1);
    await world.store.accounts.grant(account.id, 30);
    const huge = (await world.store.jobs.create(jobInput(account, { source: { ...sampleSource, size_bytes: 2e9 } }))).job;
    await eventually(async () => (await now(huge))?.status === 'error');
    expect((await world.store.accounts.get(account.id))!.credits).toBe(30);
    resolve();
    await ended(small, 'done');
  });

  it('fails with a refund when it has waited behind others for too long', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.media.onEnhance = async () => {
      await promise;
      return enhanceResult;
    };
    await start(async () => diskWith(150e6), { patienceS: 60, maxWaitS: 1 });
    const first = await create();
    await eventually(() => shop.media.running === 1);
    await world.store.accounts.grant(account.id, 30);
    const second = await create();
    await eventually(async () => (await now(second))?.status === 'error');
    expect(shop.net.downloads).toBe(1);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(30);
    resolve();
    await ended(first, 'done');
  });

  it('counts its patience from the first refusal, and from the last time that it waited for others', async () => {
    const job = await create();
    const since = async () => (await world.sql`SELECT insufficient_disk_since FROM jobs WHERE id = ${job.id}`)[0]!['insufficient_disk_since'] as Date | null;
    let free = 1e12;
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.media.onProbe = async () => {
      await promise;
      return probeResult;
    };
    await start(async () => diskWith(free));
    await eventually(() => shop.net.downloads === 1);
    // Taken up an hour ago, and never short of space so far.
    await world.sql`UPDATE jobs SET started_at = now() - interval '1 hour' WHERE id = ${job.id}`;
    expect(await since()).toBeNull();
    free = 0;
    resolve();
    await eventually(async () => (await since()) !== null);
    expect(await failures(job)).toBe(0);
    const first = (await since())!.getTime();
    await eventually(() => warnings().length > 3);
    expect((await since())!.getTime()).toBe(first);
    free = 1e12;
    await ended(job, 'done');
  });
});

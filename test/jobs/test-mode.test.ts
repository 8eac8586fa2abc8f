/** Jobs in test mode: one shared sample of each size, after a short delay. */
import { describe, expect, it } from 'vitest';
import type { JobErrorCode } from '../../src/domain/errors.ts';
import type { Account } from '../../src/store/types.ts';
import { hang, type Workshop } from '../helpers/worker-fakes.ts';
import { jobsOf, leavesNothing, setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import type { World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 30,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: leavesNothing,
});

const { create, now, ended, credits } = jobsOf(() => ({ world, shop, account }));

describe('a test job', () => {
  for (const [file, status, code] of [
    ['film.mp4', 'done'],
    ['processing_failed.mp4', 'error', 'processing_failed'],
    ['processing_timeout.mp4', 'error', 'processing_timeout'],
    ['source_changed.mov', 'error', 'source_changed'],
    ['failed_unreadable_video.mp4', 'error', 'unreadable_video'],
    ['failed_video_too_long.mp4', 'error', 'video_too_long'],
    ['failed_video_too_large.mp4', 'error', 'video_too_large'],
    ['failed_video_unreachable.mp4', 'error', 'video_unreachable'],
    ['failed_url_not_allowed.mp4', 'error', 'url_not_allowed'],
  ] as const satisfies [string, string, JobErrorCode?][]) {
    it(`of ${file} ends ${status}, fetching nothing and costing nothing`, async () => {
      const job = await create({ mode: 'test', videoUrl: `https://example.com/${file}`, resolution: '4k' });
      await shop.worker().start();
      await ended(job, status);
      const [row] = await world.sql<{ attempt: number }[]>`SELECT attempt FROM jobs WHERE id = ${job.id}`;
      expect(row!.attempt).toBeLessThanOrEqual(2);
      const over = (await now(job))!;
      expect(shop.net.downloads).toBe(0);
      expect(shop.media.enhancements).toEqual([]);
      expect(await credits()).toBe(30);
      expect(over).toMatchObject(
        status === 'done'
          ? { output: { width: 3840, height: 2160, size_bytes: 8 }, error: null }
          : { output: null, error: { code } },
      );
    });
  }

  it('shares one stored sample with all others of its size, which the deletion of one leaves alone', async () => {
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

  it('waits until there is enough disk space for the sample', async () => {
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

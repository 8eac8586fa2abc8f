/** A long video in segments: shared by workers, resumed after a crash, joined once. Media is stood in for. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { expectedResultBytes } from '../../src/domain/output-size.ts';
import { crashed, failureFromChild } from '../../src/media/failures.ts';
import type { EnhanceResult, Media } from '../../src/media/types.ts';
import { type Fence, LeaseLost } from '../../src/store/index.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { asWorker, cutIntoSegments, indexOf, measuredPieceOf, pieceOf, planFor, queueSegments, spansOf } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorkshop, enhanceResult, hang, type Workshop } from '../helpers/worker-fakes.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

const count = 4;
const cut = { count, pieceS: 2.4 };
const spans = spansOf(cut);
const piece = pieceOf(cut);
const plan = planFor('cpu');
const mismatch = failureFromChild({ code: 'segment_mismatch', message: 'The segment has 59 frames where 60 were planned.' });

let world: World;
let shop: Workshop;
let account: Account;
let plans = 0;
let joins = 0;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 60);
  plans = joins = 0;
  const { media } = shop;
  cutIntoSegments(media, cut);
  const { onPlanSegments, onJoin } = media;
  media.onPlanSegments = (request) => {
    plans++;
    return onPlanSegments(request);
  };
  media.onJoin = (request) => {
    joins++;
    expect(request.plan).toBe(plan);
    return onJoin(request);
  };
});
afterEach(async () => {
  await shop.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
  expect(await readdir(join(shop.dataDir, 'scratch')).catch(() => [])).toEqual([]);
});

const segmented = { config: { segmentsFromSeconds: 5 } };
const create = async (change: Partial<CreateJob> = {}) => (await world.store.jobs.create(jobInput(account, change))).job;
const now = (job: JobRecord) => world.store.jobs.get(account.id, job.mode, job.id);
const ended = (job: JobRecord, status: 'done' | 'error') => eventually(async () => (await now(job))?.status === status);
const rows = (job: JobRecord) => world.sql<{ number: number; state: string; attempt: number }[]>`
  SELECT number, state, attempt FROM segments WHERE job_id = ${job.id} ORDER BY number`;
const doneRows = async (job: JobRecord) => (await rows(job)).filter(({ state }) => state === 'done').map(({ number }) => number);
const outputOf = async (job: JobRecord) => shop.storage.objects.get((await world.store.jobs.resultFiles(job.id))!.outputKey)?.toString();
const all = 'piece 0, piece 1, piece 2, piece 3';
const timesMade = (index: number | undefined) => shop.media.enhancements.filter((request) => indexOf(request) === index).length;
const credits = async () => (await world.store.accounts.get(account.id))!.credits;

describe('a video in segments', () => {
  it('is made by several workers, joined in order, charged once, and leaves no piece behind', async () => {
    const job = await create();
    await Promise.all([shop.worker(segmented).start(), shop.worker(segmented).start()]);
    await ended(job, 'done');
    expect(await outputOf(job)).toBe(all);
    expect(await now(job)).toMatchObject({ progress: 1, etaSeconds: null, creditsRefunded: 0, output: { width: 1920, height: 1080 }, applied: { sharpen: 0.3, device: 'cpu' } });
    expect([plans, joins, ...spans.map((_, index) => timesMade(index))]).toEqual([1, 1, 1, 1, 1, 1]);
    expect(shop.media.enhancements.every(({ options }) => options.piece?.plan === plan)).toBe(true);
    const kinds = (await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 50 })).map(({ kind }) => kind).toReversed();
    expect(kinds).toEqual(['job.created', 'job.started', 'job.completed']);
    expect(await credits()).toBe(60 - job.creditsCharged);
    await eventually(async () => shop.storage.objects.size === 2 && (await rows(job)).length === 0);
    expect(shop.errors).toEqual([]);
  });

  it('fetches the whole original to plan and to join, and for its segments only ranges', async () => {
    const whole: string[] = [];
    const { getFile } = shop.storage;
    shop.storage.getFile = (key, path) => {
      whole.push(key);
      return getFile.call(shop.storage, key, path);
    };
    const job = await create();
    await shop.worker(segmented).start();
    await ended(job, 'done');
    const isOriginal = (key: string) => !key.includes('/segments/');
    expect(whole.filter(isOriginal)).toHaveLength(2);
    const ranges = shop.storage.opened.filter(({ key }) => isOriginal(key));
    expect(ranges).toHaveLength(count);
    expect(ranges.every(({ range }) => range !== undefined)).toBe(true);
  });

  it('fails when its original is gone', async () => {
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) => {
      for (const key of shop.storage.objects.keys()) if (!key.includes('/segments/')) shop.storage.objects.delete(key);
      return onEnhance(request);
    };
    const job = await create();
    await shop.worker({ config: { ...segmented.config, workerConcurrency: 1 } }).start();
    await ended(job, 'error');
    expect((await now(job))?.error).toMatchObject({ code: 'processing_failed', message: 'The stored original is gone.' });
    expect(await credits()).toBe(60);
  });

  it('has the pictures of its joined file, which stay when its pieces go', async () => {
    const seen: string[] = [];
    shop.media.onTakePictures = async ({ videoPath }) => void seen.push(await readFile(videoPath, 'utf8'));
    const job = await create({ outputSettings: { poster: true, thumbnails: 1 } });
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect(seen).toEqual([all]);
    const { pictures } = (await world.store.jobs.resultFiles(job.id))!;
    expect(pictures.map(({ kind }) => kind)).toEqual(['poster', 'thumbnail']);
    await eventually(async () => shop.storage.objects.size === 4 && (await rows(job)).length === 0);
    for (const { key } of pictures) expect(shop.storage.objects.has(key)).toBe(true);
  });

  it.each([0, 9.6])('is none where segments begin at %s s', async (segmentsFromSeconds) => {
    const job = await create();
    await shop.worker({ config: { segmentsFromSeconds } }).start();
    await ended(job, 'done');
    expect([plans, await outputOf(job)]).toEqual([0, 'enhanced 1080p']);
  });

  it('is enhanced in one piece when the engine cannot cut it', async () => {
    const { onPlanSegments } = shop.media;
    shop.media.onPlanSegments = async (request) => ({ ...(await onPlanSegments(request)), segments: [spans[0]!], text: '', whyWhole: 'its timestamps start again' });
    const job = await create();
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect([plans, await outputOf(job)]).toEqual([1, 'enhanced 1080p']);
  });

  it('may be planned and joined for as long as its length and its bytes demand', async () => {
    const limits: number[] = [];
    const { onPlanSegments, onJoin } = shop.media;
    shop.media.onPlanSegments = (request) => (limits.push(request.timeoutMs), onPlanSegments(request));
    shop.media.onJoin = (request) => (limits.push(request.timeoutMs), onJoin(request));
    const job = await create();
    await shop.worker({ ...segmented, tuning: { copyTimeoutMs: { base: 1000, perSecond: 2000, perMegabyte: 1_000_000 } } }).start();
    await ended(job, 'done');
    const read = 1000 + 2000 * 9.6 + sampleSource.size_bytes;
    expect(limits[0]).toBe(Math.ceil(read));
    // The pieces, and the file that is written.
    expect(limits[1]).toBe(Math.ceil(read + 2 * expectedResultBytes(job, 18)));
  });

  it('shows the progress of all segments together', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    shop.media.onEnhance = async (request) => {
      if (indexOf(request)! < 2) return piece;
      request.onProgress?.({ fraction: 0.5, framesDone: 30, framesPerSecond: 9, etaS: 1 });
      await released;
      return piece;
    };
    const job = await create();
    await shop.worker(segmented).start();
    // Two of four segments and two halves, less the share of joining.
    await eventually(async () => Math.abs((await now(job))!.progress - 0.735) < 1e-9);
    expect((await now(job))!.etaSeconds).toBeGreaterThanOrEqual(0);
    release();
    await ended(job, 'done');
  });
});

describe('nothing is done twice', () => {
  it('when all workers stop and start again: only unfinished segments run', async () => {
    shop.media.onEnhance = async (request) => (indexOf(request)! < 2 ? piece : hang(request.signal));
    const job = await create();
    const first = shop.worker(segmented);
    await first.start();
    await eventually(async () => (await doneRows(job)).length === 2 && timesMade(2) + timesMade(3) === 2);
    await first.stop();
    shop.media.onEnhance = async () => piece;
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect([plans, joins, timesMade(0), timesMade(1), timesMade(2), timesMade(3)]).toEqual([1, 1, 1, 1, 2, 2]);
    expect(await outputOf(job)).toBe(all);
  });

  it('when a worker dies: its segment runs again, and its late result is refused', async () => {
    const job = await create();
    const { leases, segments } = world.store;
    const fence = await plannedBy(job, 'planner');
    const dead = (await segments.acquire(job.id, 1, asWorker('dead', 600)))!;
    expect(await segments.acquire(job.id, 1, asWorker('another', 5))).toBeNull();
    const key = await segments.registerPendingPiece(dead.fence);
    await world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE job_id = ${job.id} AND number = 1`;
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect(await outputOf(job)).toBe(all);
    const late = { stored: { key, size: 1, sha256: 'a'.repeat(64), version: null }, result: { applied: {} as never, device: 'cpu' }, atOnce: 64 };
    await expect(segments.finish(dead.fence, late)).rejects.toThrow(LeaseLost);
    expect(await segments.heartbeat(dead.fence, 5)).toBe(false);
    expect(await leases.heartbeat(fence, 5)).toBe(false);
    await eventually(async () => shop.storage.objects.size === 2);
  });

  it('when pieces vanish from the storage or are damaged there: these alone are made again', async () => {
    const job = await create();
    let spoilt = false;
    const { getFile } = shop.storage;
    shop.storage.getFile = async (key, path) => {
      if (!spoilt && key.includes('/segments/')) {
        spoilt = true;
        for (const each of shop.storage.objects.keys()) {
          if (/segments\/1-/.test(each)) shop.storage.objects.delete(each);
          if (/segments\/3-/.test(each)) shop.storage.objects.set(each, Buffer.from('damaged'));
        }
      }
      return getFile.call(shop.storage, key, path);
    };
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect(await outputOf(job)).toBe(all);
    expect([joins, timesMade(0), timesMade(1), timesMade(2), timesMade(3)]).toEqual([1, 1, 2, 1, 2]);
    await eventually(async () => shop.storage.objects.size === 2);
  });

  it('but a piece that the storage loses each time ends the job in error, with a refund', async () => {
    const job = await create();
    const { getFile } = shop.storage;
    shop.storage.getFile = async (key, path) => {
      for (const each of shop.storage.objects.keys()) if (/segments\/1-/.test(each)) shop.storage.objects.delete(each);
      return getFile.call(shop.storage, key, path);
    };
    await shop.worker(segmented).start();
    await ended(job, 'error');
    expect((await now(job))!.error).toMatchObject({ code: 'processing_failed', message: expect.stringContaining('a fault of the service') as string });
    expect([joins, timesMade(0), timesMade(1), timesMade(2), timesMade(3)]).toEqual([0, 1, 5, 1, 1]);
    expect(await credits()).toBe(60);
    await eventually(async () => shop.storage.objects.size === 0 && (await rows(job)).length === 0);
  });

  it('and the row of a segment whose worker died with a deleted job is forgotten', async () => {
    const job = await create();
    await plannedBy(job, 'planner');
    await world.store.segments.acquire(job.id, 1, asWorker('dead', 600));
    await world.store.jobs.delete(account.id, 'live', job.id);
    await shop.worker(segmented).start();
    await eventually(async () => shop.storage.objects.size === 0 && (await rows(job)).length === 1);
    await world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE job_id = ${job.id}`;
    await eventually(async () => (await rows(job)).length === 0);
  });

  it('and a queue row that is lost is written again', async () => {
    const job = await create();
    await plannedBy(job, 'planner');
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'segment:%'`;
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect(await outputOf(job)).toBe(all);
  });
});

/** Takes the job to its segments, as a worker of that name. */
const plannedBy = (job: JobRecord, owner: string): Promise<Fence> => queueSegments({ world, shop }, job, { ...cut, owner });

describe('a media child that something outside kills', () => {
  const killed = () => crashed({ code: 137, signal: null }, '');

  it('costs its segment one attempt, and nothing else', async () => {
    shop.media.onEnhance = async (request) => {
      if (indexOf(request) === 2 && timesMade(2) < 3) throw killed();
      return piece;
    };
    const job = await create();
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect([plans, joins, ...spans.map((_, index) => timesMade(index))]).toEqual([1, 1, 1, 1, 3, 1]);
    expect(await credits()).toBe(60 - job.creditsCharged);
  });

  it.each([['a segment', segmented], ['a video in one piece', {}]])('each time ends the job in error with a refund: %s', async (_, how) => {
    shop.media.onEnhance = async (request) => {
      if ((indexOf(request) ?? 1) === 1) throw killed();
      return piece;
    };
    const job = await create();
    await shop.worker(how).start();
    await ended(job, 'error');
    expect((await now(job))!.error).toMatchObject({ code: 'processing_failed', message: expect.stringContaining('a fault of the service') as string });
    expect(timesMade(1) + timesMade(undefined)).toBe(5);
    expect(await credits()).toBe(60);
  });
});

describe('segments that cannot be made as planned', () => {
  it('are given up: the video is enhanced in one piece', async () => {
    shop.media.onEnhance = async (request) => {
      if (indexOf(request) === 2) throw mismatch;
      return indexOf(request) === undefined ? enhanceResult : piece;
    };
    const job = await create();
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect([plans, await outputOf(job)]).toEqual([1, 'enhanced 1080p']);
    await eventually(async () => shop.storage.objects.size === 2 && (await rows(job)).length === 0);
    expect(await credits()).toBe(60 - job.creditsCharged);
  });

  it('nor joined are given up, too', async () => {
    shop.media.onJoin = () => Promise.reject(mismatch);
    const job = await create();
    await shop.worker(segmented).start();
    await ended(job, 'done');
    expect(await outputOf(job)).toBe('enhanced 1080p');
    await eventually(async () => shop.storage.objects.size === 2);
  });

  const frames = (decodedFrames: number) => async () => ({ ...measuredPieceOf(cut), decodedFrames });
  it.each<[string, EnhanceResult, Media['probe']]>([
    ['has too few frames', { ...piece, frames: 59 }, frames(60)],
    ['is too short', { ...piece, durationS: 2.3 }, frames(60)],
    ['has too few frames in its file', piece, frames(59)],
    ['cannot be decoded', piece, () => Promise.reject(failureFromChild({ code: 'unreadable_video', message: 'Frames of the video are damaged.' }))],
  ])('do not count: where a piece %s each time, the video is enhanced in one piece', async (_, result, probe) => {
    const { onProbe } = shop.media;
    let checked: number | undefined;
    shop.media.onEnhance = async (request) => {
      checked = indexOf(request);
      return checked === undefined ? enhanceResult : checked === 1 ? result : piece;
    };
    shop.media.onProbe = (request) => (checked === 1 ? probe(request) : onProbe(request));
    const job = await create();
    await shop.worker({ config: { ...segmented.config, workerConcurrency: 1 } }).start();
    await ended(job, 'done');
    expect(timesMade(1)).toBe(5);
    expect([joins, await outputOf(job)]).toEqual([0, 'enhanced 1080p']);
    expect(await credits()).toBe(60 - job.creditsCharged);
    await eventually(async () => shop.storage.objects.size === 2 && (await rows(job)).length === 0);
  });
});

it('a deletion stops all segments at once, and its certificate lists their pieces', async () => {
  shop.media.onEnhance = async (request) => (indexOf(request) === 0 ? piece : hang(request.signal));
  const job = await create({ tier: 'secure' });
  await shop.worker(segmented).start();
  await eventually(async () => (await doneRows(job)).length === 1 && shop.media.running === 2);
  await world.store.jobs.delete(account.id, 'live', job.id);
  await eventually(async () => shop.media.running === 0 && shop.storage.objects.size === 0);
  const found = () => world.sql<{ jws: string }[]>`SELECT jws FROM certificates WHERE job_id = ${job.id}`;
  await eventually(async () => (await found()).length === 1);
  const { jws } = (await found())[0]!;
  const payload = JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as { objects: { role: string }[] };
  expect(payload.objects.map(({ role }) => role).sort()).toEqual(['original', 'segment']);
  // A worker gives its segment back some time after its media child has ended.
  await eventually(async () => (await rows(job)).length === 0);
});

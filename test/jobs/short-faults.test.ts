/** Faults of a moment, of the database or the storage, at writes of a step: they cost neither what it has made nor a crash. */
import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import type { EnhanceRequest } from '../../src/media/types.ts';
import type { Store } from '../../src/store/index.ts';
import { indexOf } from '../helpers/segment-fakes.ts';
import { enhanceResult, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { fleetJobs, segmented, setUpFleet } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { create, ended, long, rich } = fleetJobs(() => ({ world, shop }));

const closed = () => Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' });
const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

type When = 'before it is done' | 'after it is done';
const moments: readonly When[] = ['before it is done', 'after it is done'];

/** The connection breaks at the first call, or at the first that `isMeant` describes. */
function breaking<Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>, when: When, isMeant: (...args: Args) => boolean = () => true) {
  let hasBroken = false;
  return async (...args: Args): Promise<Result> => {
    const breaks = !hasBroken && isMeant(...args);
    hasBroken ||= breaks;
    if (breaks && when === 'before it is done') throw closed();
    const result = await call(...args);
    if (breaks) throw closed();
    return result;
  };
}

/** The store with one such write of segments. */
const withSegments = (name: 'giveUp' | 'giveUpJoin' | 'moveToOtherClass', when: When): Store => {
  const { segments } = world.store;
  return { ...world.store, segments: { ...segments, [name]: breaking(segments[name] as (fence: never) => Promise<unknown>, when) } };
};

/** What media report of the whole video, or of a piece. */
const wholeOr = async (piece: Workshop['media']['onEnhance'], request: EnhanceRequest) =>
  indexOf(request) === undefined ? { ...enhanceResult, durationS: 80 } : piece(request);
const crashesOf = (job: JobRecord) => world.sql`SELECT j.crashes + coalesce((SELECT sum(crashes) FROM segments WHERE job_id = j.id), 0)::int AS crashes FROM jobs j WHERE id = ${job.id}`;
const timesMade = (index: number | undefined) => shop.media.enhancements.filter((each) => indexOf(each) === index).length;

describe.each(moments)('a connection to the database that breaks at a write, %s', (when) => {
  it('costs a segment that gives up the plan nothing', async () => {
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) =>
      indexOf(request) === 0 ? Promise.reject(failureFromChild({ code: 'segment_mismatch', message: 'Another plan.' })) : wholeOr(onEnhance, request);
    const job = await long(await rich());
    await shop.worker({ config: { ...segmented, workerConcurrency: 1 }, deps: { store: withSegments('giveUp', when) } }).start();
    await ended(job);
    expect([timesMade(0), timesMade(undefined)]).toEqual([1, 1]);
    expect(await crashesOf(job)).toEqual([{ crashes: 0 }]);
  });

  it('costs a segment that fails on its device class nothing', async () => {
    shop.media.hasGpu = true;
    const { onEnhance } = shop.media;
    shop.media.onEnhance = async (request) =>
      request.options.device === 'cpu' ? onEnhance(request) : Promise.reject(failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video.' }));
    const job = await long(await rich());
    const config = { ...segmented, device: 'auto', workerConcurrency: 1 };
    await shop.worker({ config, tuning: { retryDelaysS: [] }, deps: { store: withSegments('moveToOtherClass', when) } }).start();
    await ended(job);
    expect(timesMade(0)).toBe(2);
    expect(await crashesOf(job)).toEqual([{ crashes: 0 }]);
  });

  it('costs the join of pieces that do not fit together nothing', async () => {
    let joins = 0;
    shop.media.onJoin = async () => {
      joins++;
      throw failureFromChild({ code: 'segment_mismatch', message: 'Other pieces.' });
    };
    const { onEnhance } = shop.media;
    shop.media.onEnhance = (request) => wholeOr(onEnhance, request);
    const job = await long(await rich());
    await shop.worker({ config: segmented, deps: { store: withSegments('giveUpJoin', when) } }).start();
    await ended(job);
    expect([joins, timesMade(undefined)]).toEqual([1, 1]);
  });

  it('costs a video whose pictures are stored nothing', async () => {
    shop.media.onProbe = async () => probeResult;
    shop.media.onEnhance = async () => enhanceResult;
    const { objects } = world.store;
    const registerPendingObject = breaking(objects.registerPendingObject, when, (_, object) => typeof object === 'object');
    const job = await create(await rich(), { outputSettings: { poster: true, thumbnails: 2 } });
    await shop.worker({ deps: { store: { ...world.store, objects: { ...objects, registerPendingObject } } } }).start();
    await ended(job);
    expect(timesMade(undefined)).toBe(1);
  });

  it.each(['registerPendingObject', 'finishPreview'] as const)('costs a preview nothing: %s', async (name) => {
    const { leases, objects } = world.store;
    const store = {
      ...world.store,
      leases: { ...leases, ...(name === 'finishPreview' ? { finishPreview: breaking(leases.finishPreview, when) } : {}) },
      objects: { ...objects, ...(name === 'registerPendingObject' ? { registerPendingObject: breaking(objects.registerPendingObject, when, (_, object) => typeof object === 'object') } : {}) },
    };
    const job = await preview();
    await shop.worker({ deps: { store } }).start();
    await ended(job);
    expect(shop.media.enhancements.length).toBe(piecesOfPreview);
  });
});

/** Four samples of 9.6 s, and three stretches untouched and with the setting. */
const piecesOfPreview = 4 + 3 * 2;

async function preview(): Promise<JobRecord> {
  shop.media.onProbe = async () => probeResult;
  shop.media.onEnhance = async () => enhanceResult;
  shop.media.onPlan = async () => ({ source: probeResult, width: 1920, height: 1080, device: 'cpu', model: 'none', condition: '', stages: [] });
  return create(await rich(), { metadata: {}, preview: { settings: [{ resolution: '1080p' }] } });
}

describe('a storage that fails once', () => {
  /** The first file of that kind is refused. Returns how often one was tried. */
  function refuseOnce(isMeant: (key: string) => boolean): () => number {
    let puts = 0;
    shop.storage.beforePut = async (key) => {
      if (isMeant(key) && puts++ === 0) throw reset();
    };
    return () => puts;
  }

  it('has a video enhanced once whose pictures are stored', async () => {
    shop.media.onProbe = async () => probeResult;
    shop.media.onEnhance = async () => enhanceResult;
    refuseOnce((key) => key.endsWith('.jpg'));
    const job = await create(await rich(), { outputSettings: { poster: true } });
    await shop.worker().start();
    await ended(job);
    expect(timesMade(undefined)).toBe(1);
  });

  it('has each clip of a preview made once', async () => {
    refuseOnce((key) => key.endsWith('clip-6.mp4'));
    const job = await preview();
    await shop.worker().start();
    await ended(job);
    expect(shop.media.enhancements.length).toBe(piecesOfPreview);
  });
});

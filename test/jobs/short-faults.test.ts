/** Faults of the database or the storage at writes of a step: they cost no crash, and those of a moment nothing that it has made. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import type { EnhanceRequest } from '../../src/media/types.ts';
import type { Fence, RetryLater, Store } from '../../src/store/index.ts';
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
  /** The first file of that kind is refused. */
  function refuseOnce(isMeant: (key: string) => boolean): void {
    let puts = 0;
    shop.storage.beforePut = async (key) => {
      if (isMeant(key) && puts++ === 0) throw reset();
    };
  }

  it('has a video downloaded once', async () => {
    shop.media.onProbe = async () => probeResult;
    shop.media.onEnhance = async () => enhanceResult;
    refuseOnce((key) => key.includes('/original'));
    const job = await create(await rich());
    await shop.worker().start();
    await ended(job);
    expect(shop.net.downloads).toBe(1);
  });

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

describe('a database that is silent for longer than a lease while a step reports its failure', () => {
  const leaseSeconds = 3;
  /** jobs and segments whose worker counted as crashed */
  let crashed: string[];

  /** The database answers again when the first report has failed, after the lease. Then the workers wait for another lease before they sweep. */
  function silentStore(): Store {
    let isSilent = true;
    let sweepsFromMs = Number.POSITIVE_INFINITY;
    const silent = <F extends Fence>({ heartbeat, retryLater, sweepExpired }: LeaseWrites<F>): LeaseWrites<F> => ({
      heartbeat: async (...args) => (isSilent ? Promise.reject(closed()) : heartbeat(...args)),
      async retryLater(...args) {
        if (!isSilent) return retryLater(...args);
        await sleep(2000 * leaseSeconds);
        isSilent = false;
        sweepsFromMs = performance.now() + 1000 * leaseSeconds;
        throw closed();
      },
      async sweepExpired(maxCrashes) {
        const swept = performance.now() < sweepsFromMs ? { requeued: [], failed: [], errors: [] } : await sweepExpired(maxCrashes);
        crashed.push(...swept.requeued);
        return swept;
      },
    });
    const { leases, segments } = world.store;
    return { ...world.store, leases: { ...leases, ...silent(leases) }, segments: { ...segments, ...silent(segments) } };
  }

  it.each([
    ['a whole video', 10, undefined],
    ['a segment', 80, 0],
  ] as const)('counts no crash: %s', async (_, seconds, index) => {
    crashed = [];
    const { onEnhance } = shop.media;
    let failures = 0;
    shop.media.onEnhance = async (request) => {
      if (indexOf(request) === index && failures++ === 0) throw new Error('The media child died.');
      return index === undefined ? { ...enhanceResult, durationS: seconds } : onEnhance(request);
    };
    if (index === undefined) shop.media.onProbe = async () => ({ ...probeResult, durationS: seconds });
    const job = await long(await rich(), seconds);
    await shop.worker({ config: { ...segmented, workerConcurrency: 1, leaseSeconds }, tuning: { heartbeatsPerLease: 3 }, deps: { store: silentStore() } }).start();
    await ended(job);
    expect([timesMade(index), crashed]).toEqual([2, []]);
  });
});

interface LeaseWrites<F extends Fence> {
  heartbeat(fence: F, leaseSeconds: number): Promise<boolean>;
  retryLater(fence: F, how: RetryLater): Promise<void>;
  sweepExpired: Store['leases']['sweepExpired'];
}

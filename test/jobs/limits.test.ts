/** The operator's limits as a worker applies them. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { defaultVideoLimits } from '../../src/domain/limits.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { EnhanceRequest, ProbeRequest } from '../../src/media/types.ts';
import { createWorkshop, enhanceResult, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, sampleSource, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world, { scheduled: false });
});
afterEach(() => shop.close());

const limits = { durationS: 3600, bytes: 8_000_000_000, frameRate: 120, pixels: 4096 * 2160 };

async function run(durationS: number, config: object) {
  const account = await fundedAccount(world.store, 20_000);
  let probed: ProbeRequest | undefined;
  let enhanced: EnhanceRequest | undefined;
  shop.media.onProbe = async (request) => ((probed = request), { ...probeResult, durationS });
  shop.media.onEnhance = async (request) => ((enhanced = request), { ...enhanceResult, durationS });
  const source = { ...sampleSource, duration: durationS };
  const { job } = await world.store.jobs.create(jobInput(account, { durationSeconds: Math.ceil(durationS), source }));
  await shop.worker({ config }).start();
  const ended = await eventually(async () => {
    const now = await world.store.jobs.get(account.id, 'live', job.id);
    return now !== null && ['done', 'error'].includes(now.status) ? now : false;
  });
  return { ended, probed, enhanced };
}

it('an hour of video is measured and enhanced with limits and times of its length', async () => {
  const { ended, probed, enhanced } = await run(3600, { limits });
  expect(ended).toMatchObject({ status: 'done', creditsCharged: 10_800 });
  expect(probed).toMatchObject({ limits: { maxDurationS: 3600, maxFrameRate: 120, maxPixels: 4096 * 2160 }, timeoutMs: 6 * defaultTuning.probeTimeoutMs });
  const { base, perSecond } = defaultTuning.enhanceTimeoutMs;
  expect(enhanced).toMatchObject({ options: { limits: { maxDurationS: 3601, maxFrameRate: 120, maxPixels: 4096 * 2160 } }, timeoutMs: base + 3600 * perSecond });
});

it('a worker with lower limits refuses what the API accepted, with a refund', async () => {
  const { ended, enhanced } = await run(700, { limits: defaultVideoLimits });
  expect(ended).toMatchObject({ status: 'error', error: { code: 'video_too_long' } });
  expect(ended.creditsRefunded).toBe(ended.creditsCharged);
  expect(enhanced).toBeUndefined();
});

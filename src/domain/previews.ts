/** Rules of previews: how many stretches of a video, which ones, and what they cost. */
import type { PreviewSetting, Stretch, StretchReason, Tier } from './job.ts';
import { priceInCredits } from './pricing.ts';

export type { PreviewClip, PreviewFacts, PreviewSetting, Stretch, StretchReason } from './job.ts';

const stretchSeconds = 2;
const mostStretches = 3;
/** positions of the video that are sampled for the choice */
const mostCandidates = 8;

/** CRF of the stretches that are shown untouched: nearly lossless */
export const untouchedCrf = 12;

/** Number and length of the stretches of a video. */
export function stretchesOf(durationS: number): { count: number; seconds: number } {
  const whole = Math.floor(durationS / stretchSeconds);
  return { count: Math.min(mostStretches, Math.max(1, whole)), seconds: Math.min(stretchSeconds, durationS) };
}

/** Billed seconds of one setting. */
export function secondsPerSetting(durationS: number): number {
  const { count, seconds } = stretchesOf(durationS);
  return Math.max(1, Math.ceil(count * seconds));
}

export interface PreviewPriceQuery {
  /** of the video */
  durationS: number;
  settings: readonly Pick<PreviewSetting, 'resolution'>[];
  tier: Tier;
}

/** The charge in credits: the seconds of all stretches at each setting's price. */
export function previewCredits({ durationS, settings, tier }: PreviewPriceQuery): number {
  const durationSeconds = secondsPerSetting(durationS);
  return settings.reduce((sum, { resolution }) => sum + priceInCredits({ durationSeconds, resolution, tier }), 0);
}

/** Possible starts of stretches: the middles of equal parts of the video, because its ends are often black or titles. */
export function candidateStarts(durationS: number): number[] {
  const { seconds } = stretchesOf(durationS);
  const count = Math.min(mostCandidates, Math.max(1, Math.floor(durationS / stretchSeconds)));
  const part = durationS / count;
  return Array.from({ length: count }, (_, index) => Math.max(0, part * index + (part - seconds) / 2));
}

/** Measurements of one candidate. */
export interface StretchSample {
  start: number;
  facesPerFrame: number;
  /** size of an encode at one quality */
  bytesPerSecond: number;
  /** planned strength of restoration; 0: none */
  damage: number;
}

/** Chooses the most informative stretches, in order of time. Gives only reasons that the samples show. */
export function chooseStretches(samples: readonly StretchSample[], durationS: number): Stretch[] {
  const { count, seconds } = stretchesOf(durationS);
  const chosen: { sample: StretchSample; reason: StretchReason }[] = [];
  const left = () => samples.filter((each) => !chosen.some(({ sample }) => sample === each));
  const take = (reason: StretchReason, value: (sample: StretchSample) => number) => {
    const [best] = left().sort((a, b) => value(b) - value(a));
    if (chosen.length < count && best !== undefined && value(best) > 0) chosen.push({ sample: best, reason });
  };
  take('face', ({ facesPerFrame }) => facesPerFrame);
  take('hardest_to_encode', ({ bytesPerSecond }) => bytesPerSecond);
  take('most_damaged', ({ damage }) => damage);
  const distance = ({ start }: StretchSample) => Math.min(durationS, ...chosen.map(({ sample }) => Math.abs(sample.start - start)));
  while (chosen.length < count && left().length > 0) take('evenly_spaced', distance);
  return chosen
    .map(({ sample, reason }) => ({ start: sample.start, duration: seconds, reason }))
    .sort((a, b) => a.start - b.start);
}

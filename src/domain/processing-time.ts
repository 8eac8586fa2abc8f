/** Predicts how long a job takes, from the installation's own jobs. */
import type { JobRecord, Resolution, SourceFacts } from './job.ts';
import { fittedSize } from './output-size.ts';

/** The data of a finished live job that predict the time of the next one. */
export type TimeSample = Pick<JobRecord, 'resolution' | 'source' | 'startedAt' | 'finishedAt'>;

export interface TimeEstimate {
  min_seconds: number;
  max_seconds: number;
  basis: 'recent_jobs' | 'typical_rate' | 'test_mode';
}

export interface TimeQuery {
  resolution: Resolution;
  source: Pick<SourceFacts, 'width' | 'height' | 'frame_rate' | 'duration'>;
  samples: readonly TimeSample[];
  /** seconds of processing per second of video, without samples */
  typicalRate: number;
}

export interface ExpectedTime extends TimeEstimate {
  /** the likeliest single figure */
  seconds: number;
}

/** frames per second of a video that states none */
const assumedFrameRate = 30;
/** Seconds before the first frame and after the last: download, start of the engine, storing. They dominate short jobs. */
const overheadS = 2;
/** Ratio between machines and the typical one. */
const unknownSpread = 3;
/** Ratio between runs on one machine, and between videos that need more or less restoration. */
const leastSpread = 1.3;
/** one or two jobs say little about the next one */
const fewSamples = 3;
const fewSpread = 2;

/** Predicts the time from the start of a job to its end, as a range that contains about eight of ten jobs. */
export function estimateTime({ resolution, source, samples, typicalRate }: TimeQuery): ExpectedTime {
  const alike = samples.filter((sample) => sample.resolution === resolution).flatMap(secondsPerPixel);
  // The time per pixel is similar in both resolutions, so samples of the other one are better than none.
  const rates = (alike.length > 0 ? alike : samples.flatMap(secondsPerPixel)).toSorted((a, b) => a - b);
  const pixels = outputPixels(resolution, source);
  const known = rates.length > 0;
  const middle = known ? overheadS + at(rates, 0.5) * pixels : source.duration * typicalRate;
  const spread = !known ? unknownSpread : rates.length < fewSamples ? fewSpread : leastSpread;
  const low = known ? overheadS + at(rates, 0.1) * pixels : middle;
  const high = known ? overheadS + at(rates, 0.9) * pixels : middle;
  return {
    seconds: wholeSeconds(middle),
    min_seconds: wholeSeconds(low / spread),
    max_seconds: wholeSeconds(high * spread),
    basis: known ? 'recent_jobs' : 'typical_rate',
  };
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.round(share * (sorted.length - 1))]!;

const wholeSeconds = (seconds: number): number => Math.max(1, Math.round(seconds));

/** Pixels of all frames of the result, which determine the work of the stages and the encoder. */
function outputPixels(resolution: Resolution, source: TimeQuery['source']): number {
  const { width, height } = fittedSize(resolution, source);
  return width * height * (source.frame_rate || assumedFrameRate) * source.duration;
}

function secondsPerPixel({ resolution, source, startedAt, finishedAt }: TimeSample): number[] {
  if (source === null || startedAt === null || finishedAt === null) return [];
  const pixels = outputPixels(resolution, source);
  const seconds = (finishedAt.getTime() - startedAt.getTime()) / 1000;
  return pixels > 0 && seconds > 0 ? [Math.max(0, seconds - overheadS) / pixels] : [];
}

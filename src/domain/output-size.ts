/** The encoder's quality for a job, and its effect on the size of a result. */
import { type JobRecord, type Quality, type Resolution, type SourceFacts, videoSeconds } from './job.ts';

/** CRF below the installation's own, for results that are encoded again */
const highQualityStep = 4;

/** The CRF of a requested quality. `standardCrf` is the installation's own (REELMEND_ENCODER_CRF). */
export function crfOf(quality: Quality | undefined, standardCrf: number): number {
  if (typeof quality === 'number') return quality;
  return quality === 'high' ? Math.max(1, standardCrf - highQualityStep) : standardCrf;
}

/** The CRF of the figures below. Raising it by six about halves an x264 stream. */
const referenceCrf = 16;
const sizeFactor = (crf: number) => 2 ** ((referenceCrf - crf) / 6);

/** Bits per pixel and frame at CRF 16: the mean of the clips in engine/bench/results/encoder.md. */
const meanBitsPerPixel = 0.4;
/**
 * The same as a multiple of the source's own bits per pixel, with bounds that held for 13 of 16 clips of cameras, phones,
 * films and screens (their first second, enhanced to 1080p, 2026-11-23). Two still pictures came out smaller, and one
 * portrait larger.
 */
const perSource = { low: { times: 0.6, min: 0.005, max: 0.25 }, high: { times: 4, min: 0.2, max: 1 } };

/** the box that the result is fitted into, as landscape */
export const targetBoxes: Readonly<Record<Resolution, { width: number; height: number }>> = {
  '1080p': { width: 1920, height: 1080 },
  '4k': { width: 3840, height: 2160 },
};
/** frames per second: `unknown` is assumed if the source states none; stated values above `max` count as `max` */
const frameRates = { unknown: 30, max: 120 };
/** bits per second of all sound together; the service copies or encodes it */
const soundBitrate = { low: 64_000, high: 320_000 };
/** seconds of `max_bitrate` that the encoder's buffer (VBV) adds at the start */
const bufferS = 0.5;

const framesOf = (frameRate: number, durationS: number) => Math.min(frameRate || frameRates.unknown, frameRates.max) * durationS;

interface Size {
  width: number;
  height: number;
}

/** The size of a frame that fits the target, unrounded. */
export function fittedSize(resolution: Resolution, source: Size): Size {
  const { width, height } = targetBoxes[resolution];
  const box = source.width < source.height ? { width: height, height: width } : { width, height };
  const scale = Math.min(box.width / source.width, box.height / source.height);
  return { width: source.width * scale, height: source.height * scale };
}

const cappedBytes = (bytes: number, maxBitrate: number | undefined, durationS: number) =>
  maxBitrate === undefined ? bytes : Math.min(bytes, (maxBitrate * (durationS + bufferS)) / 8);

type SizedJob = Pick<JobRecord, 'resolution' | 'durationSeconds' | 'source' | 'outputSettings'>;

export interface Encode extends Size {
  /** 0 = unknown */
  frameRate: number;
  durationS: number;
  crf: number;
}

/** The mean size of an encode in bytes. */
export function meanBytes({ width, height, frameRate, durationS, crf }: Encode): number {
  return (framesOf(frameRate, durationS) * width * height * meanBitsPerPixel * sizeFactor(crf)) / 8;
}

/** The space that a worker reserves for a result, in bytes: the mean size of a picture that fills the box. */
export function expectedResultBytes(job: SizedJob, standardCrf: number): number {
  const { resolution, source, outputSettings } = job;
  const { quality, max_bitrate } = outputSettings;
  const durationS = videoSeconds(job);
  const bytes = meanBytes({ ...targetBoxes[resolution], frameRate: source?.frame_rate ?? 0, durationS, crf: crfOf(quality, standardCrf) });
  return Math.ceil(cappedBytes(bytes, max_bitrate, durationS));
}

/** The data of a finished job that predict the size of the next result. */
export type SizeSample = Pick<JobRecord, 'source' | 'output'>;

export interface SizeEstimate {
  min_bytes: number;
  max_bytes: number;
  basis: 'account_jobs' | 'source_bitrate';
}

export interface SizeQuery {
  /** of the result */
  output: Size;
  source: Pick<SourceFacts, 'width' | 'height' | 'frame_rate' | 'duration' | 'audio_codec' | 'size_bytes'>;
  crf: number;
  /** bits per second */
  maxBitrate: number | undefined;
  /** the account's finished jobs */
  samples: readonly SizeSample[];
}

/** fewer jobs say too little about the next one */
const fewestSamples = 5;
/** A new video differs from earlier ones, even if all of those were alike. */
const leastSpread = 1.25;

/** Predicts the size of a result as a range that contains about eight of ten results. */
export function estimateSize({ output, source, crf, maxBitrate, samples }: SizeQuery): SizeEstimate {
  const known = samples.flatMap(bitsPerPixelOf).toSorted((a, b) => a - b);
  const fromJobs = known.length >= fewestSamples;
  const { low, high } = fromJobs ? spread(known) : bySource(source);
  const { frame_rate, duration, audio_codec } = source;
  const pixels = framesOf(frame_rate, duration) * output.width * output.height * sizeFactor(crf);
  const bytes = (perPixel: number, sound: number) => {
    const video = cappedBytes((pixels * perPixel) / 8, maxBitrate, duration);
    return Math.max(1, roundTo2Digits(video + (audio_codec === null ? 0 : (sound * duration) / 8)));
  };
  return {
    min_bytes: bytes(low, soundBitrate.low),
    max_bytes: bytes(high, soundBitrate.high),
    basis: fromJobs ? 'account_jobs' : 'source_bitrate',
  };
}

/** Bits per pixel and frame of a result, converted to CRF 16; none if a limit or an unknown quality determined it. */
function bitsPerPixelOf({ source, output }: SizeSample): number[] {
  if (source === null || output?.quality === undefined || typeof output.max_bitrate === 'number') return [];
  const pixels = framesOf(source.frame_rate, source.duration) * output.width * output.height;
  return pixels > 0 ? [(output.size_bytes * 8) / pixels / sizeFactor(output.quality)] : [];
}

function bySource({ width, height, frame_rate, duration, size_bytes }: SizeQuery['source']): { low: number; high: number } {
  const perPixel = (size_bytes * 8) / Math.max(1, framesOf(frame_rate, duration) * width * height);
  const bounded = ({ times, min, max }: (typeof perSource)['low']) => Math.min(max, Math.max(min, perPixel * times));
  return { low: bounded(perSource.low), high: bounded(perSource.high) };
}

/** From the lowest tenth to the highest. */
function spread(sorted: readonly number[]): { low: number; high: number } {
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!;
  return { low: at(0.1) / leastSpread, high: at(0.9) * leastSpread };
}

/** More digits would look like a measurement. */
function roundTo2Digits(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.round(value / unit) * unit;
}

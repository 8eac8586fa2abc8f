/** Limits of sources, and the rule that turns a measured duration into billed seconds. */
import { ReelmendError } from './errors.ts';
import type { MeasuredSource, Tier } from './job.ts';

/** Limits of a source. Operators set them (REELMEND_MAX_…). */
export interface VideoLimits {
  /** seconds of presentation; exactly this is allowed */
  durationS: number;
  /** size of the file */
  bytes: number;
  /** frames per billed second; cameras record up to 240 */
  frameRate: number;
  /** coded width × height of one frame */
  pixels: number;
}

/** The documented defaults; `pixels` is the engine's own limit. */
export const defaultVideoLimits: VideoLimits = { durationS: 600, bytes: 2_000_000_000, frameRate: 250, pixels: 8192 * 8192 };
/** seconds; the most that an operator can allow. A longer job would exceed what timers and the database accept. */
export const longestDurationS = 21_600;

/** The limits as multiples of the defaults, at least 1. Time limits and disk reservations grow by them. */
export function limitFactors({ durationS, bytes }: VideoLimits): { duration: number; size: number } {
  return { duration: Math.max(1, durationS / defaultVideoLimits.durationS), size: Math.max(1, bytes / defaultVideoLimits.bytes) };
}

/** The limits in the engine's form. */
export const engineLimits = ({ durationS, frameRate, pixels }: VideoLimits) => ({
  maxDurationS: durationS,
  maxFrameRate: frameRate,
  maxPixels: pixels,
});

/** Seconds of validity of a download link: an hour, and long enough to watch the longest video twice. */
export const linkValidityS = ({ durationS }: VideoLimits): number => Math.max(3600, 2 * durationS);
/** days that files of jobs without `secure` are kept, unless the service has another setting */
export const defaultRetentionDays = 30;
/** active keys of one account */
export const maxLiveKeys = 25;
/** people of one account, including open invitations */
export const maxPeople = 50;
/** webhook endpoints of one account and mode; each finished job makes one delivery per endpoint */
export const maxWebhookEndpoints = 10;

/** Days that the files of a new job are kept. The account's own setting applies to the Secure tier alone, `standardDays` of the service to all others. */
export const retentionDaysFor = (tier: Tier, account: { retentionDays: number }, standardDays = defaultRetentionDays): number =>
  tier === 'secure' ? account.retentionDays : standardDays;

/** days that a replaced key works beside the new one */
export const keyOverlapDaysRange = { min: 0, max: 7 } as const;
export const retentionDaysRange = { min: 1, max: 365 } as const;
/** seconds of a test job without a hint */
const testJobDurationS = 10;
/** Whole seconds of a test job. Nothing is measured in test mode, so the caller's hint counts. */
export function testJobSeconds(hintS: number = testJobDurationS, { durationS }: VideoLimits = defaultVideoLimits): number {
  return billedSeconds(Math.min(hintS, durationS));
}

/** a second measurement may differ from the first by so many seconds */
export const measurementToleranceS = 1;
/** the frame rate of a second measurement may differ by this share; it is a mean if frames are unevenly spaced */
const frameRateTolerance = 0.01;

/**
 * Whole seconds that a video of `durationS` (unrounded, seconds) is billed for: rounded up, at least 1.
 * Throws RangeError for a duration that is negative or not a number.
 */
export function billedSeconds(durationS: number): number {
  if (!Number.isFinite(durationS) || durationS < 0) {
    throw new RangeError(`Expected a duration in seconds for durationS but received ${durationS}`);
  }
  return Math.max(1, Math.ceil(durationS));
}

export const tooLongMessage = (durationS: number, limits: VideoLimits): string =>
  `The video lasts ${durationS.toFixed(3)} s; at most ${limits.durationS} s are accepted.`;

export const tooLargeMessage = (sizeBytes: number, limits: VideoLimits): string =>
  `The video has ${sizeBytes} bytes; at most ${limits.bytes} are accepted.`;

export const slowMeasurementMessage =
  'The video could not be measured in time. An MP4 file is measured fastest with its index at the start (FFmpeg: -movflags +faststart).';

/** Throws ReelmendError `video_too_long` above the limit, compared unrounded. */
export function assertDurationAllowed(durationS: number, limits: VideoLimits): void {
  if (durationS > limits.durationS) throw new ReelmendError('video_too_long', tooLongMessage(durationS, limits));
}

/** Throws ReelmendError `video_too_large` above the limit. */
export function assertSizeAllowed(sizeBytes: number, limits: VideoLimits): void {
  if (sizeBytes > limits.bytes) throw new ReelmendError('video_too_large', tooLargeMessage(sizeBytes, limits));
}

/** The first fact that differs between two measurements beyond the tolerance; null when they agree. */
export function changeOfSource(before: MeasuredSource, now: MeasuredSource): string | null {
  const facts = ['container', 'video_codec', 'audio_codec', 'width', 'height', 'size_bytes'] as const;
  const changed = facts.find((name) => before[name] !== now[name]);
  if (changed !== undefined) return `${changed} was ${before[changed]} when the job was created and is ${now[changed]} now`;
  if (Math.abs(before.frame_rate - now.frame_rate) > frameRateTolerance * before.frame_rate) {
    return `frame_rate was ${before.frame_rate} when the job was created and is ${now.frame_rate} now`;
  }
  if (before.etag !== undefined && now.etag !== undefined && before.etag !== now.etag) return 'its ETag has changed';
  return null;
}

/** Whether two measurements (unrounded seconds) of one source agree within the tolerance. */
export function sameDuration(firstS: number, secondS: number): boolean {
  return Math.abs(firstS - secondS) <= measurementToleranceS;
}

/** Limits of the specification (§8), and the rule that turns a measured duration into billed seconds. */
import { ReelmendError } from './errors.ts';
import type { MeasuredSource, Tier } from './job.ts';

/** seconds of presentation; exactly this passes */
export const maxDurationS = 600;
/** frames per billed second; cameras record up to 240 */
export const maxFrameRate = 250;
/** bytes of the source file */
export const maxSourceBytes = 2_000_000_000;
/** seconds of validity of a download link */
export const linkValidityS = 3600;
/** days that files are kept unless the account has another setting */
export const defaultRetentionDays = 30;
/** active keys of one account */
export const maxLiveKeys = 25;

/** Days that the files of a new job are kept. The account's own setting applies to the Secure tier alone. */
export const retentionDaysFor = (tier: Tier, account: { retentionDays: number }): number =>
  tier === 'secure' ? account.retentionDays : defaultRetentionDays;

/** days that a replaced key keeps working beside the new one */
export const keyOverlapDaysRange = { min: 0, max: 7 } as const;
export const retentionDaysRange = { min: 1, max: 365 } as const;
/** seconds of a test job without a hint */
export const testJobDurationS = 10;
/** Whole seconds of a test job. Nothing is measured in test mode, so the caller's hint counts. */
export function testJobSeconds(hintS: number = testJobDurationS): number {
  return billedSeconds(Math.min(hintS, maxDurationS));
}

/** seconds by which a second measurement may differ from the first */
export const measurementToleranceS = 1;
/** share by which the frame rate of a second measurement may differ; it is a mean when frames are unevenly spaced */
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

/** Throws ReelmendError `video_too_long` above 600.000 s, compared unrounded. */
export function assertDurationAllowed(durationS: number): void {
  if (durationS > maxDurationS) {
    throw new ReelmendError(
      'video_too_long',
      `The video lasts ${durationS.toFixed(3)} s; at most ${maxDurationS} s are accepted.`,
    );
  }
}

/** Throws ReelmendError `video_too_large` above 2,000,000,000 bytes. */
export function assertSizeAllowed(sizeBytes: number): void {
  if (sizeBytes > maxSourceBytes) {
    throw new ReelmendError(
      'video_too_large',
      `The video has ${sizeBytes} bytes; at most ${maxSourceBytes} are accepted.`,
    );
  }
}

/** The first fact in which two measurements differ beyond the tolerance; null when they agree. */
export function changeOfSource(before: MeasuredSource, now: MeasuredSource): string | null {
  const facts = ['container', 'video_codec', 'audio_codec', 'width', 'height', 'size_bytes'] as const;
  const changed = facts.find((name) => before[name] !== now[name]);
  if (changed !== undefined) return `${changed} was ${before[changed]} when the job was created and is ${now[changed]} now`;
  if (Math.abs(before.frame_rate - now.frame_rate) > frameRateTolerance * before.frame_rate) {
    return `frame_rate was ${before.frame_rate} when the job was created and is ${now.frame_rate} now`;
  }
  if (before.etag !== undefined && now.etag !== undefined && before.etag !== now.etag) return 'its ETag is another one';
  return null;
}

/** Whether two measurements (unrounded seconds) of one source agree within the tolerance. */
export function sameDuration(firstS: number, secondS: number): boolean {
  return Math.abs(firstS - secondS) <= measurementToleranceS;
}

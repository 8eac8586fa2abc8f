/** Limits of the specification (§8) and the one rule that turns a measured duration into billed seconds. */
import { FrameliftError } from './errors.ts';

/** seconds of presentation; exactly this passes */
export const maxDurationS = 600;
/** frames for each billed second; cameras record up to 240 */
export const maxFrameRate = 250;
/** bytes of the source file */
export const maxSourceBytes = 2_000_000_000;
/** seconds of validity of a download link */
export const linkValidityS = 3600;
/** days that files are kept unless the account says otherwise */
export const defaultRetentionDays = 30;
/** keys of one account that work at the same time */
export const maxLiveKeys = 25;
/** days that a replaced key works on beside the new one */
export const keyOverlapDaysRange = { min: 0, max: 7 } as const;
export const retentionDaysRange = { min: 1, max: 365 } as const;
/** billed seconds of a sandbox job without a hint */
export const sandboxDurationS = 10;
/** seconds by which a second measurement may differ from the first */
export const measurementToleranceS = 1;

/**
 * Whole seconds that a video of `durationS` (unrounded, seconds) is billed for: rounded up, at least 1.
 * Throws RangeError for a duration that is negative or no number.
 */
export function billedSeconds(durationS: number): number {
  if (!Number.isFinite(durationS) || durationS < 0) {
    throw new RangeError(`Expected a duration in seconds for durationS but received ${durationS}`);
  }
  return Math.max(1, Math.ceil(durationS));
}

/** Throws FrameliftError `video_too_long` above 600.000 s, compared unrounded. */
export function assertDurationAllowed(durationS: number): void {
  if (durationS > maxDurationS) {
    throw new FrameliftError(
      'video_too_long',
      `The video lasts ${durationS.toFixed(3)} s; at most ${maxDurationS} s are accepted.`,
    );
  }
}

/** Throws FrameliftError `video_too_large` above 2,000,000,000 bytes. */
export function assertSizeAllowed(sizeBytes: number): void {
  if (sizeBytes > maxSourceBytes) {
    throw new FrameliftError(
      'video_too_large',
      `The video has ${sizeBytes} bytes; at most ${maxSourceBytes} are accepted.`,
    );
  }
}

/** Whether two measurements (unrounded seconds) of one source agree within the tolerance. */
export function sameDuration(firstS: number, secondS: number): boolean {
  return Math.abs(firstS - secondS) <= measurementToleranceS;
}

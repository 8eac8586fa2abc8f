/** Which failures end a job and which may pass. */
import { FrameliftError, type JobErrorCode } from '../domain/errors.ts';
import type { JobFailure } from '../store/index.ts';
import type { Tuning } from './types.ts';

/** Failures of the video itself, or of the work on it: a second try would end alike. */
const permanent: readonly JobErrorCode[] = [
  'unreadable_video',
  'video_too_long',
  'video_too_large',
  'url_not_allowed',
  'source_changed',
  'processing_failed',
  'processing_timeout',
];

export type Verdict = { kind: 'fail'; failure: JobFailure } | { kind: 'retry'; delayS: number };

/**
 * What to do after a step threw: the job ends in error, or is tried again in `delayS`. `failures` counts those
 * before this one. A source that cannot be reached gets fewer tries than our own storage and database.
 */
export function judge(error: unknown, failures: number, tuning: Tuning): Verdict {
  const known = error instanceof FrameliftError ? error : undefined;
  const code = permanent.find((each) => each === known?.code);
  if (known && code) return { kind: 'fail', failure: { code, message: known.message } };
  const unreachable = known?.code === 'video_unreachable';
  const tries = unreachable ? tuning.downloadTries : tuning.retryDelaysS.length + 1;
  if (failures + 1 < tries) {
    return { kind: 'retry', delayS: tuning.retryDelaysS[failures] ?? tuning.retryDelaysS.at(-1) ?? 1 };
  }
  return {
    kind: 'fail',
    failure: unreachable
      ? { code: 'video_unreachable', message: known.message }
      : { code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' },
  };
}

/** Which failures end a job and which may pass. */
import { ReelmendError, type JobErrorCode } from '../domain/errors.ts';
import type { JobFailure } from '../store/index.ts';
import { NoRoom } from './room.ts';
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

export type Verdict =
  | { kind: 'fail'; failure: JobFailure }
  /** `counts`: as one of the failures that a step is forgiven; `insufficientDisk`: for want of room that nobody will make */
  | { kind: 'retry'; delayS: number; counts: boolean; insufficientDisk: boolean };

/** What is known of the step before it threw. */
export interface History {
  /** failures before this one that were tried again */
  failures: number;
  /** seconds for which the job has wanted room without anything under way that could make it; 0 = it has not */
  insufficientDiskForS: number;
}

/**
 * What to do after a step threw: the job ends in error, or is tried again in `delayS`. A source that cannot be reached
 * gets fewer tries than our own storage and database. Too little room costs nothing to look for again, and a worker
 * that has none would use up the tries of job after job while the others are busy: it counts only after long, and never
 * for a job that stands in line behind others.
 */
export function judge(error: unknown, { failures, insufficientDiskForS }: History, tuning: Tuning): Verdict {
  const insufficientDisk = error instanceof NoRoom && !error.behindOthers;
  if (error instanceof NoRoom && (error.behindOthers || insufficientDiskForS < tuning.room.patienceS)) {
    return { kind: 'retry', delayS: tuning.room.delayS, counts: false, insufficientDisk };
  }
  const known = error instanceof ReelmendError ? error : undefined;
  const code = permanent.find((each) => each === known?.code);
  if (known && code) return { kind: 'fail', failure: { code, message: known.message } };
  const unreachable = known?.code === 'video_unreachable';
  const tries = unreachable ? tuning.downloadTries : tuning.retryDelaysS.length + 1;
  if (failures + 1 < tries) {
    const delayS = tuning.retryDelaysS[failures] ?? tuning.retryDelaysS.at(-1) ?? 1;
    return { kind: 'retry', delayS, counts: true, insufficientDisk };
  }
  return {
    kind: 'fail',
    failure: unreachable
      ? { code: 'video_unreachable', message: known.message }
      : { code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' },
  };
}

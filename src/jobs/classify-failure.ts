/** Decides whether a failed step fails its job or is retried. */
import { ReelmendError, type JobErrorCode } from '../domain/errors.ts';
import type { JobFailure } from '../store/index.ts';
import { InsufficientDiskSpace } from './insufficient-disk-space.ts';
import type { Tuning } from './tuning.ts';

/** Failures caused by the video: another attempt would fail the same way. */
const permanent: readonly JobErrorCode[] = [
  'unreadable_video',
  'video_too_long',
  'video_too_large',
  'url_not_allowed',
  'source_changed',
  'processing_failed',
  'processing_timeout',
];

/** Of these, those that the machine of one worker may cause, because it is overloaded or short of memory. */
const maybeOfMachine: readonly JobErrorCode[] = ['processing_failed', 'processing_timeout'];

export type RetryDecision =
  | { kind: 'fail'; failure: JobFailure }
  | {
      kind: 'retry';
      delayS: number;
      /** whether this failure uses up one of the step's attempts */
      counts: boolean;
      /** set if disk space is short: `behind_others` if other jobs may free some, `disk_full` if none can */
      diskWait: 'behind_others' | 'disk_full' | null;
      /** whether the storage or the database is at fault */
      infrastructureFault: boolean;
    };

/** What happened to the step before this failure. */
export interface FailureHistory {
  /** counted failures */
  failures: number;
  /** how long disk space has been short although no other job could free any, in seconds; 0: it was not */
  diskFullForS: number;
  /** how long the job has waited for disk space, in seconds; 0: it did not wait */
  diskWaitForS: number;
  /** whether this failure is a fault of the storage or the database (isInfrastructureFault) */
  isInfrastructureFault: boolean;
  /** how long all attempts have ended by such faults, in seconds; 0: the last one did not */
  infrastructureFaultForS: number;
  /** whether a GPU is at fault, and another one may do the same work; default: false */
  isGpuFault?: boolean;
  /** whether it is a segment: other segments of the video may be made already, so one failure does not end the job; default: false */
  isSegment?: boolean;
}

/**
 * Classifies the error that a step threw. An unreachable source gets fewer attempts than our own faults. A lack of disk space
 * and faults of the storage or the database count as failures only after a long wait. Otherwise a worker with a full disk, or
 * one that cannot reach the storage, would quickly use up the attempts of many jobs while the other workers are busy.
 */
export function classifyFailure(error: unknown, history: FailureHistory, tuning: Tuning): RetryDecision {
  const diskWait = error instanceof InsufficientDiskSpace ? (error.behindOthers ? 'behind_others' : 'disk_full') : null;
  if (diskWait !== null && !hasWaitedTooLong(diskWait, history, tuning)) {
    return { kind: 'retry', delayS: tuning.insufficientDisk.retryDelayS, counts: false, diskWait, infrastructureFault: false };
  }
  const { isInfrastructureFault: infrastructureFault, infrastructureFaultForS } = history;
  const { patienceS, longestDelayS } = tuning.infrastructureFaults;
  if (infrastructureFault && infrastructureFaultForS < patienceS) {
    // The first time, another worker takes the step at once.
    return { kind: 'retry', delayS: Math.min(longestDelayS, infrastructureFaultForS), counts: false, diskWait: null, infrastructureFault };
  }
  const known = error instanceof ReelmendError ? error : undefined;
  const code = permanent.find((each) => each === known?.code);
  const isTriedAgain = history.isGpuFault === true || (history.isSegment === true && history.failures === 0 && maybeOfMachine.some((each) => each === code));
  if (known && code && !isTriedAgain) return { kind: 'fail', failure: { code, message: known.message } };
  const unreachable = known?.code === 'video_unreachable';
  const attempts = unreachable ? tuning.downloadAttempts : tuning.retryDelaysS.length + 1;
  if (history.failures + 1 < attempts) {
    const delayS = tuning.retryDelaysS[history.failures] ?? tuning.retryDelaysS.at(-1) ?? 1;
    return { kind: 'retry', delayS, counts: true, diskWait, infrastructureFault };
  }
  return {
    kind: 'fail',
    failure: unreachable
      ? { code: 'video_unreachable', message: known.message }
      : { code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' },
  };
}

function hasWaitedTooLong(diskWait: 'behind_others' | 'disk_full', history: FailureHistory, tuning: Tuning): boolean {
  const { patienceS, maxWaitS } = tuning.insufficientDisk;
  return history.diskWaitForS >= maxWaitS || (diskWait === 'disk_full' && history.diskFullForS >= patienceS);
}

/** Decides whether a failed step fails its job or is retried. */
import { ReelmendError, type JobErrorCode } from '../domain/errors.ts';
import type { JobFailure, RetryLater } from '../store/index.ts';
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

type DiskWait = Required<RetryLater>['diskWait'];

export type RetryDecision = { kind: 'fail'; failure: JobFailure } | ({ kind: 'retry' } & Required<RetryLater>);

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

/** A failure, as the rules see it. */
interface Failure {
  /** null: no error of the service's own */
  known: ReelmendError | null;
  diskWait: DiskWait;
  history: FailureHistory;
  tuning: Tuning;
}

/** Classifies the error that a step threw: by the first rule that applies. */
export function classifyFailure(error: unknown, history: FailureHistory, tuning: Tuning): RetryDecision {
  const known = error instanceof ReelmendError ? error : null;
  const failure: Failure = { known, diskWait: diskWaitOf(error), history, tuning };
  return waitForDiskSpace(failure) ?? waitForInfrastructure(failure) ?? failAtOnce(failure) ?? tryAgain(failure) ?? giveUp(failure);
}

function diskWaitOf(error: unknown): DiskWait {
  if (!(error instanceof InsufficientDiskSpace)) return null;
  return error.behindOthers ? 'behind_others' : 'disk_full';
}

/**
 * A lack of disk space counts as a failure only after a long wait. Otherwise a worker with a full disk would quickly use up the
 * attempts of many jobs while the other workers are busy.
 */
function waitForDiskSpace({ diskWait, history, tuning }: Failure): RetryDecision | null {
  if (diskWait === null) return null;
  const { patienceS, maxWaitS, retryDelayS } = tuning.insufficientDisk;
  if (history.diskWaitForS >= maxWaitS || (diskWait === 'disk_full' && history.diskFullForS >= patienceS)) return null;
  return { kind: 'retry', delayS: retryDelayS, counts: false, diskWait, infrastructureFault: false };
}

/** The same for faults of the storage or the database, because a single worker may be unable to reach them. */
function waitForInfrastructure({ history, tuning }: Failure): RetryDecision | null {
  const { patienceS, longestDelayS } = tuning.infrastructureFaults;
  const { isInfrastructureFault, infrastructureFaultForS: forS } = history;
  if (!isInfrastructureFault || forS >= patienceS) return null;
  // The first time, another worker takes the step at once.
  return { kind: 'retry', delayS: Math.min(longestDelayS, forS), counts: false, diskWait: null, infrastructureFault: true };
}

/** Another attempt would fail the same way. */
function failAtOnce({ known, history }: Failure): RetryDecision | null {
  const code = permanent.find((each) => each === known?.code);
  if (known === null || code === undefined || history.isGpuFault === true) return null;
  if (history.isSegment === true && history.failures === 0 && maybeOfMachine.includes(code)) return null;
  return { kind: 'fail', failure: { code, message: known.message } };
}

/** An unreachable source gets fewer attempts than our own faults. */
function tryAgain({ known, diskWait, history, tuning }: Failure): RetryDecision | null {
  const { failures, isInfrastructureFault: infrastructureFault } = history;
  const attempts = known?.code === 'video_unreachable' ? tuning.downloadAttempts : tuning.retryDelaysS.length + 1;
  if (failures + 1 >= attempts) return null;
  const delayS = tuning.retryDelaysS[failures] ?? tuning.retryDelaysS.at(-1) ?? 1;
  return { kind: 'retry', delayS, counts: true, diskWait, infrastructureFault };
}

function giveUp({ known }: Failure): RetryDecision {
  if (known?.code === 'video_unreachable') return { kind: 'fail', failure: { code: 'video_unreachable', message: known.message } };
  return { kind: 'fail', failure: { code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' } };
}

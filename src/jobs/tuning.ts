/** Intervals and limits of a worker. Tests make them small. */
import { webhookScheduleS } from '../domain/webhooks.ts';

export interface Tuning {
  /** ms between two polls of the queue when no notification arrives; more in a large fleet (fleet-size.ts) */
  pollIntervalMs: number;
  /** seconds before each retry of a failed step, by the number of earlier failures; a step has one attempt more than entries */
  retryDelaysS: readonly number[];
  /** what happens to a job when disk space is short */
  insufficientDisk: {
    /** seconds until it tries again */
    retryDelayS: number;
    /** after so many seconds each failed check counts as a failure, if no other job can free space */
    patienceS: number;
    /** after so many seconds it counts as a failure even if other jobs may free space */
    maxWaitS: number;
  };
  /** faults of the storage and the database, which use up no attempt */
  infrastructureFaults: {
    /** after so many seconds they count as failures, if all attempts of the step end that way */
    patienceS: number;
    /** longest pause of a step between two attempts, seconds; pauses grow with the time since the first fault */
    longestDelayS: number;
  };
  /** how a worker watches its storage, ms: asks it every `checkMs`; while it does not answer, pauses double until it does or a pause is the longest */
  storageHealth: { firstPauseMs: number; longestPauseMs: number; probeTimeoutMs: number; checkMs: number };
  /** A job waits so many seconds for a device class that no worker has. */
  unservedClassS: number;
  /**
   * The same for an engine, while workers with another one have the device class. They have replaced the workers with that engine, which
   * need not come back: so it is shorter.
   */
  unservedEngineS: number;
  /** attempts to reach a source */
  downloadAttempts: number;
  /** heartbeats that a running step sends in the time of one lease; they also tell it of the deletion of its job */
  heartbeatsPerLease: number;
  /** a job fails after so many expired leases */
  maxCrashes: number;
  /** wall-clock limit of measuring, ms */
  probeTimeoutMs: number;
  /** wall-clock limit of enhancing, ms: `base` and `perSecond` for each second of video */
  enhanceTimeoutMs: { base: number; perSecond: number };
  /** wall-clock limit of reading and copying a whole video, ms: `base`, `perSecond` of video, and `perMegabyte` that is read or written */
  copyTimeoutMs: { base: number; perSecond: number; perMegabyte: number };
  /** how long stop() waits for aborted steps to end, ms */
  stopGraceMs: number;
  /** ms between two runs of a periodic task: removing scratch folders of dead workers, describing the worker, counting the fleet, queueing scheduled tasks */
  periodicMs: { scratch: number; describe: number; fleet: number; schedule: number };
  /** a destruction that is no longer queued is queued again after so many seconds */
  destroyOverdueS: number;
  /** seconds until the destruction of an upload that a job has to read is tried again */
  uploadNeededRetryS: number;
  webhooks: {
    /** limit of one attempt, ms */
    timeoutMs: number;
    /** when the attempts are due, seconds after the first */
    scheduleS: readonly number[];
    /** a due delivery that is no longer queued is queued again after so many seconds */
    overdueS: number;
  };
}

export const defaultTuning: Tuning = {
  pollIntervalMs: 1000,
  retryDelaysS: [1, 5, 15, 60],
  insufficientDisk: { retryDelayS: 15, patienceS: 30 * 60, maxWaitS: 24 * 3600 },
  infrastructureFaults: { patienceS: 30 * 60, longestDelayS: 60 },
  storageHealth: { firstPauseMs: 1000, longestPauseMs: 30_000, probeTimeoutMs: 10_000, checkMs: 30_000 },
  unservedClassS: 600,
  unservedEngineS: 120,
  downloadAttempts: 3,
  heartbeatsPerLease: 3,
  maxCrashes: 5,
  probeTimeoutMs: 120_000,
  enhanceTimeoutMs: { base: 15 * 60_000, perSecond: 60_000 },
  copyTimeoutMs: { base: 15 * 60_000, perSecond: 1000, perMegabyte: 1000 },
  stopGraceMs: 15_000,
  periodicMs: { scratch: 15_000, describe: 5 * 60_000, fleet: 60_000, schedule: 5000 },
  destroyOverdueS: 600,
  uploadNeededRetryS: 30,
  webhooks: { timeoutMs: 10_000, scheduleS: webhookScheduleS, overdueS: 120 },
};

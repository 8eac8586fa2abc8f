/** Runs one step of a job: acquires and renews its lease, provides a scratch folder, and records the outcome. */
import type { Span } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/job.ts';
import { type DeviceClass, type Lease, type Fence, LeaseLost, type RetryLater, type Step } from '../store/index.ts';
import { classifyFailure } from './classify-failure.ts';
import { isInfrastructureFault } from './infrastructure-fault.ts';
import { keepLease, type LeaseKeeper } from './lease-keeper.ts';
import type { StepOutcome } from './worker-metrics.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import { InsufficientDiskSpace } from './insufficient-disk-space.ts';
import { withScratch } from './scratch.ts';
import { inStepSpan } from './step-span.ts';
import type { WorkerContext } from './worker-context.ts';

export interface StepContext {
  worker: WorkerContext;
  job: JobRecord;
  fence: Fence;
  originalKey: string | null;
  /** what was decided for the segments; null: there are none */
  segmentPlan: string | null;
  /** the video is not to be cut into segments */
  inOnePiece: boolean;
  /** the device class that is to enhance it; null: any */
  deviceClass: DeviceClass | null;
  /** a folder for this attempt only */
  scratch: string;
  /** aborted when the job is deleted, the lease is lost, or the worker stops */
  signal: AbortSignal;
  /** Reports progress (0…1) and the seconds left. Written at most once a second. */
  progress(fraction: number, etaSeconds: number | null): void;
  logger: Logger;
  /** the trace span of this run, for further attributes */
  span: Span;
}

/**
 * Runs one step of a job, if the job still waits for it. Does not throw when the step fails: the job's row records the
 * failure, and the queue row counts as done.
 */
export async function runStep(
  worker: WorkerContext,
  step: Step,
  jobId: string,
  work: (context: StepContext) => Promise<void>,
): Promise<void> {
  const lease = await retryOnDatabaseFault(worker.stopping, (isRepeated) =>
    worker.store.leases.acquire(jobId, step, worker.id, worker.config.leaseSeconds, isRepeated));
  if (!lease) return;
  const logger = worker.logger.child({ job: jobId, step, attempt: lease.fence.attempt });
  const keeper = keepLease({
    leases: worker.store.leases,
    fence: lease.fence,
    leaseSeconds: worker.config.leaseSeconds,
    heartbeatsPerLease: worker.tuning.heartbeatsPerLease,
    stopping: worker.stopping,
  });
  const start = performance.now();
  const attempt = { worker, lease, acquiredAt: start, keeper, logger, work };
  let outcome: StepOutcome = 'returned';
  worker.lifetime.stepStarted();
  try {
    await runAttempt(attempt);
    logger.info('step done');
    worker.storageHealth.succeeded();
    outcome = 'done';
  } catch (error) {
    outcome = await handleError(attempt, keeper.signal.aborted ? keeper.signal.reason : error);
  } finally {
    keeper.stop();
    worker.metrics.stepEnded(step, outcome, (performance.now() - start) / 1000);
    worker.lifetime.stepEnded();
  }
}

interface Attempt {
  worker: WorkerContext;
  lease: Lease;
  /** as in performance.now() */
  acquiredAt: number;
  keeper: LeaseKeeper;
  logger: Logger;
  work: (context: StepContext) => Promise<void>;
}

function runAttempt({ worker, lease, keeper, logger, work }: Attempt): Promise<void> {
  const { job, fence, step, originalKey, segmentPlan, inOnePiece, deviceClass, traceparent } = lease;
  return inStepSpan({ job: job.id, step, attempt: fence.attempt, traceparent }, (span) =>
    withScratch(worker.config.dataDir, fence, async (scratch) => {
      keeper.signal.throwIfAborted();
      const progress = progressWriter(worker, fence, keeper);
      await work({ worker, job, fence, originalKey, segmentPlan, inOnePiece, deviceClass, scratch, signal: keeper.signal, progress, logger, span });
    }),
  );
}

/** Records the failure, or returns the step to the queue if it was interrupted: by a lost lease or by the worker's stop. */
async function handleError(attempt: Attempt, error: unknown): Promise<StepOutcome> {
  const { worker, lease, logger } = attempt;
  const isInterruption = (reason: unknown) => reason instanceof LeaseLost || worker.stopping.aborted;
  if (isInterruption(error)) return returnToQueue(worker, lease, error, logger);
  try {
    return await recordFailure(attempt, error);
  } catch (reason) {
    if (!isInterruption(reason)) throw reason;
    return returnToQueue(worker, lease, reason, logger);
  }
}

/** Fails the job or queues a retry. Throws LeaseLost. */
async function recordFailure({ worker, lease, acquiredAt, keeper, logger }: Attempt, error: unknown): Promise<StepOutcome> {
  const { leases } = worker.store;
  const untilNow = (secondsThen: number | null) => agedSince(acquiredAt, secondsThen);
  const history = {
    failures: lease.failures,
    // All pieces are made. A worker with too little space for the join says nothing about the others.
    diskFullForS: lease.step === 'join' ? 0 : untilNow(lease.diskFullForS),
    diskWaitForS: untilNow(lease.diskWaitForS),
    isInfrastructureFault: await isInfrastructureFault(worker, error),
    infrastructureFaultForS: untilNow(lease.infrastructureFaultForS),
  };
  const decision = classifyFailure(error, history, worker.tuning);
  if (decision.kind === 'fail') {
    logger.warn({ err: error, code: decision.failure.code }, 'job failed');
    await retryOnDatabaseFault(keeper.signal, () => leases.fail(lease.fence, decision.failure));
    worker.metrics.jobFailed(lease.job, decision.failure.code);
    return 'failed';
  }
  logRetry(logger, error, decision);
  await retryOnDatabaseFault(keeper.signal, () => leases.retryLater(lease.fence, decision));
  return 'retried';
}

async function returnToQueue(worker: WorkerContext, lease: Lease, reason: unknown, logger: Logger): Promise<StepOutcome> {
  logger.info({ reason: reason instanceof Error ? reason.message : String(reason) }, 'step returned to the queue');
  // After an outage of the database, too: a lease that expires instead counts as a crash.
  await retryOnDatabaseFault(worker.graceOver, () => worker.store.leases.release(lease.fence));
  return 'returned';
}

/** How long something has lasted that had lasted `secondsThen` when the lease was acquired; 0 if it had not begun. */
export const agedSince = (acquiredAt: number, secondsThen: number | null): number =>
  secondsThen === null ? 0 : secondsThen + (performance.now() - acquiredAt) / 1000;

export function logRetry(logger: Logger, error: unknown, { delayS, counts }: Pick<RetryLater, 'delayS' | 'counts'>): void {
  if (!counts && !(error instanceof InsufficientDiskSpace)) {
    return logger.warn({ err: error, delayS }, 'the storage or the database is at fault: the step goes back to the queue and loses no attempt');
  }
  if (!(error instanceof InsufficientDiskSpace)) return logger.warn({ err: error, delayS }, 'step failed and will be retried');
  const { neededBytes, freeBytes, message } = error;
  logger.warn({ neededBytes, freeBytes, delayS }, `${message}: the step will be retried by any worker`);
}

const progressIntervalMs = 1000;

function progressWriter(worker: WorkerContext, fence: Fence, keeper: LeaseKeeper): StepContext['progress'] {
  let nextAt = 0;
  return (fraction, etaSeconds) => {
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + progressIntervalMs;
    worker.store.leases
      .progress(fence, { fraction, etaSeconds }, worker.config.leaseSeconds)
      // A failed write is ignored: the heartbeat finds out whether the lease is lost.
      .then(keeper.renewed, () => {});
  };
}

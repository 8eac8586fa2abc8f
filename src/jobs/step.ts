/** What every step of a job has around it: taking and renewing the lease, a scratch folder, recording the outcome. */
import type { Span } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/job.ts';
import { type Lease, type Fence, LeaseLost, type Step } from '../store/index.ts';
import { classifyFailure, type RetryDecision } from './classify-failure.ts';
import { keepLease, type LeaseKeeper } from './lease-keeper.ts';
import type { StepOutcome } from './worker-metrics.ts';
import { InsufficientDiskSpace } from './disk-reservation.ts';
import { withScratch } from './scratch.ts';
import { inStepSpan } from './step-span.ts';
import type { WorkerContext } from './worker-context.ts';

export interface StepContext {
  worker: WorkerContext;
  job: JobRecord;
  fence: Fence;
  originalKey: string | null;
  /** a folder for this attempt only */
  scratch: string;
  /** aborted when the job is deleted or lost, or the worker stops */
  signal: AbortSignal;
  /** Reports progress (0…1) and the seconds left. Written at most once a second. */
  progress(fraction: number, etaSeconds: number | null): void;
  logger: Logger;
  /** the trace span of this run, for further attributes */
  span: Span;
}

/**
 * Runs one step of a job, if the job still waits for it. Does not throw when the job fails: the failure is recorded in
 * the job's row, and the queue's row is done.
 */
export async function runStep(
  worker: WorkerContext,
  step: Step,
  jobId: string,
  work: (context: StepContext) => Promise<void>,
): Promise<void> {
  const lease = await worker.store.leases.acquire(jobId, step, worker.id, worker.config.leaseSeconds);
  if (!lease) return;
  const logger = worker.logger.child({ job: jobId, step, attempt: lease.fence.attempt });
  const keeper = keepLease({
    leases: worker.store.leases,
    fence: lease.fence,
    leaseSeconds: worker.config.leaseSeconds,
    stopping: worker.stopping,
  });
  const attempt = { worker, lease, keeper, logger, work };
  const start = performance.now();
  let outcome: StepOutcome = 'returned';
  try {
    await runAttempt(attempt);
    logger.info('step done');
    outcome = 'done';
  } catch (error) {
    outcome = await settle(worker, lease, keeper.signal.aborted ? keeper.signal.reason : error, logger);
  } finally {
    keeper.stop();
    worker.metrics.stepEnded(step, outcome, (performance.now() - start) / 1000);
  }
}

interface Attempt {
  worker: WorkerContext;
  lease: Lease;
  keeper: LeaseKeeper;
  logger: Logger;
  work: (context: StepContext) => Promise<void>;
}

function runAttempt({ worker, lease, keeper, logger, work }: Attempt): Promise<void> {
  const { job, fence, step, originalKey, traceparent } = lease;
  return inStepSpan({ job: job.id, step, attempt: fence.attempt, traceparent }, (span) =>
    withScratch(worker.config.dataDir, fence, async (scratch) => {
      keeper.signal.throwIfAborted();
      const progress = progressWriter(worker, fence, keeper);
      await work({ worker, job, fence, originalKey, scratch, signal: keeper.signal, progress, logger, span });
    }),
  );
}

async function settle(worker: WorkerContext, lease: Lease, error: unknown, logger: Logger): Promise<StepOutcome> {
  const { leases } = worker.store;
  try {
    if (error instanceof LeaseLost || worker.stopping.aborted) throw error;
    const { failures, insufficientDiskSince, diskWaitSince } = lease;
    const history = { failures, diskFullForS: secondsSince(insufficientDiskSince), diskWaitForS: secondsSince(diskWaitSince) };
    const decision = classifyFailure(error, history, worker.tuning);
    if (decision.kind === 'fail') {
      logger.warn({ err: error, code: decision.failure.code }, 'job failed');
      await leases.fail(lease.fence, decision.failure);
      worker.metrics.jobFailed(decision.failure.code);
      return 'failed';
    }
    logRetry(logger, error, decision);
    await leases.retryLater(lease.fence, decision);
    return 'retried';
  } catch (reason) {
    if (!(reason instanceof LeaseLost) && !worker.stopping.aborted) throw reason;
    logger.info({ reason: reason instanceof Error ? reason.message : String(reason) }, 'step returned to the queue');
    await leases.release(lease.fence);
    return 'returned';
  }
}

const secondsSince = (time: Date | null): number => (time === null ? 0 : (Date.now() - time.getTime()) / 1000);

function logRetry(logger: Logger, error: unknown, { delayS }: Extract<RetryDecision, { kind: 'retry' }>): void {
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
      // A failed write is left to the heartbeat, which decides whether the lease is lost.
      .then(keeper.renewed, () => {});
  };
}

/** The frame around every step of a job: lease, keep the lease, give a scratch folder, settle the outcome. */
import type { Span } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/job.ts';
import { type Lease, type Fence, LeaseLost, type Step } from '../store/index.ts';
import { judge, type Verdict } from './failures.ts';
import { keepLease, type LeaseKeeper } from './lease-keeper.ts';
import type { StepOutcome } from './metrics.ts';
import { NoRoom } from './room.ts';
import { withScratch } from './scratch.ts';
import { inStepSpan } from './tracing.ts';
import type { WorkerContext } from './types.ts';

export interface StepContext {
  worker: WorkerContext;
  job: JobRecord;
  fence: Fence;
  originalKey: string | null;
  /** a folder for this attempt only */
  scratch: string;
  /** aborted when the job is deleted or lost, or the worker stops */
  signal: AbortSignal;
  /** Notes progress (0…1) and the seconds left; written at most once a second. */
  progress(fraction: number, etaSeconds: number | null): void;
  logger: Logger;
  /** of this run, to be told more */
  span: Span;
}

/**
 * Runs one step of one job, if it still waits for that. Never throws for the job's own failures: those are
 * settled in the job's row, and the queue's row has then done its duty.
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
  let outcome: StepOutcome = 'given_back';
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
    const { failures, insufficientDiskSince } = lease;
    const insufficientDiskForS = insufficientDiskSince === null ? 0 : (Date.now() - insufficientDiskSince.getTime()) / 1000;
    const verdict = judge(error, { failures, insufficientDiskForS }, worker.tuning);
    if (verdict.kind === 'fail') {
      logger.warn({ err: error, code: verdict.failure.code }, 'job failed');
      await leases.fail(lease.fence, verdict.failure);
      worker.metrics.jobFailed(verdict.failure.code);
      return 'failed';
    }
    logRetry(logger, error, verdict);
    await leases.retryLater(lease.fence, verdict);
    return 'retried';
  } catch (reason) {
    if (!(reason instanceof LeaseLost) && !worker.stopping.aborted) throw reason;
    logger.info({ reason: reason instanceof Error ? reason.message : String(reason) }, 'step given back');
    await leases.release(lease.fence);
    return 'given_back';
  }
}

function logRetry(logger: Logger, error: unknown, { delayS }: Extract<Verdict, { kind: 'retry' }>): void {
  if (!(error instanceof NoRoom)) return logger.warn({ err: error, delayS }, 'step will be tried again');
  const { neededBytes, freeBytes, message } = error;
  logger.warn({ neededBytes, freeBytes, delayS }, `${message}: the step will be tried again, here or elsewhere`);
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
      // A write that fails is the heartbeat's to judge; the next one may succeed.
      .then(keeper.note, () => {});
  };
}

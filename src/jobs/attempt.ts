/** One attempt at a step or a segment, under its lease: how it ends, and how it reports progress and failures. */
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/job.ts';
import { type JobFailure, LeaseLost, type RetryLater, type Step } from '../store/index.ts';
import type { RetryDecision } from './classify-failure.ts';
import { InsufficientDiskSpace } from './insufficient-disk-space.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import type { WorkerContext } from './worker-context.ts';
import type { StepOutcome } from './worker-metrics.ts';

export interface Attempt<Lease> {
  worker: WorkerContext;
  lease: Lease;
  /** as in performance.now() */
  acquiredAt: number;
  keeper: LeaseKeeper;
  logger: Logger;
}

export interface AttemptRun extends Omit<Attempt<unknown>, 'lease' | 'logger'> {
  step: Step;
  work(): Promise<void>;
  /** Fails the job or has the work done again. Throws LeaseLost. */
  recordFailure(error: unknown): Promise<StepOutcome>;
  /** Logs that a lost lease or the worker's stop interrupted the work. */
  interrupted(reason: unknown): void;
  /** Gives up the lease, which returns the work to the queue. */
  release(): Promise<void>;
}

/** Does not throw when the work fails. */
export async function runAttempt(run: AttemptRun): Promise<void> {
  const { worker, keeper } = run;
  let outcome: StepOutcome = 'returned';
  worker.lifetime.stepStarted();
  try {
    await run.work();
    worker.storageHealth.succeeded();
    outcome = 'done';
  } catch (error) {
    outcome = await handleError(run, keeper.signal.aborted ? keeper.signal.reason : error);
  } finally {
    keeper.stop();
    worker.metrics.stepEnded(run.step, outcome, (performance.now() - run.acquiredAt) / 1000);
    worker.lifetime.stepEnded();
  }
}

async function handleError({ worker, recordFailure, interrupted, release }: AttemptRun, error: unknown): Promise<StepOutcome> {
  const isInterruption = (reason: unknown) => reason instanceof LeaseLost || worker.stopping.aborted;
  let interruption = error;
  try {
    if (!isInterruption(error)) return await recordFailure(error);
  } catch (reason) {
    if (!isInterruption(reason)) throw reason;
    interruption = reason;
  }
  interrupted(interruption);
  // After an outage of the database, too: a lease that expires instead counts as a crash.
  await retryOnDatabaseFault(worker.graceOver, release);
  return 'returned';
}

/** How long something has lasted that had lasted `secondsThen` when the lease was acquired; 0 if it had not begun. */
export const agedSince = (acquiredAt: number, secondsThen: number | null): number =>
  secondsThen === null ? 0 : secondsThen + (performance.now() - acquiredAt) / 1000;

/** The store's leases of jobs, or those of segments. */
interface FailureWrites<Fence> {
  fail(fence: Fence, failure: JobFailure): Promise<void>;
  retryLater(fence: Fence, how: RetryLater): Promise<void>;
}

/** Fails the job or queues a retry, as was decided for the error. Throws LeaseLost. */
export async function carryOut<Fence>(
  { worker, lease, keeper, logger }: Attempt<{ job: JobRecord; fence: Fence }>,
  error: unknown,
  decision: RetryDecision,
  leases: FailureWrites<Fence>,
): Promise<StepOutcome> {
  if (decision.kind === 'fail') {
    const { failure } = decision;
    logger.warn({ err: error, code: failure.code }, 'job failed');
    await retryOnDatabaseFault(keeper.signal, () => leases.fail(lease.fence, failure));
    worker.metrics.jobFailed(lease.job, failure.code);
    return 'failed';
  }
  logRetry(logger, error, decision);
  await retryOnDatabaseFault(keeper.signal, () => leases.retryLater(lease.fence, decision));
  return 'retried';
}

function logRetry(logger: Logger, error: unknown, { delayS, counts }: Required<RetryLater>): void {
  if (error instanceof InsufficientDiskSpace) {
    const { neededBytes, freeBytes, message } = error;
    return logger.warn({ neededBytes, freeBytes, delayS }, `${message}: the step will be retried by any worker`);
  }
  const what = counts ? 'step failed and will be retried' : 'the storage or the database is at fault: the step goes back to the queue and loses no attempt';
  logger.warn({ err: error, delayS }, what);
}

const progressIntervalMs = 1000;

/** Calls `write` at most once a second, and at once with a lower fraction: work was lost. */
export function progressWriter<Rest extends unknown[]>(keeper: LeaseKeeper, write: (fraction: number, ...rest: Rest) => Promise<boolean>): (fraction: number, ...rest: Rest) => void {
  let nextAt = 0;
  let last = 0;
  return (fraction, ...rest) => {
    const now = performance.now();
    if (now < nextAt && fraction >= last) return;
    [nextAt, last] = [now + progressIntervalMs, fraction];
    // A failed write is ignored: the heartbeat finds out whether the lease is lost.
    write(fraction, ...rest).then(keeper.renewed, () => {});
  };
}

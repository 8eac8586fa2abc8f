/** Runs one step of a job under its lease, with a scratch folder. */
import type { Span } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Lease, Step } from '../store/index.ts';
import { agedSince, type Attempt, carryOut, progressWriter, runAttempt } from './attempt.ts';
import { classifyFailure } from './classify-failure.ts';
import { isInfrastructureFault } from './infrastructure-fault.ts';
import { keepLease } from './lease-keeper.ts';
import type { StepOutcome } from './worker-metrics.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import { withScratch } from './scratch.ts';
import { inStepSpan } from './step-span.ts';
import type { WorkerContext } from './worker-context.ts';

export interface StepContext extends Pick<Lease, 'job' | 'fence' | 'originalKey' | 'segmentPlan' | 'inOnePiece' | 'deviceClass'> {
  worker: WorkerContext;
  /** a folder for this attempt only */
  scratch: string;
  /** aborted when the job is deleted, the lease is lost, or the worker stops */
  signal: AbortSignal;
  /** Reports progress (0…1) and the seconds left. Written at most once a second, and at once when the progress falls. */
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
    worker.store.leases.acquire(jobId, step, worker.id, worker.config.leaseSeconds, { isRepeated, engine: worker.engine }));
  if (!lease) return;
  const logger = worker.logger.child({ job: jobId, step, attempt: lease.fence.attempt });
  const keeper = keepLease(worker, jobId, () => worker.store.leases.heartbeat(lease.fence, worker.config.leaseSeconds));
  const attempt = { worker, lease, acquiredAt: performance.now(), keeper, logger };
  await runAttempt({
    ...attempt,
    step,
    async work() {
      await runWork(attempt, work);
      logger.info('step done');
    },
    recordFailure: (error) => recordFailure(attempt, error),
    interrupted: (reason) => logger.info({ reason: reason instanceof Error ? reason.message : String(reason) }, 'step returned to the queue'),
    release: () => worker.store.leases.release(lease.fence),
  });
}

type StepAttempt = Attempt<Lease>;

function runWork({ worker, lease, keeper, logger }: StepAttempt, work: (context: StepContext) => Promise<void>): Promise<void> {
  const { job, fence, step, traceparent } = lease;
  const { leaseSeconds, dataDir } = worker.config;
  return inStepSpan({ job: job.id, step, attempt: fence.attempt, traceparent }, (span) =>
    withScratch(dataDir, fence, async (scratch) => {
      keeper.signal.throwIfAborted();
      const progress: StepContext['progress'] = progressWriter(keeper, (fraction, etaSeconds) =>
        worker.store.leases.progress(fence, { fraction, etaSeconds }, leaseSeconds));
      await work({ ...lease, worker, scratch, signal: keeper.signal, progress, logger, span });
    }),
  );
}

/** Fails the job or queues a retry. Throws LeaseLost. */
async function recordFailure(attempt: StepAttempt, error: unknown): Promise<StepOutcome> {
  const { worker, lease, acquiredAt } = attempt;
  const untilNow = (secondsThen: number | null) => agedSince(acquiredAt, secondsThen);
  const history = {
    failures: lease.failures,
    // All pieces are made. A worker with too little space for the join says nothing about the others.
    diskFullForS: lease.step === 'join' ? 0 : untilNow(lease.diskFullForS),
    diskWaitForS: untilNow(lease.diskWaitForS),
    isInfrastructureFault: await isInfrastructureFault(worker, error),
    infrastructureFaultForS: untilNow(lease.infrastructureFaultForS),
  };
  return carryOut(attempt, error, classifyFailure(error, history, worker.tuning), worker.store.leases);
}

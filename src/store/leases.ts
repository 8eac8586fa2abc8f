/**
 * Jobs as workers see them. A worker holds a lease on its job and renews it. Every new lease raises the attempt, and every
 * write names its attempt, so that a worker whose lease expired can change nothing any more.
 */
import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import type { JobErrorCode } from '../domain/errors.ts';
import type { AppliedEnhancements, JobRecord, OutputFacts, SourceFacts } from '../domain/job.ts';
import { refundOnFailure } from '../domain/refunds.ts';
import { type TransitionName, transitions } from '../domain/transitions.ts';
import { type Db, transact, type Tx } from './database.ts';
import { createDelivery } from './deliveries.ts';
import { appendEvent } from './events.ts';
import { type Fence, LeaseLost } from './fence.ts';
import { type JobRow, toJobRecord } from './job-rows.ts';
import { isOpen, mayMove } from './job-states.ts';
import { postTransfer } from './ledger.ts';
import { markStored, type StoredFile } from './objects.ts';
import { enqueueDestroy, enqueueStep } from './queue.ts';
import { jobs, objects, type Step } from './schema.ts';

export interface Lease {
  job: JobRecord;
  fence: Fence;
  step: Step;
  originalKey: string | null;
  /** of the request that made the job */
  traceparent: string | null;
  /** failures before this one that were retried */
  failures: number;
  /** since when it has lacked disk space although no other job could free any; null when it last did not */
  insufficientDiskSince: Date | null;
  /** since when it has waited for disk space, behind other jobs or not; null when it last did not */
  diskWaitSince: Date | null;
}

export interface RetryLater {
  delayS: number;
  counts?: boolean;
  /** behind other jobs that may free some, or although no other job is under way */
  diskWait?: 'behind_others' | 'disk_full' | null;
}

export interface JobFailure {
  code: JobErrorCode;
  message: string;
}

/** The condition that this worker holds the lease and that the job may make the move. */
const heldBy = ({ jobId, attempt, owner }: Fence, transition: TransitionName = 'continue') =>
  and(eq(jobs.id, jobId), eq(jobs.attempt, attempt), eq(jobs.leaseOwner, owner), mayMove(transition));

const leaseEnd = (seconds: number) => sql`clock_timestamp() + make_interval(secs => ${seconds}::float8)`;
const noLease = { leaseOwner: null, leaseExpiresAt: null };
const noDiskWait = { insufficientDiskSince: null, diskWaitSince: null };

export function leaseQueries(db: Db) {
  return {
    acquire: (jobId: string, step: Step, owner: string, leaseSeconds: number) =>
      acquire(db, jobId, step, owner, leaseSeconds),

    /** Renews the lease; false when it is lost. */
    async heartbeat(fence: Fence, leaseSeconds: number): Promise<boolean> {
      const rows = await db
        .update(jobs)
        .set({ leaseExpiresAt: leaseEnd(leaseSeconds) })
        .where(heldBy(fence))
        .returning({ id: jobs.id });
      return rows.length === 1;
    },

    /** Writes progress (0…1, kept below 1 and never lowered) and renews the lease; false when it is lost. */
    async progress(fence: Fence, at: { fraction: number; etaSeconds: number | null }, leaseSeconds: number) {
      const rows = await db
        .update(jobs)
        .set({
          progress: sql`greatest(${jobs.progress}, ${Math.min(0.999, Math.max(0, at.fraction))}::float8)`,
          etaSeconds: at.etaSeconds === null ? null : Math.max(0, Math.ceil(at.etaSeconds)),
          leaseExpiresAt: leaseEnd(leaseSeconds),
        })
        .where(heldBy(fence))
        .returning({ id: jobs.id });
      return rows.length === 1;
    },

    /** The original is stored: queues the next step. Facts measured at creation stay. Throws LeaseLost. */
    ingested: (fence: Fence, original: StoredFile, source: SourceFacts) =>
      transact(db, async (tx) => {
        const facts = sql`coalesce(${jobs.source}, ${JSON.stringify(source)}::jsonb)`;
        const [row] = await tx
          .update(jobs)
          .set({ step: 'enhance', originalKey: original.key, source: facts, failures: 0, ...noDiskWait, ...noLease })
          .where(heldBy(fence))
          .returning();
        if (!row) throw new LeaseLost(fence.jobId);
        await markStored(tx, original);
        await enqueueStep(tx, row);
      }),

    /** The output is stored: the job is done. Throws LeaseLost. */
    finish: (fence: Fence, result: FinishedJob) => transact(db, (tx) => finish(tx, fence, result)),

    /** The job ends in error with a full refund, once. Throws LeaseLost. */
    fail: (fence: Fence, failure: JobFailure) =>
      transact(db, async (tx) => {
        const [row] = await tx.select().from(jobs).where(heldBy(fence, 'fail')).for('no key update');
        if (!row) throw new LeaseLost(fence.jobId);
        await failRow(tx, row, failure);
      }),

    /**
     * Gives up the lease after a temporary failure; the step runs again in `delayS`. `counts`: the failure counts among
     * the lease's `failures` (default). `diskWait`: the step waits for disk space. Throws LeaseLost.
     */
    retryLater: (fence: Fence, { delayS, counts = true, diskWait = null }: RetryLater) =>
      transact(db, async (tx) => {
        const [row] = await tx
          .update(jobs)
          .set({
            ...(counts ? { failures: sql`${jobs.failures} + 1` } : {}),
            ...(diskWait === null ? noDiskWait : { diskWaitSince: sql`coalesce(${jobs.diskWaitSince}, now())` }),
            insufficientDiskSince: diskWait === 'disk_full' ? sql`coalesce(${jobs.insufficientDiskSince}, now())` : null,
            ...noLease,
          })
          .where(heldBy(fence))
          .returning();
        if (!row) throw new LeaseLost(fence.jobId);
        await enqueueStep(tx, row, delayS);
      }),

    release: (fence: Fence) => transact(db, (tx) => release(tx, fence)),

    wait: (jobId: string, step: Step, planOf: (job: JobRecord) => WaitPlan) =>
      transact(db, (tx) => wait(tx, jobId, step, planOf)),

    /** Takes expired leases away and queues those jobs again; after `maxCrashes` of them a job fails. */
    sweepExpired: (maxCrashes: number) => sweepExpired(db, maxCrashes),

    requeueOrphans: (limit: number) => requeueOrphans(db, limit),

    /** Jobs whose original is stored and whose result is not. */
    async pendingEnhancements(): Promise<Pick<JobRecord, 'id' | 'resolution' | 'durationSeconds' | 'source'>[]> {
      return db
        .select({ id: jobs.id, resolution: jobs.resolution, durationSeconds: jobs.durationSeconds, source: jobs.source })
        .from(jobs)
        .where(and(eq(jobs.step, 'enhance'), eq(jobs.status, 'running'), isNull(jobs.deletedAt)));
    },
  };
}

/**
 * Takes the lease of a job that waits for `step`. null when the job has ended, is at another step, or has a lease. Expired
 * leases are removed by sweepExpired only, which counts the crash.
 */
function acquire(db: Db, jobId: string, step: Step, owner: string, leaseSeconds: number): Promise<Lease | null> {
  return transact(db, async (tx) => {
    const [row] = await tx
      .update(jobs)
      .set({
        status: transitions.start.to,
        startedAt: sql`coalesce(${jobs.startedAt}, now())`,
        attempt: sql`${jobs.attempt} + 1`,
        leaseOwner: owner,
        leaseExpiresAt: leaseEnd(leaseSeconds),
      })
      .where(waitsFor(jobId, step))
      .returning({ ...getTableColumns(jobs), isFirst: sql<boolean>`started_at = now()` });
    if (!row) return null;
    if (row.attempt > 1) await enqueueLeftovers(tx, row);
    if (row.isFirst) await appendEvent(tx, { accountId: row.accountId, kind: 'job.started', jobId });
    return {
      job: toJobRecord(row),
      fence: { jobId, attempt: row.attempt, owner },
      step,
      originalKey: row.originalKey,
      traceparent: row.traceparent,
      failures: row.failures,
      insufficientDiskSince: row.insufficientDiskSince,
      diskWaitSince: row.diskWaitSince,
    };
  });
}

/** A step that starts with a wait: its length, and the interval of progress reports. */
export interface WaitPlan {
  totalS: number;
  tickS: number;
}

/**
 * Lets a job without a lease wait in the queue instead of in a worker: writes its progress and queues the step again.
 * Returns the rest of the wait in seconds when that is too short for the queue (0: over), and null when the job was queued
 * again or does not wait for the step.
 */
async function wait(tx: Tx, jobId: string, step: Step, planOf: (job: JobRecord) => WaitPlan): Promise<number | null> {
  const elapsed = sql<number>`extract(epoch FROM clock_timestamp() - coalesce(started_at, now()))::float8`;
  const [found] = await tx.select({ row: jobs, elapsedS: elapsed }).from(jobs).where(waitsFor(jobId, step)).for('no key update');
  if (!found) return null;
  const { row, elapsedS } = found;
  const { totalS, tickS } = planOf(toJobRecord(row));
  const leftS = Math.max(0, totalS - elapsedS);
  if (leftS < shortestQueuedS) return leftS;
  await tx
    .update(jobs)
    .set({
      status: transitions.start.to,
      startedAt: sql`coalesce(${jobs.startedAt}, now())`,
      progress: sql`greatest(${jobs.progress}, ${Math.min(0.999, Math.max(0, elapsedS / totalS))}::float8)`,
      etaSeconds: Math.ceil(leftS),
    })
    .where(eq(jobs.id, jobId));
  await enqueueStep(tx, row, Math.min(tickS, leftS));
  if (row.startedAt === null) await appendEvent(tx, { accountId: row.accountId, kind: 'job.started', jobId });
  return null;
}

/** seconds; a shorter wait is done in the worker, because workers poll for due rows once a second */
const shortestQueuedS = 0.5;

/** The condition that the job may start that step and nobody holds its lease. */
const waitsFor = (jobId: string, step: Step) =>
  and(eq(jobs.id, jobId), eq(jobs.step, step), isNull(jobs.leaseOwner), mayMove('start'));

/** Queues the destruction of objects that earlier attempts left in the storage. */
async function enqueueLeftovers(tx: Tx, row: JobRow): Promise<void> {
  const [left] = await tx
    .select({ key: objects.key })
    .from(objects)
    .where(
      and(
        eq(objects.jobId, row.id),
        sql`${objects.state} <> 'destroyed'`,
        sql`${objects.key} IS DISTINCT FROM ${row.originalKey}::text`,
        sql`${objects.key} IS DISTINCT FROM ${row.outputKey}::text`,
      ),
    )
    .limit(1);
  if (left) await enqueueDestroy(tx, row.id);
}

export interface FinishedJob {
  stored: StoredFile;
  /** the file belongs to the service; deleting the job leaves it in place */
  isShared?: boolean;
  output: OutputFacts;
  applied: AppliedEnhancements | null;
}

async function finish(tx: Tx, fence: Fence, { stored, isShared = false, output, applied }: FinishedJob) {
  const [row] = await tx
    .update(jobs)
    .set({
      status: transitions.finish.to,
      progress: 1,
      etaSeconds: null,
      output,
      applied,
      outputKey: stored.key,
      finishedAt: sql`now()`,
      ...noLease,
    })
    .where(heldBy(fence, 'finish'))
    .returning();
  if (!row) throw new LeaseLost(fence.jobId);
  if (!isShared) await markStored(tx, stored);
  await enqueueLeftovers(tx, row);
  await createDelivery(tx, row, 'job.completed');
  await appendEvent(tx, { accountId: row.accountId, kind: 'job.completed', jobId: row.id, data: { output } });
}

/** Ends a locked, unfinished row in error. */
async function failRow(tx: Tx, row: JobRow, failure: JobFailure): Promise<void> {
  const refund = refundOnFailure(row);
  await tx
    .update(jobs)
    .set({
      status: transitions.fail.to,
      etaSeconds: null,
      errorCode: failure.code,
      errorMessage: failure.message,
      creditsRefunded: row.creditsCharged,
      finishedAt: sql`now()`,
      ...noLease,
    })
    .where(and(eq(jobs.id, row.id), mayMove('fail')));
  await enqueueDestroy(tx, row.id);
  await createDelivery(tx, row, 'job.failed');
  if (refund > 0) {
    await postTransfer(tx, { kind: 'refund', accountId: row.accountId, jobId: row.id, credits: refund });
  }
  const data = { code: failure.code, refunded_credits: refund };
  await appendEvent(tx, { accountId: row.accountId, kind: 'job.failed', jobId: row.id, data });
}

/**
 * Gives up a lease. A job that this worker still holds is queued again at once. For a job that was deleted or lost, what
 * the attempt stored is destroyed. Safe to call at any time.
 */
async function release(tx: Tx, fence: Fence): Promise<void> {
  const [ours] = await tx.update(jobs).set(noLease).where(heldBy(fence)).returning();
  if (ours) return enqueueStep(tx, ours);
  await tx
    .update(jobs)
    .set(noLease)
    .where(and(eq(jobs.id, fence.jobId), eq(jobs.attempt, fence.attempt), eq(jobs.leaseOwner, fence.owner)));
  // This attempt may have stored a file after its objects were destroyed, so they count as present again.
  await tx
    .update(objects)
    .set({ state: 'pending', destroyedAt: null })
    .where(and(eq(objects.jobId, fence.jobId), eq(objects.attempt, fence.attempt), eq(objects.state, 'destroyed')));
  await enqueueDestroy(tx, fence.jobId);
}

export interface SweptLeases {
  requeued: string[];
  failed: string[];
}

async function sweepExpired(db: Db, maxCrashes: number): Promise<SweptLeases> {
  const expired = and(sql`${jobs.leaseExpiresAt} < clock_timestamp()`, mayMove('continue'));
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(expired).limit(100);
  const swept: SweptLeases = { requeued: [], failed: [] };
  for (const { id } of candidates) {
    const outcome = await transact(db, async (tx) => {
      const which = and(eq(jobs.id, id), expired);
      const [row] = await tx.select().from(jobs).where(which).for('no key update', { skipLocked: true });
      if (!row) return null;
      const crashes = row.crashes + 1;
      await tx
        .update(jobs)
        .set({ crashes, ...noLease })
        .where(eq(jobs.id, id));
      if (crashes < maxCrashes) {
        await enqueueStep(tx, row);
        return 'requeued';
      }
      const message = `Processing stopped unexpectedly ${crashes} times.`;
      await failRow(tx, row, { code: 'processing_failed', message });
      return 'failed';
    });
    if (outcome) swept[outcome].push(id);
  }
  return swept;
}

/**
 * A safety net: queues up to `limit` open jobs without a lease again when no queue row can run for them any more, because
 * a dead worker locks it or the queue gave up on it. Returns their ids.
 */
async function requeueOrphans(db: Db, limit: number): Promise<string[]> {
  const orphan = and(
    isOpen,
    isNull(jobs.leaseOwner),
    sql`NOT EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = 'step:' || ${jobs.id}
      AND CASE WHEN q.locked_at IS NULL THEN q.attempts < q.max_attempts
        ELSE q.locked_at > now() - interval '1 minute'
          OR EXISTS (SELECT 1 FROM workers w WHERE q.locked_by = ANY (w.pools)) END)`,
  );
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(orphan).limit(limit);
  const queued: string[] = [];
  for (const { id } of candidates) {
    await transact(db, async (tx) => {
      const [row] = await tx
        .select()
        .from(jobs)
        .where(and(eq(jobs.id, id), orphan))
        .for('no key update', { skipLocked: true });
      if (!row) return;
      await enqueueStep(tx, row);
      queued.push(id);
    });
  }
  return queued;
}

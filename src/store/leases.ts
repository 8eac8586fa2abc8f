/**
 * Leases of workers on jobs. A worker acquires a lease on a job and renews it. Each new lease increments the job's attempt,
 * and each write names its attempt, so a worker whose lease has expired cannot change the job.
 */
import { and, eq, getTableColumns, inArray, isNull, not, notInArray, or, sql, type SQLWrapper } from './orm.ts';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import type { JobErrorCode } from '../domain/errors.ts';
import type { AppliedEnhancements, JobPicture, JobRecord, OutputFacts, SourceFacts } from '../domain/job.ts';
import type { PreviewClip, Stretch } from '../domain/previews.ts';
import { refundOnFailure } from '../domain/refunds.ts';
import { type TransitionName, transitions } from '../domain/transitions.ts';
import { type Batch, type Db, inAnyOrder, transact, type Tx, withEach } from './database.ts';
import { createDeliveries } from './deliveries.ts';
import { appendEvent, eventOf } from './events.ts';
import { type Fence, LeaseLost } from './fence.ts';
import { type JobRow, toJobRecord } from './job-rows.ts';
import { isOpen, allowsTransition } from './job-states.ts';
import { postTransfer } from './ledger.ts';
import { markStored, type StoredFile } from './objects.ts';
import { dequeueSegments, enqueueDestroy, enqueueStep, hasUsableRow, queuedSteps } from './queue.ts';
import { type DeviceClass, idOfJob, jobs, longestEtaS, objects, type segments, type Step } from './schema.ts';

/**
 * The times (`…ForS`, in seconds) are those when the lease was acquired, and null if the last attempt ended in another way. The
 * database computes them, because clocks of workers may differ.
 */
export interface Lease {
  job: JobRecord;
  fence: Fence;
  step: Step;
  originalKey: string | null;
  /** decisions for the segments; null: there are none */
  segmentPlan: string | null;
  /** the video must not be cut into segments */
  inOnePiece: boolean;
  /** the device class that is to enhance it; null: any */
  deviceClass: DeviceClass | null;
  /** traceparent of the request that created the job */
  traceparent: string | null;
  /** number of earlier counted failures of this step */
  failures: number;
  /** how long disk space has been short, with no other job that could free any */
  diskFullForS: number | null;
  /** how long the job has waited for disk space, whether or not other jobs could free some */
  diskWaitForS: number | null;
  /** how long all its attempts have ended with faults of the storage or the database */
  infrastructureFaultForS: number | null;
}

export interface RetryLater {
  delayS: number;
  /** whether the failure counts towards `Lease.failures` (default true) */
  counts?: boolean;
  /** why disk space is short: `behind_others` if other jobs may free some, `disk_full` if none can; null (default): it is not */
  diskWait?: 'behind_others' | 'disk_full' | null;
  /** whether the storage or the database is at fault (default false) */
  infrastructureFault?: boolean;
}

export interface JobFailure {
  code: JobErrorCode;
  message: string;
}

/** The condition that this worker holds the lease and that the job's state allows the transition. */
const heldBy = ({ jobId, attempt, owner }: Fence, transition: TransitionName = 'continue') =>
  and(eq(jobs.id, jobId), eq(jobs.attempt, attempt), eq(jobs.leaseOwner, owner), allowsTransition(transition));

/** Changes the row of a job whose lease this worker holds. Throws LeaseLost. */
export async function updateHeld(tx: Tx, fence: Fence, values: PgUpdateSetSource<typeof jobs>, transition?: TransitionName): Promise<JobRow> {
  const [row] = await tx.update(jobs).set(values).where(heldBy(fence, transition)).returning();
  if (!row) throw new LeaseLost(fence.jobId);
  return row;
}

/** Locks the row of a job whose lease this worker holds. Throws LeaseLost. */
export async function lockHeld(tx: Tx, fence: Fence, transition?: TransitionName): Promise<JobRow> {
  const [row] = await tx.select().from(jobs).where(heldBy(fence, transition)).for('no key update');
  if (!row) throw new LeaseLost(fence.jobId);
  return row;
}

export const leaseEnd = (seconds: number) => sql`clock_timestamp() + make_interval(secs => ${seconds}::float8)`;
/** Seconds since a time; null for none. */
export const secondsSince = (time: SQLWrapper) => sql<number | null>`extract(epoch FROM clock_timestamp() - ${time})::float8`;
export const noLease = { leaseOwner: null, leaseExpiresAt: null };
export const noWait = { insufficientDiskSince: null, diskWaitSince: null, infrastructureFaultSince: null };

/** When a wait began that goes on, or begins now; null once it is over. */
const stillSince = (began: SQLWrapper, isGoingOn: boolean) => (isGoingOn ? sql`coalesce(${began}, now())` : null);

/** What the rows of jobs and those of segments note of a failure. */
export const afterFailure = (row: typeof jobs | typeof segments, { counts = true, diskWait = null, infrastructureFault = false }: RetryLater) => ({
  ...(counts ? { failures: sql`${row.failures} + 1` } : {}),
  diskWaitSince: stillSince(row.diskWaitSince, diskWait !== null),
  infrastructureFaultSince: stillSince(row.infrastructureFaultSince, infrastructureFault),
});

export function leaseQueries(db: Db) {
  return {
    /**
     * Acquires the lease of a job that waits for `step`. Returns null if the job has ended, is at another step, has a
     * lease, or is to be joined by another engine. An expired lease counts until sweepExpired removes it and counts the crash.
     */
    acquire: (jobId: string, step: Step, owner: string, leaseSeconds: number, { isRepeated = false, engine = null }: LeaseOptions = {}) =>
      transact(db, (tx) => acquire(tx, { jobId, step, owner, leaseSeconds, isRepeated, engine })),

    /** Renews the lease; false if it is lost. */
    async heartbeat(fence: Fence, leaseSeconds: number): Promise<boolean> {
      const rows = await db
        .update(jobs)
        .set({ leaseExpiresAt: leaseEnd(leaseSeconds) })
        .where(heldBy(fence))
        .returning({ id: jobs.id });
      return rows.length === 1;
    },

    /** Writes progress (0…1, kept below 1; what is shown is never lowered) and renews the lease; false if it is lost. */
    async progress(fence: Fence, at: { fraction: number; etaSeconds: number | null }, leaseSeconds: number) {
      const fraction = Math.min(0.999, Math.max(0, at.fraction));
      const rows = await db
        .update(jobs)
        .set({
          progress: sql`greatest(${jobs.progress}, ${fraction}::float8)`,
          attemptProgress: fraction,
          etaSeconds: at.etaSeconds === null ? null : Math.min(longestEtaS, Math.max(0, Math.ceil(at.etaSeconds))),
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
        const row = await updateHeld(tx, fence, { step: 'enhance', originalKey: original.key, source: facts, failures: 0, ...noWait, ...noLease });
        await markStored(tx, original);
        await enqueueStep(tx, row);
      }),

    /** The output is stored: the job is done. Throws LeaseLost. */
    finish: (fence: Fence, result: FinishedJob) => transact(db, (tx) => finish(tx, fence, result)),

    /** The clips of a preview are stored: it is done. Throws LeaseLost. */
    finishPreview: (fence: Fence, result: FinishedPreview) => transact(db, (tx) => finishPreview(tx, fence, result)),

    /** The job ends in error with a full refund, once. Throws LeaseLost. */
    fail: (fence: Fence, failure: JobFailure) =>
      transact(db, async (tx) => failRow(tx, await lockHeld(tx, fence, 'fail'), failure)),

    /** Gives up the lease after a temporary failure, and queues the step to run again after `delayS`. Throws LeaseLost. */
    retryLater: (fence: Fence, how: RetryLater) => transact(db, (tx) => retryLater(tx, fence, how)),

    release: (fence: Fence) => transact(db, (tx) => release(tx, fence)),

    wait: (jobId: string, step: Step, planOf: (job: JobRecord) => WaitPlan) =>
      transact(db, (tx) => wait(tx, jobId, step, planOf)),

    /** Removes expired leases and queues their jobs again. A job fails if `maxCrashes` of its leases have expired. */
    sweepExpired: (maxCrashes: number) => sweepExpired(db, maxCrashes),

    requeueOrphans: (limit: number) => requeueOrphans(db, limit),

    /** Returns the jobs whose original is stored but whose result is not. */
    async pendingEnhancements(): Promise<Pick<JobRecord, 'id' | 'resolution' | 'durationSeconds' | 'source' | 'outputSettings' | 'preview'>[]> {
      const { id, resolution, durationSeconds, source, outputSettings, preview } = getTableColumns(jobs);
      return db
        .select({ id, resolution, durationSeconds, source, outputSettings, preview })
        .from(jobs)
        .where(and(inArray(jobs.step, ['enhance', 'segments', 'join']), eq(jobs.status, 'running'), isNull(jobs.deletedAt)));
    },
  };
}

const waits = {
  diskFullForS: secondsSince(jobs.insufficientDiskSince),
  diskWaitForS: secondsSince(jobs.diskWaitSince),
  infrastructureFaultForS: secondsSince(jobs.infrastructureFaultSince),
};

export interface LeaseOptions {
  /** the response to an earlier call was lost, so the owner may have the lease without knowing it, and gets a new one; default: false */
  isRepeated?: boolean;
  /** id of the owner's engine, for a join; null: it has none */
  engine?: string | null;
}

interface Acquisition extends Required<LeaseOptions> {
  jobId: string;
  step: Step;
  owner: string;
  leaseSeconds: number;
}

async function acquire(tx: Tx, { jobId, step, owner, leaseSeconds, isRepeated, engine }: Acquisition): Promise<Lease | null> {
  const [row] = await tx
    .update(jobs)
    .set({
      status: transitions.start.to,
      startedAt: sql`coalesce(${jobs.startedAt}, now())`,
      attempt: sql`${jobs.attempt} + 1`,
      attemptProgress: 0,
      leaseOwner: owner,
      leaseExpiresAt: leaseEnd(leaseSeconds),
    })
    .where(and(waitsFor(jobId, step, isRepeated ? owner : null), step === 'join' ? isJoinedBy(engine) : undefined))
    .returning({ ...getTableColumns(jobs), ...waits, isFirst: sql<boolean>`started_at = now()` });
  if (!row) return null;
  if (row.attempt > 1) await enqueueLeftovers(tx, row);
  if (row.isFirst) await appendEvent(tx, { accountId: row.accountId, kind: eventOf(row, 'started'), jobId });
  return {
    job: toJobRecord(row),
    fence: { jobId, attempt: row.attempt, owner },
    step,
    originalKey: row.originalKey,
    segmentPlan: row.segmentPlan,
    inOnePiece: row.inOnePiece,
    deviceClass: row.deviceClass,
    traceparent: row.traceparent,
    failures: row.failures,
    diskFullForS: row.diskFullForS,
    diskWaitForS: row.diskWaitForS,
    infrastructureFaultForS: row.infrastructureFaultForS,
  };
}

async function retryLater(tx: Tx, fence: Fence, how: RetryLater): Promise<void> {
  const insufficientDiskSince = stillSince(jobs.insufficientDiskSince, how.diskWait === 'disk_full');
  const row = await updateHeld(tx, fence, { ...afterFailure(jobs, how), insufficientDiskSince, ...noLease });
  await enqueueStep(tx, row, how.delayS);
}

/** The wait of a test job: its length, and the interval of its progress updates. */
export interface WaitPlan {
  totalS: number;
  tickS: number;
}

/**
 * Lets a test job wait in the queue, so that it uses no worker slot: writes its progress and queues the step again. Then
 * returns null, as for a job that does not wait for the step. If the rest of the wait is too short for the queue, returns it
 * in seconds (0: the wait is over).
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
  if (row.startedAt === null) await appendEvent(tx, { accountId: row.accountId, kind: eventOf(row, 'started'), jobId });
  return null;
}

/** seconds; the worker itself does a shorter wait, because workers poll for due rows once a second */
const shortestQueuedS = 0.5;

/** The condition that the job waits for that step and nobody holds its lease, or nobody but `owner`. */
const waitsFor = (jobId: string, step: Step, owner: string | null = null) =>
  and(
    eq(jobs.id, jobId),
    eq(jobs.step, step),
    or(isNull(jobs.leaseOwner), owner === null ? undefined : eq(jobs.leaseOwner, owner)),
    allowsTransition('start'),
  );

/** The condition that the job's pieces are of that engine, or of workers that named none. */
const isJoinedBy = (engine: string | null) =>
  sql`NOT EXISTS (SELECT FROM segments s WHERE s.job_id = ${idOfJob} AND s.engine IS NOT NULL AND s.engine IS DISTINCT FROM ${engine}::text)`;

/** Queues the deletion of objects that earlier attempts left in the storage. */
async function enqueueLeftovers(tx: Tx, row: JobRow): Promise<void> {
  const [left] = await tx
    .select({ key: objects.key })
    .from(objects)
    .where(
      and(
        eq(objects.jobId, row.id),
        sql`${objects.state} <> 'destroyed'`,
        notInArray(objects.key, usedKeys(row)),
      ),
    )
    .limit(1);
  if (left) await enqueueDestroy(tx, row.id);
}

/** Keys of the objects that the row refers to. */
function usedKeys({ originalKey, outputKey, pictures, preview }: JobRow): string[] {
  const parts = [...(pictures ?? []), ...(preview?.clips ?? [])];
  return [originalKey, outputKey, ...parts.map(({ key }) => key)].filter((key) => key !== null);
}

export interface FinishedPreview {
  stretches: Stretch[];
  clips: PreviewClip[];
  /** the files of the clips; none if several jobs share them and deleting the preview does not delete them */
  stored: StoredFile[];
}

/** The clips are stored: the preview is done, and its copy of the video is no longer needed. */
async function finishPreview(tx: Tx, fence: Fence, { stretches, clips, stored }: FinishedPreview): Promise<void> {
  const made = JSON.stringify({ stretches, clips });
  const row = await updateHeld(tx, fence, { ...finished, originalKey: null, preview: sql`${jobs.preview} || ${made}::jsonb` }, 'finish');
  for (const file of stored) await markStored(tx, file);
  await enqueueLeftovers(tx, row);
  await appendEvent(tx, { accountId: row.accountId, kind: eventOf(row, 'completed'), jobId: row.id, data: { stretches } });
}

/** The final values of a row when its work is done. */
const finished = { status: transitions.finish.to, progress: 1, etaSeconds: null, finishedAt: sql`now()`, ...noLease };

export interface FinishedJob {
  stored: StoredFile;
  /** several jobs share the file: deleting the job does not delete it */
  isShared?: boolean;
  output: OutputFacts;
  /** stored like the result */
  pictures?: { stored: StoredFile; picture: JobPicture }[];
  applied: AppliedEnhancements | null;
}

async function finish(tx: Tx, fence: Fence, { stored, isShared = false, output, pictures = [], applied }: FinishedJob) {
  const shown = pictures.length === 0 ? null : pictures.map(({ picture }) => picture);
  const row = await updateHeld(tx, fence, { ...finished, output, applied, outputKey: stored.key, segmentPlan: null, pictures: shown }, 'finish');
  if (!isShared) await markStored(tx, stored);
  for (const { stored: file } of pictures) await markStored(tx, file);
  await enqueueLeftovers(tx, row);
  await createDeliveries(tx, row, 'job.completed');
  await appendEvent(tx, { accountId: row.accountId, kind: 'job.completed', jobId: row.id, data: { output } });
}

/** Ends a locked, unfinished row in error. */
export async function failRow(tx: Tx, row: JobRow, failure: JobFailure): Promise<void> {
  const refund = refundOnFailure(row);
  await tx
    .update(jobs)
    .set({
      status: transitions.fail.to,
      etaSeconds: null,
      errorCode: failure.code,
      errorMessage: failure.message,
      creditsRefunded: row.creditsCharged,
      segmentPlan: null,
      finishedAt: sql`now()`,
      ...noLease,
    })
    .where(and(eq(jobs.id, row.id), allowsTransition('fail')));
  await dequeueSegments(tx, row.id);
  await enqueueDestroy(tx, row.id);
  await createDeliveries(tx, row, 'job.failed');
  if (refund > 0) {
    await postTransfer(tx, { kind: 'refund', accountId: row.accountId, jobId: row.id, credits: refund });
  }
  const data = { code: failure.code, refunded_credits: refund };
  await appendEvent(tx, { accountId: row.accountId, kind: eventOf(row, 'failed'), jobId: row.id, data });
}

/**
 * Gives up a lease. If this worker still holds it, the job is queued again at once. If the job was deleted or the lease
 * was lost, queues the deletion of the objects of this attempt. Safe to call at any time.
 */
async function release(tx: Tx, fence: Fence): Promise<void> {
  const [ours] = await tx.update(jobs).set(noLease).where(heldBy(fence)).returning();
  if (ours) return enqueueStep(tx, ours);
  await tx
    .update(jobs)
    .set(noLease)
    .where(and(eq(jobs.id, fence.jobId), eq(jobs.attempt, fence.attempt), eq(jobs.leaseOwner, fence.owner)));
  // This attempt may have stored a file after its objects were destroyed, so mark them for deletion again.
  await tx
    .update(objects)
    .set({ state: 'pending', destroyedAt: null })
    .where(and(eq(objects.jobId, fence.jobId), eq(objects.attempt, fence.attempt), eq(objects.state, 'destroyed')));
  await enqueueDestroy(tx, fence.jobId);
}

/** A job that ended because its workers crashed too often; its code is `processing_failed`. */
export type CrashedJob = Pick<JobRecord, 'id' | 'mode'>;

export interface SweptLeases {
  requeued: string[];
  failed: CrashedJob[];
  /** of rows whose lease could not be taken away */
  errors: unknown[];
}

/** null: others have dealt with the row */
export type SweptRow = 'requeued' | CrashedJob | null;

/** Passes each row to `sweep`, and goes on with the others if one fails. */
export async function sweepEach<R>(rows: readonly R[], nameOf: (row: R) => string, sweep: (row: R) => Promise<SweptRow>): Promise<SweptLeases> {
  const swept: SweptLeases = { requeued: [], failed: [], errors: [] };
  for (const row of rows) {
    const outcome = await sweep(row).catch((error: unknown) => void swept.errors.push(error));
    if (outcome === 'requeued') swept.requeued.push(nameOf(row));
    else if (outcome) swept.failed.push(outcome);
  }
  return swept;
}

async function sweepExpired(db: Db, maxCrashes: number): Promise<SweptLeases> {
  const expired = and(inArray(jobs.step, queuedSteps), sql`${jobs.leaseExpiresAt} < clock_timestamp()`, allowsTransition('continue'));
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(expired).orderBy(inAnyOrder).limit(100);
  return sweepEach(candidates, ({ id }) => id, ({ id }) =>
    transact(db, async (tx) => {
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
      return { id, mode: row.mode };
    }),
  );
}

/**
 * Queues open jobs again, up to `limit`, that have no lease and no usable queue row: a dead worker has locked it, or it has
 * no attempts left.
 */
async function requeueOrphans(db: Db, limit: number): Promise<Batch> {
  const orphan = and(
    isOpen,
    // Segments are queued by src/store/segments.ts, and steps of a newer version by its workers.
    inArray(jobs.step, queuedSteps),
    isNull(jobs.leaseOwner),
    not(hasUsableRow(sql`'step:' || ${jobs.id}`)),
  );
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(orphan).limit(limit);
  return withEach(candidates, ({ id }) =>
    transact(db, async (tx) => {
      const [row] = await tx
        .select()
        .from(jobs)
        .where(and(eq(jobs.id, id), orphan))
        .for('no key update', { skipLocked: true });
      if (row) await enqueueStep(tx, row);
      return row !== undefined;
    }),
  );
}

/**
 * Segments of videos. Each has a lease of its own, so that several workers enhance one video. The attempt of a segment grows
 * with every lease, and each write names it. Where a query locks both, the job's row comes first.
 */
import { and, asc, eq, exists, getTableColumns, inArray, isNull, ne, or, type SQL, sql } from './orm.ts';
import type { JobRecord } from '../domain/job.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import type { Fence } from './fence.ts';
import { type JobRow, toJobRecord } from './job-rows.ts';
import { allowsTransition } from './job-states.ts';
import type { JobSegment } from './types.ts';
import { afterFailure, failRow, type JobFailure, leaseEnd, lockHeld, noWait, noLease, type RetryLater, secondsSince, updateHeld } from './leases.ts';
import { markStored, type StoredFile } from './objects.ts';
import { enqueueDestroy, enqueueNextSegments, enqueueSegment, enqueueStep } from './queue.ts';
import { type DeviceClass, jobs, longestEtaS, objects, type SegmentResult, segments, workers } from './schema.ts';
import { refill, replanUnserved, requeueOrphans, sweepExpired, type UnservedWait } from './segment-recovery.ts';
import { held, idle, isFor, isPlannedBy, isSegment, isWanted, lockJob, queueRow, type SegmentFence, type SegmentMaker, startOver } from './segment-rows.ts';

export interface SegmentSpan {
  startSeconds: number;
  endSeconds: number;
  frames: number;
}

export interface SegmentLease {
  job: JobRecord;
  fence: SegmentFence;
  originalKey: string | null;
  /** SegmentPlan.text of the engine */
  plan: string;
  span: SegmentSpan;
  /** of the device that is to make it */
  deviceClass: DeviceClass;
  isLast: boolean;
  traceparent: string | null;
  /** number of earlier failures that counted */
  failures: number;
  /** as in Lease */
  diskWaitForS: number | null;
  infrastructureFaultForS: number | null;
}

/** A finished piece. */
export interface Piece {
  number: number;
  key: string;
  /** lower-case hex */
  sha256: string;
  result: SegmentResult;
}

/** The share of a job's progress that is left for joining. */
const joiningShare = 0.02;

/** The progress of all segments of a job together, as that of the job; null without segments. */
const shareOfSegments = (progress: SQL) => sql<number | null>`${1 - joiningShare}::float8 * sum(${progress} * frames) / sum(frames)`;

/** Smaller steps of a job's progress are not written while its segments run: many workers report every second, and each write notifies its watchers. */
const smallestStep = 0.0025;

/** The same for the time left while a segment is made anew: its share, and at least a second. */
const smallestStepOfEta = 0.02;

export interface WaitingSegment {
  number: number;
  /** whether it has failed and waits until it is tried again */
  isDelayed: boolean;
}

const isDelayed = sql<boolean>`EXISTS (SELECT FROM graphile_worker.jobs q
  WHERE q.key = 'segment:' || ${segments.jobId} || ':' || ${segments.number} AND q.locked_at IS NULL AND q.run_at > clock_timestamp())`;

export function segmentQueries(db: Db) {
  const jobIsWanted = exists(db.select({ one: sql`1` }).from(jobs).where(and(eq(jobs.id, segments.jobId), isWanted)));
  return {
    /** The video is cut: queues the first `atOnce` segments and gives up the job's lease. Throws LeaseLost. */
    planned: (fence: Fence, plan: PlannedSegments) => transact(db, (tx) => planned(tx, fence, plan)),

    /**
     * Acquires the lease of a segment; null if the segment is not pending, its job no longer needs it, or it is for another device class or
     * engine: a queue row that was fetched before the video was planned again names a segment of both plans.
     */
    acquire: (jobId: string, number: number, how: SegmentAcquisition) => transact(db, (tx) => acquire(tx, { jobId, number }, how)),

    /** A job's queued segments that no worker has, and that this one can make, in order. */
    waiting: (jobId: string, maker: SegmentMaker): Promise<WaitingSegment[]> =>
      db
        .select({ number: segments.number, isDelayed })
        .from(segments)
        .where(and(eq(segments.jobId, jobId), eq(segments.state, 'pending'), segments.queued, isFor(maker)))
        .orderBy(asc(segments.number)),

    /** Renews the lease; false when it is lost. */
    async heartbeat(fence: SegmentFence, leaseSeconds: number): Promise<boolean> {
      const rows = await db
        .update(segments)
        .set({ leaseExpiresAt: leaseEnd(leaseSeconds) })
        .where(and(held(fence), jobIsWanted))
        .returning({ number: segments.number });
      return rows.length === 1;
    },

    /** Writes the progress of the segment and of its job, and renews the lease; false when it is lost. */
    async progress(fence: SegmentFence, fraction: number, leaseSeconds: number): Promise<boolean> {
      const rows = await db
        .update(segments)
        .set({
          progress: Math.min(0.999, Math.max(0, fraction)),
          leaseExpiresAt: leaseEnd(leaseSeconds),
        })
        .where(and(held(fence), jobIsWanted))
        .returning({ number: segments.number });
      if (rows.length === 1) await showProgress(db, fence.jobId, smallestStep);
      return rows.length === 1;
    },

    /** Registers the piece of this attempt before it is stored, and returns its key. Throws LeaseLost. */
    registerPendingPiece: (fence: SegmentFence): Promise<string> => transact(db, (tx) => registerPendingPiece(tx, fence)),

    /** The piece is stored. Queues the next segment, or the join after the last one. Throws LeaseLost. */
    finish: (fence: SegmentFence, piece: FinishedPiece) => transact(db, (tx) => finish(tx, fence, piece)),

    /** Gives up the lease after a temporary failure, and queues the segment again after `delayS`. Throws LeaseLost. */
    retryLater: (fence: SegmentFence, how: RetryLater) => transact(db, (tx) => retryLater(tx, fence, how)),

    /**
     * The segment failed on its device class: the video is planned again, on the other class. Returns false, and changes nothing,
     * if no worker has that class or the video was moved before. Throws LeaseLost.
     */
    moveToOtherClass: (fence: SegmentFence) => transact(db, (tx) => moveToOtherClass(tx, fence)),

    /**
     * Lets any worker plan jobs again that have waited for a device class or an engine that no worker has, while others run. Up to
     * `limit`.
     */
    replanUnserved: (wait: UnservedWait, limit: number) => replanUnserved(db, wait, limit),

    /** The job ends in error with a full refund, once. Throws LeaseLost. */
    fail: (fence: SegmentFence, failure: JobFailure) =>
      transact(db, async (tx) => {
        const row = await lockJob(tx, fence);
        await tx.update(segments).set(idle).where(held(fence));
        await failRow(tx, row, failure);
      }),

    /** Gives up the lease. A segment that is still wanted is queued again at once. Safe to call at any time. */
    release: (fence: SegmentFence) => transact(db, (tx) => release(tx, fence)),

    /** The segments cannot be made as planned: the video is enhanced in one piece. Throws LeaseLost. */
    giveUp: (fence: SegmentFence) =>
      transact(db, async (tx) => {
        await lockJob(tx, fence);
        await tx.update(segments).set(idle).where(held(fence));
        await startOver(tx, fence.jobId, { inOnePiece: true });
      }),

    /** The same, when the pieces cannot be joined; `fence` is that of the join. Throws LeaseLost. */
    giveUpJoin: (fence: Fence) =>
      transact(db, async (tx) => {
        await lockHeld(tx, fence);
        await startOver(tx, fence.jobId, { inOnePiece: true });
      }),

    /**
     * Pieces that are missing in the storage, or damaged there, are made again. Each loss counts as a failure of its segment: where
     * one has failed `maxFailures` times, the job ends in error with a full refund, and the result is false. Throws LeaseLost.
     */
    remake: (fence: Fence, lost: LostPieces) => transact(db, (tx) => remake(tx, fence, lost)),

    /** The pieces of a job, in order. */
    async pieces(jobId: string): Promise<Piece[]> {
      const rows = await db.select().from(segments).where(and(eq(segments.jobId, jobId), eq(segments.state, 'done'))).orderBy(asc(segments.number));
      return rows.map(({ number, objectKey, sha256, result }) => ({ number, key: objectKey!, sha256: sha256!, result: result! }));
    },

    /** Removes expired leases and queues their segments again. A job fails when `maxCrashes` leases of one have expired. */
    sweepExpired: (maxCrashes: number) => sweepExpired(db, maxCrashes),

    /** Queues up to `limit` pending segments again that have no queue row that can still run. */
    requeueOrphans: (limit: number) => requeueOrphans(db, limit),

    /** Queues segments of up to `limit` jobs that have fewer than `atOnce` waiting or running. */
    refill: (atOnce: number, limit: number) => refill(db, atOnce, limit),

    /** Forgets the segments of a job that has ended, unless a worker may still write one. */
    async forget(jobId: string): Promise<void> {
      const ended = sql`SELECT 1 FROM ${jobs} WHERE ${jobs.id} = ${jobId} AND NOT (${allowsTransition('start')})`;
      await db.delete(segments).where(and(eq(segments.jobId, jobId), isNull(segments.leaseOwner), sql`EXISTS (${ended})`));
    },
  };
}

/** The segments of a job in order; empty when it has none. */
export async function segmentsOf(db: Db, jobId: string): Promise<JobSegment[]> {
  const { number, startSeconds, endSeconds, state, progress, objectKey } = segments;
  const rows = await db
    .select({ number, startSeconds, endSeconds, state, progress, key: objectKey })
    .from(segments)
    .where(eq(segments.jobId, jobId))
    .orderBy(asc(number));
  return rows.map(({ key, ...row }) => ({ ...row, key: row.state === 'done' ? key : null }));
}

/**
 * The share of a running job that is processed and not lost: of its segments as they stand, otherwise of the attempt that holds the lease.
 * What an expired lease has done is lost, also before the lease is removed. `jobs.progress` never falls, so it may be more.
 */
export async function processedShare(on: Executor, { id }: Pick<JobRow, 'id'>): Promise<number> {
  const isHeld = sql`lease_expires_at >= clock_timestamp()`;
  const kept = sql`CASE WHEN state = 'done' OR ${isHeld} THEN progress ELSE 0 END`;
  const [ofSegments] = await on.select({ share: shareOfSegments(kept) }).from(segments).where(eq(segments.jobId, id));
  const [ofAttempt] = await on.select({ share: jobs.attemptProgress }).from(jobs).where(and(eq(jobs.id, id), isHeld));
  return ofSegments?.share ?? ofAttempt?.share ?? 0;
}

export interface PlannedSegments {
  text: string;
  deviceClass: DeviceClass;
  /** id of the engine that planned them and is to make and join them */
  engine: string;
  segments: SegmentSpan[];
  /** how many of them may wait or run at a time */
  atOnce: number;
}

export interface FinishedPiece {
  stored: StoredFile;
  result: SegmentResult;
  /** as in PlannedSegments */
  atOnce: number;
}

export interface LostPieces {
  numbers: number[];
  /** failures of a segment that end the job */
  maxFailures: number;
  /** as in PlannedSegments */
  atOnce: number;
}

async function planned(tx: Tx, fence: Fence, { text, deviceClass, engine, segments: spans, atOnce }: PlannedSegments): Promise<void> {
  await updateHeld(tx, fence, { step: 'segments', segmentPlan: text, failures: 0, ...noWait, ...noLease });
  await tx.insert(segments).values(spans.map((span, number) => ({ jobId: fence.jobId, number, deviceClass, engine, queued: false, ...span })));
  await enqueueNextSegments(tx, fence.jobId, atOnce);
}

export interface SegmentAcquisition extends SegmentMaker {
  owner: string;
  leaseSeconds: number;
  /** as for leases of jobs; default: false */
  isRepeated?: boolean;
}

async function acquire(tx: Tx, which: { jobId: string; number: number }, { owner, leaseSeconds, isRepeated = false, ...maker }: SegmentAcquisition): Promise<SegmentLease | null> {
  const [job] = await tx.select().from(jobs).where(and(eq(jobs.id, which.jobId), isWanted));
  if (!job || job.segmentPlan === null) return null;
  const isFree = or(eq(segments.state, 'pending'), isRepeated ? eq(segments.leaseOwner, owner) : undefined);
  // The video may have been planned again after the job was read.
  const isOfPlan = isPlannedBy({ jobId: job.id, plan: job.attempt });
  const [row] = await tx
    .update(segments)
    .set({
      state: 'running',
      attempt: sql`${segments.attempt} + 1`,
      progress: 0,
      objectKey: null,
      startedAt: sql`clock_timestamp()`,
      leaseOwner: owner,
      leaseExpiresAt: leaseEnd(leaseSeconds),
    })
    .where(and(isSegment(which), isFree, isOfPlan, isFor(maker)))
    .returning({
      ...getTableColumns(segments),
      diskWaitForS: secondsSince(segments.diskWaitSince),
      infrastructureFaultForS: secondsSince(segments.infrastructureFaultSince),
    });
  if (!row) return null;
  // An earlier attempt may have stored its piece, which no segment uses any more.
  if (row.attempt > 1) await enqueueDestroy(tx, which.jobId);
  const [later] = await tx.select({ number: segments.number }).from(segments).where(and(eq(segments.jobId, which.jobId), sql`${segments.number} > ${which.number}`)).limit(1);
  const { startSeconds, endSeconds, frames, deviceClass, failures, diskWaitForS, infrastructureFaultForS } = row;
  return {
    job: toJobRecord(job),
    // A job's attempt grows with each plan, and stays the same while its segments are made.
    fence: { ...which, plan: job.attempt, attempt: row.attempt, owner, pieceKey: `jobs/${which.jobId}/segments/${which.number}-${job.attempt}-${row.attempt}.mp4` },
    originalKey: job.originalKey,
    plan: job.segmentPlan,
    span: { startSeconds, endSeconds, frames },
    deviceClass,
    isLast: later === undefined,
    traceparent: job.traceparent,
    failures,
    diskWaitForS,
    infrastructureFaultForS,
  };
}

/**
 * Writes the progress of a job, which is that of all its segments together, unless it has grown by less than `least`. The time left
 * is that of the frames left at the speed of the segments that run now, and at least that of the slowest of these. It stays as it is
 * while none of them has a speed yet. While a segment is made anew, the progress stays as it was, and the time left is written alone.
 */
async function showProgress(on: Executor, jobId: string, least = 0): Promise<void> {
  await on.execute(sql`UPDATE jobs SET progress = greatest(jobs.progress, p.done), eta_seconds = coalesce(p.eta_s, eta_seconds)
    FROM (SELECT done, CASE WHEN left_s >= ${longestEtaS}::int THEN ${longestEtaS}::int ELSE ceil(left_s)::int END AS eta_s FROM (
      SELECT ${shareOfSegments(sql`progress`)} AS done,
        greatest(max((1 - progress) * frames / nullif(speed, 0)), sum((1 - progress) * frames) / nullif(sum(speed), 0)) AS left_s
      FROM (SELECT progress, frames, CASE WHEN state = 'running' AND progress > 0
          THEN progress * frames / greatest(0.001, extract(epoch FROM clock_timestamp() - started_at)) END AS speed
        FROM segments WHERE job_id = ${jobId}) s) t) p
    WHERE id = ${jobId} AND step = 'segments' AND status = 'running' AND deleted_at IS NULL AND CASE WHEN p.done < jobs.progress
      THEN abs(p.eta_s::float8 - coalesce(eta_seconds, 0)) >= greatest(1, ${smallestStepOfEta}::float8 * p.eta_s)
      ELSE p.done >= jobs.progress + ${least}::float8 END`);
}

async function registerPendingPiece(tx: Tx, fence: SegmentFence): Promise<string> {
  const row = await lockJob(tx, fence);
  const key = fence.pieceKey;
  // It exists already if the response to the first attempt was lost.
  await tx.insert(objects).values({ key, jobId: fence.jobId, attempt: row.attempt, role: 'segment' }).onConflictDoNothing();
  await tx.update(segments).set({ objectKey: key }).where(held(fence));
  return key;
}

async function finish(tx: Tx, fence: SegmentFence, { stored, result, atOnce }: FinishedPiece): Promise<void> {
  await lockJob(tx, fence);
  await tx
    .update(segments)
    .set({ ...noLease, state: 'done', progress: 1, sha256: stored.sha256, result, diskWaitSince: null, infrastructureFaultSince: null })
    .where(held(fence));
  await markStored(tx, stored);
  await showProgress(tx, fence.jobId);
  const [open] = await tx.select({ number: segments.number }).from(segments).where(and(eq(segments.jobId, fence.jobId), ne(segments.state, 'done'))).limit(1);
  if (open) return enqueueNextSegments(tx, fence.jobId, atOnce);
  await tx.update(jobs).set({ step: 'join', failures: 0, ...noWait }).where(eq(jobs.id, fence.jobId));
  await enqueueStep(tx, { id: fence.jobId, step: 'join' });
}

async function retryLater(tx: Tx, fence: SegmentFence, how: RetryLater): Promise<void> {
  await lockJob(tx, fence);
  const [row] = await tx.update(segments).set({ ...idle, ...afterFailure(segments, how) }).where(held(fence)).returning(queueRow);
  await enqueueSegment(tx, row!, how.delayS);
}

async function moveToOtherClass(tx: Tx, fence: SegmentFence): Promise<boolean> {
  const job = await lockJob(tx, fence);
  if (job.deviceClass !== null) return false;
  const [segment] = await tx.select({ deviceClass: segments.deviceClass }).from(segments).where(held(fence));
  const other: DeviceClass = segment!.deviceClass === 'cpu' ? 'cuda' : 'cpu';
  const [served] = await tx.select({ id: workers.id }).from(workers).where(sql`${other}::text = ANY (${workers.deviceClasses})`).limit(1);
  if (!served) return false;
  await tx.update(segments).set(idle).where(held(fence));
  await startOver(tx, fence.jobId, { deviceClass: other });
  return true;
}

async function release(tx: Tx, fence: SegmentFence): Promise<void> {
  const [job] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, fence.jobId), isWanted)).for('no key update');
  const [ours] = await tx.update(segments).set(idle).where(held(fence)).returning(queueRow);
  if (job && ours) return enqueueSegment(tx, ours);
  // This attempt may have stored its piece after the job's objects were destroyed, so mark it for deletion again.
  await tx.update(objects).set({ state: 'pending', destroyedAt: null }).where(and(eq(objects.key, fence.pieceKey), eq(objects.state, 'destroyed')));
  await enqueueDestroy(tx, fence.jobId);
}

async function remake(tx: Tx, fence: Fence, { numbers, maxFailures, atOnce }: LostPieces): Promise<boolean> {
  const job = await lockHeld(tx, fence);
  const lost = and(eq(segments.jobId, fence.jobId), inArray(segments.number, numbers));
  const again = await tx
    .update(segments)
    .set({ ...idle, queued: false, objectKey: null, sha256: null, result: null, failures: sql`${segments.failures} + 1` })
    .where(lost)
    .returning({ failures: segments.failures });
  if (again.some(({ failures }) => failures >= maxFailures)) {
    await failRow(tx, job, { code: 'processing_failed', message: 'The video could not be processed because of a fault of the service.' });
    return false;
  }
  await tx.update(jobs).set({ step: 'segments', ...noWait, ...noLease }).where(eq(jobs.id, fence.jobId));
  await showProgress(tx, fence.jobId);
  await enqueueNextSegments(tx, fence.jobId, atOnce);
  await enqueueDestroy(tx, fence.jobId);
  return true;
}

/**
 * Segments of videos. Each has a lease of its own, so that several workers enhance one video. The attempt of a segment grows
 * with every lease, and each write names it. Where a query locks both, the job's row comes first.
 */
import { and, asc, eq, exists, isNull, ne, sql } from './orm.ts';
import type { JobRecord } from '../domain/job.ts';
import { type Db, transact, type Tx } from './database.ts';
import { type Fence, LeaseLost } from './fence.ts';
import { toJobRecord } from './job-rows.ts';
import { allowsTransition } from './job-states.ts';
import { failRow, heldBy, type JobFailure, leaseEnd, noDiskWait, noLease, type RetryLater } from './leases.ts';
import { markStored, type StoredFile } from './objects.ts';
import { dequeueSegments, enqueueDestroy, enqueueSegment, enqueueStep } from './queue.ts';
import { type DeviceClass, jobs, objects, type SegmentResult, segments } from './schema.ts';

/** Identifies one worker's lease on one segment. */
export interface SegmentFence extends Fence {
  number: number;
}

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
  isLast: boolean;
  traceparent: string | null;
  /** number of earlier failures that counted */
  failures: number;
  diskWaitSince: Date | null;
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

const idle = { ...noLease, state: 'pending' as const };

const isSegment = ({ jobId, number }: Pick<SegmentFence, 'jobId' | 'number'>) => and(eq(segments.jobId, jobId), eq(segments.number, number));

const held = (fence: SegmentFence) =>
  and(isSegment(fence), eq(segments.attempt, fence.attempt), eq(segments.leaseOwner, fence.owner));

/** The condition that the job's segments are wanted. */
const isWanted = and(eq(jobs.step, 'segments'), allowsTransition('continue'));

export function segmentQueries(db: Db) {
  const jobIsWanted = exists(db.select({ one: sql`1` }).from(jobs).where(and(eq(jobs.id, segments.jobId), isWanted)));
  return {
    /** The video is cut: queues its segments and gives up the job's lease. Throws LeaseLost. */
    planned: (fence: Fence, plan: PlannedSegments) => transact(db, (tx) => planned(tx, fence, plan)),

    /** Acquires the lease of a pending segment; null if it has none to give or the job does not want it. */
    acquire: (jobId: string, number: number, owner: string, leaseSeconds: number) =>
      transact(db, (tx) => acquire(tx, { jobId, number }, owner, leaseSeconds)),

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
          progress: sql`greatest(${segments.progress}, ${Math.min(0.999, Math.max(0, fraction))}::float8)`,
          leaseExpiresAt: leaseEnd(leaseSeconds),
        })
        .where(and(held(fence), jobIsWanted))
        .returning({ number: segments.number });
      if (rows.length === 1) await showProgress(db, fence.jobId);
      return rows.length === 1;
    },

    /** Registers the piece of this attempt before it is stored, and returns its key. Throws LeaseLost. */
    registerPendingPiece: (fence: SegmentFence): Promise<string> => transact(db, (tx) => registerPendingPiece(tx, fence)),

    /** The piece is stored. Queues the join after the last segment. Throws LeaseLost. */
    finish: (fence: SegmentFence, piece: { stored: StoredFile; result: SegmentResult }) => transact(db, (tx) => finish(tx, fence, piece)),

    /** Gives up the lease after a temporary failure, and queues the segment again after `delayS`. Throws LeaseLost. */
    retryLater: (fence: SegmentFence, { delayS, counts = true, diskWait = null }: RetryLater) =>
      transact(db, async (tx) => {
        const [row] = await tx
          .update(segments)
          .set({
            ...idle,
            ...(counts ? { failures: sql`${segments.failures} + 1` } : {}),
            diskWaitSince: diskWait === null ? null : sql`coalesce(${segments.diskWaitSince}, now())`,
          })
          .where(held(fence))
          .returning({ number: segments.number });
        if (!row) throw new LeaseLost(fence.jobId);
        await enqueueSegment(tx, fence, delayS);
      }),

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
        await enhanceWhole(tx, fence.jobId);
      }),

    /** The same, when the pieces cannot be joined; `fence` is that of the join. Throws LeaseLost. */
    giveUpJoin: (fence: Fence) =>
      transact(db, async (tx) => {
        const [row] = await tx.select({ id: jobs.id }).from(jobs).where(heldBy(fence)).for('no key update');
        if (!row) throw new LeaseLost(fence.jobId);
        await enhanceWhole(tx, fence.jobId);
      }),

    /** Pieces that are missing in the storage, or damaged there, are made again. Throws LeaseLost. */
    remake: (fence: Fence, numbers: number[]) => transact(db, (tx) => remake(tx, fence, numbers)),

    /** The pieces of a job, in order. */
    async pieces(jobId: string): Promise<Piece[]> {
      const rows = await db.select().from(segments).where(and(eq(segments.jobId, jobId), eq(segments.state, 'done'))).orderBy(asc(segments.number));
      return rows.map(({ number, objectKey, sha256, result }) => ({ number, key: objectKey!, sha256: sha256!, result: result! }));
    },

    /** Removes expired leases and queues their segments again. A job fails when `maxCrashes` leases of one have expired. */
    sweepExpired: (maxCrashes: number) => sweepExpired(db, maxCrashes),

    /** Queues up to `limit` pending segments again that have no queue row that can still run. Returns their keys. */
    requeueOrphans: (limit: number) => requeueOrphans(db, limit),

    /** Forgets the segments of a job that has ended, unless a worker may still write one. */
    async forget(jobId: string): Promise<void> {
      const ended = sql`SELECT 1 FROM ${jobs} WHERE ${jobs.id} = ${jobId} AND NOT (${allowsTransition('start')})`;
      await db.delete(segments).where(and(eq(segments.jobId, jobId), isNull(segments.leaseOwner), sql`EXISTS (${ended})`));
    },
  };
}

export interface PlannedSegments {
  text: string;
  deviceClass: DeviceClass;
  segments: SegmentSpan[];
}

async function planned(tx: Tx, fence: Fence, { text, deviceClass, segments: spans }: PlannedSegments): Promise<void> {
  const [row] = await tx
    .update(jobs)
    .set({ step: 'segments', segmentPlan: text, failures: 0, ...noDiskWait, ...noLease })
    .where(heldBy(fence))
    .returning({ id: jobs.id });
  if (!row) throw new LeaseLost(fence.jobId);
  await tx.insert(segments).values(spans.map((span, number) => ({ jobId: fence.jobId, number, deviceClass, ...span })));
  for (const number of spans.keys()) await enqueueSegment(tx, { jobId: fence.jobId, number });
}

async function acquire(tx: Tx, which: { jobId: string; number: number }, owner: string, leaseSeconds: number): Promise<SegmentLease | null> {
  const [job] = await tx.select().from(jobs).where(and(eq(jobs.id, which.jobId), isWanted));
  if (!job || job.segmentPlan === null) return null;
  const [row] = await tx
    .update(segments)
    .set({ state: 'running', attempt: sql`${segments.attempt} + 1`, leaseOwner: owner, leaseExpiresAt: leaseEnd(leaseSeconds) })
    .where(and(isSegment(which), eq(segments.state, 'pending')))
    .returning();
  if (!row) return null;
  // The piece of an earlier attempt, if it was stored.
  if (row.attempt > 1) await enqueueDestroy(tx, which.jobId);
  const [later] = await tx.select({ number: segments.number }).from(segments).where(and(eq(segments.jobId, which.jobId), sql`${segments.number} > ${which.number}`)).limit(1);
  const { startSeconds, endSeconds, frames, failures, diskWaitSince } = row;
  return {
    job: toJobRecord(job),
    fence: { ...which, attempt: row.attempt, owner },
    originalKey: job.originalKey,
    plan: job.segmentPlan,
    span: { startSeconds, endSeconds, frames },
    isLast: later === undefined,
    traceparent: job.traceparent,
    failures,
    diskWaitSince,
  };
}

/** The time left follows from the time that the part so far has taken. */
async function showProgress(db: Db, jobId: string): Promise<void> {
  await db.execute(sql`UPDATE jobs SET progress = greatest(progress, p.done),
      eta_seconds = CASE WHEN p.done > 0.01 THEN ceil(extract(epoch FROM clock_timestamp() - started_at) * (1 - p.done) / p.done)::int END
    FROM (SELECT ${1 - joiningShare}::float8 * sum(progress * frames) / sum(frames) AS done FROM segments WHERE job_id = ${jobId}) p
    WHERE id = ${jobId} AND step = 'segments' AND status = 'running' AND deleted_at IS NULL`);
}

async function registerPendingPiece(tx: Tx, fence: SegmentFence): Promise<string> {
  const row = await lockJob(tx, fence);
  const key = `jobs/${fence.jobId}/segments/${fence.number}-${fence.attempt}.mp4`;
  await tx.insert(objects).values({ key, jobId: fence.jobId, attempt: row.attempt, role: 'segment' });
  await tx.update(segments).set({ objectKey: key }).where(held(fence));
  return key;
}

/** Locks the job of a segment that this worker holds. Throws LeaseLost. */
async function lockJob(tx: Tx, fence: SegmentFence) {
  const [job] = await tx.select().from(jobs).where(and(eq(jobs.id, fence.jobId), isWanted)).for('no key update');
  const [segment] = job ? await tx.select({ number: segments.number }).from(segments).where(held(fence)).for('no key update') : [];
  if (!job || !segment) throw new LeaseLost(fence.jobId);
  return job;
}

async function finish(tx: Tx, fence: SegmentFence, { stored, result }: { stored: StoredFile; result: SegmentResult }): Promise<void> {
  await lockJob(tx, fence);
  await tx
    .update(segments)
    .set({ ...noLease, state: 'done', progress: 1, sha256: stored.sha256, result, diskWaitSince: null })
    .where(held(fence));
  await markStored(tx, stored);
  const [open] = await tx.select({ number: segments.number }).from(segments).where(and(eq(segments.jobId, fence.jobId), ne(segments.state, 'done'))).limit(1);
  if (open) return;
  await tx.update(jobs).set({ step: 'join', failures: 0, ...noDiskWait }).where(eq(jobs.id, fence.jobId));
  await enqueueStep(tx, { id: fence.jobId, step: 'join' });
}

async function release(tx: Tx, fence: SegmentFence): Promise<void> {
  const [job] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, fence.jobId), isWanted)).for('no key update');
  const [ours] = await tx.update(segments).set(idle).where(held(fence)).returning({ number: segments.number });
  if (job && ours) return enqueueSegment(tx, fence);
  // This attempt may have stored its piece after the job's objects were destroyed, so mark it for deletion again.
  const key = `jobs/${fence.jobId}/segments/${fence.number}-${fence.attempt}.mp4`;
  await tx.update(objects).set({ state: 'pending', destroyedAt: null }).where(and(eq(objects.key, key), eq(objects.state, 'destroyed')));
  await enqueueDestroy(tx, fence.jobId);
}

/** Of a locked job. Workers that hold segments notice at their next heartbeat. */
async function enhanceWhole(tx: Tx, jobId: string): Promise<void> {
  await dequeueSegments(tx, jobId);
  await tx.delete(segments).where(eq(segments.jobId, jobId));
  await tx.update(jobs).set({ step: 'enhance', segmentPlan: null, inOnePiece: true, failures: 0, ...noDiskWait, ...noLease }).where(eq(jobs.id, jobId));
  await enqueueStep(tx, { id: jobId, step: 'enhance' });
  await enqueueDestroy(tx, jobId);
}

async function remake(tx: Tx, fence: Fence, numbers: number[]): Promise<void> {
  const [row] = await tx.update(jobs).set({ step: 'segments', ...noDiskWait, ...noLease }).where(heldBy(fence)).returning({ id: jobs.id });
  if (!row) throw new LeaseLost(fence.jobId);
  for (const number of numbers) {
    await tx
      .update(segments)
      .set({ ...idle, progress: 0, objectKey: null, sha256: null, result: null, failures: sql`${segments.failures} + 1` })
      .where(isSegment({ jobId: fence.jobId, number }));
    await enqueueSegment(tx, { jobId: fence.jobId, number });
  }
  await enqueueDestroy(tx, fence.jobId);
}

export interface SweptSegments {
  requeued: string[];
  failed: string[];
}

async function sweepExpired(db: Db, maxCrashes: number): Promise<SweptSegments> {
  const expired = sql`${segments.leaseExpiresAt} < clock_timestamp()`;
  const candidates = await db.select({ jobId: segments.jobId, number: segments.number }).from(segments).where(expired).limit(100);
  const swept: SweptSegments = { requeued: [], failed: [] };
  for (const which of candidates) {
    const outcome = await transact(db, async (tx) => {
      const [job] = await tx.select().from(jobs).where(eq(jobs.id, which.jobId)).for('no key update', { skipLocked: true });
      if (!job) return null;
      const [row] = await tx
        .update(segments)
        .set({ ...idle, crashes: sql`${segments.crashes} + 1` })
        .where(and(isSegment(which), expired))
        .returning({ crashes: segments.crashes });
      if (!row || job.step !== 'segments' || job.status !== 'running' || job.deletedAt !== null) return null;
      if (row.crashes < maxCrashes) {
        await enqueueSegment(tx, which);
        return 'requeued';
      }
      await failRow(tx, job, { code: 'processing_failed', message: `Processing stopped unexpectedly ${row.crashes} times.` });
      return 'failed';
    });
    if (outcome) swept[outcome].push(outcome === 'failed' ? which.jobId : `${which.jobId}:${which.number}`);
  }
  return swept;
}

async function requeueOrphans(db: Db, limit: number): Promise<string[]> {
  const orphans = await db
    .select({ jobId: segments.jobId, number: segments.number })
    .from(segments)
    .innerJoin(jobs, eq(jobs.id, segments.jobId))
    .where(
      and(
        eq(segments.state, 'pending'),
        isWanted,
        sql`NOT EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = 'segment:' || ${segments.jobId} || ':' || ${segments.number}
          AND CASE WHEN q.locked_at IS NULL THEN q.attempts < q.max_attempts
            ELSE q.locked_at > now() - interval '1 minute'
              OR EXISTS (SELECT 1 FROM workers w WHERE q.locked_by = ANY (w.pools)) END)`,
      ),
    )
    .limit(limit);
  // A second row for one segment is harmless: its lease decides.
  for (const which of orphans) await enqueueSegment(db, which);
  return orphans.map(({ jobId, number }) => `${jobId}:${number}`);
}

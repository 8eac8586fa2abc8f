/** Puts right what dead workers, older versions and missing devices leave of segments. Workers do so at intervals. */
import { and, eq, inArray, not, sql, type SQLWrapper } from './orm.ts';
import { type Db, transact } from './database.ts';
import { allowsTransition } from './job-states.ts';
import { type CrashedJob, failRow } from './leases.ts';
import { enqueueDestroy, enqueueNextSegments, enqueueSegment, hasUsableRow } from './queue.ts';
import { jobs, segments } from './schema.ts';
import { idle, isSegment, isWanted, queueRow, startOver } from './segment-rows.ts';

/** Whether no worker makes segments of this class, although some make those of the other. */
const isUnserved = (deviceClass: SQLWrapper) => sql`NOT EXISTS (SELECT FROM workers w WHERE ${deviceClass} = ANY (w.device_classes))
  AND EXISTS (SELECT FROM workers w WHERE cardinality(w.device_classes) > 0)`;

/** Whether the job waits for a device class that no worker has. */
const waitsUnserved = sql`CASE ${jobs.step}
  WHEN 'segments' THEN EXISTS (SELECT FROM segments s WHERE s.job_id = ${jobs.id} AND s.state = 'pending' AND ${isUnserved(sql`s.device_class`)})
  WHEN 'enhance' THEN ${jobs.deviceClass} IS NOT NULL AND ${jobs.leaseOwner} IS NULL AND ${isUnserved(jobs.deviceClass)}
  ELSE false END`;

export async function replanUnserved(db: Db, afterS: number, limit: number): Promise<string[]> {
  const mayWait = and(inArray(jobs.step, ['enhance', 'segments']), allowsTransition('continue'));
  await db
    .update(jobs)
    .set({ unservedSince: sql`CASE WHEN ${waitsUnserved} THEN now() END` })
    .where(and(mayWait, sql`${waitsUnserved} <> (${jobs.unservedSince} IS NOT NULL)`));
  const due = and(mayWait, sql`${jobs.unservedSince} <= now() - make_interval(secs => ${afterS}::float8)`, waitsUnserved);
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(due).limit(limit);
  const replanned: string[] = [];
  for (const { id } of candidates) {
    await transact(db, async (tx) => {
      const [row] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, id), due)).for('no key update', { skipLocked: true });
      if (!row) return;
      await startOver(tx, id, { deviceClass: null });
      replanned.push(id);
    });
  }
  return replanned;
}

export interface SweptSegments {
  requeued: string[];
  failed: CrashedJob[];
}

export async function sweepExpired(db: Db, maxCrashes: number): Promise<SweptSegments> {
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
        .returning({ ...queueRow, crashes: segments.crashes });
      if (!row) return null;
      if (job.step !== 'segments' || job.status !== 'running' || job.deletedAt !== null) {
        // With its files, its segments are forgotten: a lease had kept this one.
        await enqueueDestroy(tx, which.jobId);
        return null;
      }
      if (row.crashes < maxCrashes) {
        await enqueueSegment(tx, row);
        return 'requeued' as const;
      }
      await failRow(tx, job, { code: 'processing_failed', message: `Processing stopped unexpectedly ${row.crashes} times.` });
      return { id: job.id, mode: job.mode };
    });
    if (outcome === 'requeued') swept.requeued.push(`${which.jobId}:${which.number}`);
    else if (outcome !== null) swept.failed.push(outcome);
  }
  return swept;
}

export async function requeueOrphans(db: Db, limit: number): Promise<string[]> {
  const orphans = await db
    .select(queueRow)
    .from(segments)
    .innerJoin(jobs, eq(jobs.id, segments.jobId))
    .where(
      and(
        eq(segments.state, 'pending'),
        segments.queued,
        isWanted,
        not(hasUsableRow(sql`'segment:' || ${segments.jobId} || ':' || ${segments.number}`)),
      ),
    )
    .limit(limit);
  // A second row for one segment is harmless: its lease decides.
  for (const which of orphans) await enqueueSegment(db, which);
  return orphans.map(({ jobId, number }) => `${jobId}:${number}`);
}

/** The end of a segment queues the next one; this is for segments that a worker of an older version ended. */
export async function refill(db: Db, atOnce: number, limit: number): Promise<string[]> {
  const stalled = await db.execute<{ job_id: string }>(sql`SELECT job_id FROM segments JOIN jobs ON jobs.id = job_id
    WHERE state <> 'done' AND ${isWanted} GROUP BY job_id
    HAVING count(*) FILTER (WHERE queued) < ${atOnce}::int AND bool_or(NOT queued) LIMIT ${limit}`);
  for (const { job_id: jobId } of stalled) {
    await transact(db, async (tx) => {
      const [job] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, jobId), isWanted)).for('no key update', { skipLocked: true });
      if (job) await enqueueNextSegments(tx, jobId, atOnce);
    });
  }
  return stalled.map(({ job_id: jobId }) => jobId);
}

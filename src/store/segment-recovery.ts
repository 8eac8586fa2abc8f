/** Puts right what dead workers, older versions and missing devices leave of segments. Workers do so at intervals. */
import { and, eq, inArray, not, type SQL, sql, type SQLWrapper } from './orm.ts';
import { type Batch, type Db, inAnyOrder, transact, withEach } from './database.ts';
import { allowsTransition } from './job-states.ts';
import { failRow, sweepEach, type SweptLeases } from './leases.ts';
import { enqueueDestroy, enqueueEach, enqueueNextSegments, enqueueSegment, hasUsableRow } from './queue.ts';
import { idOfJob, jobs, segments } from './schema.ts';
import { idle, isSegment, isWanted, queueRow, type SegmentFence, startOver } from './segment-rows.ts';

/** Whether a worker `w` enhances videos on a device of this class. */
const hasClass = (deviceClass: SQLWrapper) => sql`${deviceClass} = ANY (w.device_classes)`;
const hasAnyClass = sql`cardinality(w.device_classes) > 0`;
/** Whether a worker `w` has the engine of the segment `s`. */
const hasEngine = sql`(s.engine IS NULL OR w.engine = s.engine)`;
const isAnyWorker = (condition: SQL) => sql`EXISTS (SELECT FROM workers w WHERE ${condition})`;
const isAnySegment = (condition: SQL) => sql`EXISTS (SELECT FROM segments s WHERE s.job_id = ${idOfJob} AND ${condition})`;

/**
 * Whether the job waits for a device class or an engine that no worker has, although others run. While a segment is made, the job does
 * not wait: a worker that takes no other jobs may go on with this one to its end.
 */
const waitsUnserved = sql`${isAnyWorker(hasAnyClass)} AND CASE ${jobs.step}
  WHEN 'enhance' THEN ${jobs.deviceClass} IS NOT NULL AND ${jobs.leaseOwner} IS NULL AND NOT ${isAnyWorker(hasClass(jobs.deviceClass))}
  WHEN 'segments' THEN NOT ${isAnySegment(sql`s.state = 'running'`)} AND ${isAnySegment(sql`s.state = 'pending' AND NOT ${isAnyWorker(sql`${hasClass(sql`s.device_class`)} AND ${hasEngine}`)}`)}
  WHEN 'join' THEN ${jobs.leaseOwner} IS NULL AND ${isAnySegment(sql`NOT ${isAnyWorker(sql`${hasAnyClass} AND ${hasEngine}`)}`)}
  ELSE false END`;

/** Whether workers run that have the class of the job's segments: what no worker has is their engine. */
const isClassServed = isAnySegment(isAnyWorker(hasClass(sql`s.device_class`)));

/** How long jobs wait for what no worker has, seconds. */
export interface UnservedWait {
  deviceClassS: number;
  engineS: number;
}

export async function replanUnserved(db: Db, { deviceClassS, engineS }: UnservedWait, limit: number): Promise<Batch> {
  const mayWait = and(inArray(jobs.step, ['enhance', 'segments', 'join']), allowsTransition('continue'));
  const hasChanged = and(mayWait, sql`(${waitsUnserved}) <> (${jobs.unservedSince} IS NOT NULL)`);
  // One that somebody keeps locked would hold up the others, and the workers that have them: their rows are locked meanwhile.
  const changed = db.select({ id: jobs.id }).from(jobs).where(hasChanged).for('no key update', { skipLocked: true });
  await db
    .update(jobs)
    .set({ unservedSince: sql`CASE WHEN ${waitsUnserved} THEN now() END` })
    .where(sql`${jobs.id} = ANY (ARRAY(${changed}))`);
  const waitS = sql`CASE WHEN ${isClassServed} THEN ${engineS}::float8 ELSE ${deviceClassS}::float8 END`;
  const due = and(mayWait, sql`${jobs.unservedSince} <= now() - make_interval(secs => ${waitS})`, waitsUnserved);
  const candidates = await db.select({ id: jobs.id }).from(jobs).where(due).limit(limit);
  return withEach(candidates, ({ id }) =>
    transact(db, async (tx) => {
      const [row] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, id), due)).for('no key update', { skipLocked: true });
      if (row) await startOver(tx, id, { deviceClass: null });
      return row !== undefined;
    }),
  );
}

const nameOf = ({ jobId, number }: Pick<SegmentFence, 'jobId' | 'number'>) => `${jobId}:${number}`;

export async function sweepExpired(db: Db, maxCrashes: number): Promise<SweptLeases> {
  const expired = sql`${segments.leaseExpiresAt} < clock_timestamp()`;
  const candidates = await db.select({ jobId: segments.jobId, number: segments.number }).from(segments).where(expired).orderBy(inAnyOrder).limit(100);
  return sweepEach(candidates, nameOf, (which) =>
    transact(db, async (tx) => {
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
        return 'requeued';
      }
      await failRow(tx, job, { code: 'processing_failed', message: `Processing stopped unexpectedly ${row.crashes} times.` });
      return { id: job.id, mode: job.mode };
    }),
  );
}

export async function requeueOrphans(db: Db, limit: number): Promise<Batch> {
  const orphans = await db
    .select(queueRow)
    .from(segments)
    .innerJoin(jobs, eq(segments.jobId, idOfJob))
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
  return enqueueEach(orphans.map((which) => ({ ...which, id: nameOf(which) })), (which) => enqueueSegment(db, which));
}

/** The end of a segment queues the next one; this is for segments that a worker of an older version ended. */
export async function refill(db: Db, atOnce: number, limit: number): Promise<Batch> {
  const stalled = await db.execute<{ id: string }>(sql`SELECT job_id AS id FROM segments JOIN jobs ON jobs.id = job_id
    WHERE state <> 'done' AND ${isWanted} GROUP BY job_id
    HAVING count(*) FILTER (WHERE queued) < ${atOnce}::int AND bool_or(NOT queued) LIMIT ${limit}`);
  return withEach(stalled, ({ id }) =>
    transact(db, async (tx) => {
      const [job] = await tx.select({ id: jobs.id }).from(jobs).where(and(eq(jobs.id, id), isWanted)).for('no key update', { skipLocked: true });
      if (job) await enqueueNextSegments(tx, id, atOnce);
      return job !== undefined;
    }),
  );
}

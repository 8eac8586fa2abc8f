/** The stored objects in the database. Each is registered before its file is stored. */
import { and, desc, eq, inArray, isNotNull, isNull, ne, not, or, type SQL, sql, type SQLWrapper } from './orm.ts';
import { type Batch, type Db, type Executor, readSlowly, transact, type Tx } from './database.ts';
import { type Fence, LeaseLost } from './fence.ts';
import { destroyIsQueued, enqueueDestroy, enqueueEach } from './queue.ts';
import { jobs, type ObjectRole, objectRoles, objects, segments } from './schema.ts';

export interface StoredFile {
  key: string;
  size: number;
  /** lower-case hex */
  sha256: string;
  version: string | null;
}

/** Marks a registered object as stored, in the transaction that refers to it. */
export async function markStored(tx: Tx, stored: StoredFile): Promise<void> {
  const rows = await tx
    .update(objects)
    .set({
      state: 'stored',
      sizeBytes: stored.size,
      sha256: stored.sha256,
      version: stored.version,
      storedAt: sql`now()`,
    })
    .where(and(eq(objects.key, stored.key), eq(objects.state, 'pending')))
    .returning({ key: objects.key });
  if (rows.length !== 1) throw new Error(`Object ${stored.key} was not registered, or is destroyed`);
}

/** Objects that a job may have several of. */
type Numbered = 'segment' | 'thumbnail' | 'clip';

const fileNames: Readonly<Record<Exclude<ObjectRole, Numbered>, string>> = {
  original: 'original',
  output: 'output.mp4',
  poster: 'poster.jpg',
};

/** The kind of an object; a job may have several thumbnails, and a preview several clips. */
export type NewObject = Exclude<ObjectRole, Numbered> | { thumbnail: number } | { clip: number };

function nameOf(object: NewObject): [role: ObjectRole, name: string] {
  if (typeof object === 'string') return [object, fileNames[object]];
  return 'clip' in object ? ['clip', `clip-${object.clip}.mp4`] : ['thumbnail', `thumbnail-${object.thumbnail}.jpg`];
}

export interface PendingDeletion {
  keys: string[];
  /** seconds until the lease of a worker that may still write expires; 0 = no such worker */
  busyForS: number;
}

export function objectQueries(db: Db) {
  return {
    /**
     * Registers an object before its file is stored and returns its key. The key contains the attempt, so that no attempt
     * overwrites another's file. Throws LeaseLost.
     */
    registerPendingObject: (fence: Fence, object: NewObject): Promise<string> =>
      transact(db, async (tx) => {
        const [held] = await tx
          .select({ id: jobs.id })
          .from(jobs)
          .where(
            and(
              eq(jobs.id, fence.jobId),
              eq(jobs.attempt, fence.attempt),
              eq(jobs.leaseOwner, fence.owner),
              isNull(jobs.deletedAt),
            ),
          )
          .for('share');
        if (!held) throw new LeaseLost(fence.jobId);
        const [role, name] = nameOf(object);
        const key = `jobs/${fence.jobId}/${fence.attempt}/${name}`;
        // It exists already if the response to the first attempt was lost.
        await tx.insert(objects).values({ key, jobId: fence.jobId, attempt: fence.attempt, role }).onConflictDoNothing();
        return key;
      }),

    /** Keys of the results of live jobs that are not deleted, the newest first. */
    async newestResults(limit: number): Promise<string[]> {
      const rows = await db
        .select({ key: jobs.outputKey })
        .from(jobs)
        .where(and(isNotNull(jobs.finishedAt), isNotNull(jobs.outputKey), isNull(jobs.deletedAt), eq(jobs.mode, 'live')))
        .orderBy(desc(jobs.finishedAt))
        .limit(limit);
      return rows.map(({ key }) => key!);
    },

    pendingDeletion: (jobId: string) => pendingDeletion(db, jobId),

    /** Every key that was ever registered for a job. */
    async keysOf(jobId: string): Promise<string[]> {
      const rows = await db.select({ key: objects.key }).from(objects).where(eq(objects.jobId, jobId));
      return rows.map((row) => row.key);
    },

    /** Records that the storage confirmed "absent". `again`: once more, unless a worker has stored the object meanwhile and asked for its destruction. */
    async markDestroyed(key: string, { again = false } = {}): Promise<void> {
      await db
        .update(objects)
        .set({ state: 'destroyed', destroyedAt: sql`clock_timestamp()` })
        .where(and(eq(objects.key, key), (again ? eq : ne)(objects.state, 'destroyed')));
    },

    /**
     * Queues keys for destruction that exist in the storage although they were destroyed: a worker with an expired lease
     * stored them again. Ignores keys that this database does not know. Returns the queued keys.
     */
    destroyReturned: (keys: string[]): Promise<string[]> =>
      transact(db, async (tx) => {
        if (keys.length === 0) return [];
        const rows = await tx
          .update(objects)
          .set({ state: 'pending', destroyedAt: null })
          .where(and(inArray(objects.key, keys), eq(objects.state, 'destroyed')))
          .returning({ key: objects.key, jobId: objects.jobId });
        for (const jobId of new Set(rows.map((row) => row.jobId))) await enqueueDestroy(tx, jobId);
        return rows.map((row) => row.key);
      }),

    /** Queues one job's destruction (again) after `delayS`. */
    destroyLater: (jobId: string, delayS: number): Promise<void> => enqueueDestroy(db, jobId, delayS),

    /**
     * Queues the destruction of objects that should have been destroyed `afterS` seconds ago. That reads all objects that exist; with
     * `changedInS`, only those of jobs that have not ended, or ended or were deleted in so many seconds, and those that may be half stored.
     */
    requeuePendingDeletions: (afterS: number, limit: number, { changedInS }: { changedInS?: number } = {}) =>
      requeuePendingDeletions(db, afterS, limit, changedInS),
  };
}

/** For a piece: the segment that uses it. */
const ofSegment = and(eq(segments.jobId, objects.jobId), eq(segments.objectKey, objects.key));

/** Whether the job refers to the object. */
const isUsed = sql`(${objects.key} IN (${jobs.originalKey}, ${jobs.outputKey})
  OR ${jobs.pictures} @> jsonb_build_array(jsonb_build_object('key', ${objects.key}))
  OR ${jobs.preview} -> 'clips' @> jsonb_build_array(jsonb_build_object('key', ${objects.key}))) IS TRUE`;

/** Only a newer version can tell apart objects of its own kinds from leftovers. */
const hasKnownRole = inArray(objects.role, [...objectRoles]);

/**
 * All objects of a deleted or failed job. For other jobs, those that neither the job, nor its current attempt, nor a segment
 * uses. A finished job needs no pieces.
 */
const isPendingDeletion = and(
  sql`${objects.state} <> 'destroyed'`,
  or(
    sql`${jobs.deletedAt} IS NOT NULL`,
    eq(jobs.status, 'error'),
    and(
      not(isUsed),
      hasKnownRole,
      or(
        eq(jobs.status, 'done'),
        and(ne(objects.role, 'segment'), sql`${objects.attempt} < ${jobs.attempt}`),
        and(eq(objects.role, 'segment'), isNull(segments.jobId)),
      ),
    ),
  ),
);

/** Seconds until a lease expires; 0 without one. */
const untilNow = (expiresAt: SQLWrapper) =>
  sql`greatest(0, coalesce(extract(epoch FROM ${expiresAt} - clock_timestamp()), 0))::float8`;

async function pendingDeletion(db: Db, jobId: string): Promise<PendingDeletion> {
  const rows = await db
    .select({
      key: objects.key,
      // Only the attempt that holds the lease may still be writing.
      busyForS: sql<number>`CASE WHEN ${objects.role} = 'segment' THEN ${untilNow(segments.leaseExpiresAt)}
        WHEN ${objects.attempt} = ${jobs.attempt} THEN ${untilNow(jobs.leaseExpiresAt)}
        ELSE 0 END`,
    })
    .from(objects)
    .innerJoin(jobs, eq(jobs.id, objects.jobId))
    .leftJoin(segments, ofSegment)
    .where(and(eq(objects.jobId, jobId), isPendingDeletion));
  return {
    keys: rows.filter((row) => row.busyForS === 0).map((row) => row.key),
    busyForS: Math.max(0, ...rows.map((row) => row.busyForS)),
  };
}

/** The collation of `jobs.id` is "C". A comparison with it could not use the index of objects, which has the default one. */
function changedJobs(seconds: number): SQL {
  const since = sql`now() - make_interval(secs => ${seconds}::float8)`;
  const jobsWith = (which: SQL) => sql`SELECT id COLLATE "default" FROM jobs WHERE ${which}`;
  return sql`${jobsWith(sql`deleted_at >= ${since}`)} UNION ${jobsWith(sql`finished_at >= ${since}`)}
    UNION ${jobsWith(sql`status IN ('queued', 'running') AND deleted_at IS NULL`)} UNION SELECT job_id FROM objects WHERE state = 'pending'`;
}

async function requeuePendingDeletions(db: Db, afterS: number, limit: number, changedInS: number | undefined): Promise<Batch> {
  // Reading all objects may take longer than a connection may be silent.
  const rows = await (changedInS === undefined
    ? readSlowly(db, (tx) => overdueDeletions(tx, afterS, limit))
    : overdueDeletions(db, afterS, limit, sql`${objects.jobId} IN (${changedJobs(changedInS)})`));
  return enqueueEach(rows, ({ id }) => enqueueDestroy(db, id));
}

function overdueDeletions(on: Executor, afterS: number, limit: number, which?: SQL) {
  return on
    .selectDistinct({ id: objects.jobId })
    .from(objects)
    .innerJoin(jobs, eq(jobs.id, objects.jobId))
    .leftJoin(segments, ofSegment)
    .where(
      and(
        isPendingDeletion,
        which,
        sql`coalesce(${jobs.deletedAt}, ${jobs.finishedAt}, ${objects.createdAt})
          < now() - make_interval(secs => ${afterS}::float8)`,
        not(destroyIsQueued(objects.jobId, afterS)),
      ),
    )
    .limit(limit);
}

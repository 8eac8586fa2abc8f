/** Everything about one job or preview, for the operators of the service. Reads no URLs, file names or metadata of customers. */
import { asc, desc, eq, inArray, sql } from './orm.ts';
import { type Db, readApart, type Tx } from './database.ts';
import { stepKey } from './queue.ts';
import { jobEvents, jobs, objects, segments, workers } from './schema.ts';

const eventLimit = 500;

/** Also of a deleted one; null for an unknown one. */
export const inspectJob = (db: Db, jobId: string) =>
  readApart(db, async (tx) => {
    const job = await jobOf(tx, jobId);
    if (job === undefined) return null;
    const pieces = await segmentsOf(tx, jobId);
    const hosts = await hostsOf(tx, [job.worker, ...pieces.map(({ worker }) => worker)]);
    const hostOf = (worker: string | null) => (worker === null ? null : (hosts.get(worker) ?? null));
    return {
      ...job,
      host: hostOf(job.worker),
      ...(await queuedOf(tx, jobId)),
      segments: pieces.map((piece) => ({ ...piece, host: hostOf(piece.worker) })),
      files: await filesOf(tx, jobId),
      events: await eventsOf(tx, jobId),
    };
  });

async function jobOf(tx: Tx, jobId: string) {
  const { id, accountId, mode, tier, status, step, resolution, model, durationSeconds, creditsCharged, creditsRefunded, progress, etaSeconds } = jobs;
  const { errorCode, errorMessage, attempt, failures, crashes, deviceClass, inOnePiece, leaseOwner, leaseExpiresAt } = jobs;
  const { diskWaitSince, infrastructureFaultSince, unservedSince, createdAt, startedAt, finishedAt, expiresAt, deletedAt, deletedBy, uploadId } = jobs;
  const device = sql<string | null>`${jobs.applied}->>'device'`;
  const [job] = await tx
    .select({
      ...{ id, accountId, mode, tier, status, step, resolution, model, durationSeconds, creditsCharged, creditsRefunded, progress, etaSeconds, uploadId },
      ...{ errorCode, errorMessage, attempts: attempt, failures, crashes, worker: leaseOwner, leaseExpiresAt, deviceClass, device, inOnePiece },
      ...{ diskWaitSince, infrastructureFaultSince, unservedSince, createdAt, startedAt, finishedAt, expiresAt, deletedAt, deletedBy },
    })
    .from(jobs)
    .where(eq(id, jobId));
  return job;
}

function segmentsOf(tx: Tx, jobId: string) {
  const { number, startSeconds, endSeconds, state, progress, deviceClass, attempt, failures, crashes, leaseOwner, leaseExpiresAt, startedAt } = segments;
  return tx
    .select({ number, startSeconds, endSeconds, state, progress, deviceClass, attempts: attempt, failures, crashes, worker: leaseOwner, leaseExpiresAt, startedAt })
    .from(segments)
    .where(eq(segments.jobId, jobId))
    .orderBy(asc(number));
}

/** A worker that has ended is no longer known. */
async function hostsOf(tx: Tx, ids: readonly (string | null)[]): Promise<Map<string, string | null>> {
  const known = [...new Set(ids.filter((id) => id !== null))];
  const rows = known.length === 0 ? [] : await tx.select({ id: workers.id, host: workers.host }).from(workers).where(inArray(workers.id, known));
  return new Map(rows.map(({ id, host }) => [id, host]));
}

/** When the queue gives out the next step, if it waits there. */
async function queuedOf(tx: Tx, jobId: string): Promise<{ queuedUntil: Date | null }> {
  const [row] = await tx.execute<{ at: number }>(sql`SELECT extract(epoch FROM run_at)::float8 AS at FROM graphile_worker.jobs WHERE key = ${stepKey(jobId)} AND locked_at IS NULL`);
  return { queuedUntil: row === undefined ? null : new Date(row.at * 1000) };
}

function filesOf(tx: Tx, jobId: string) {
  const { key, role, attempt, state, sizeBytes, storedAt, destroyedAt } = objects;
  return tx.select({ key, role, attempt, state, sizeBytes, storedAt, destroyedAt }).from(objects).where(eq(objects.jobId, jobId)).orderBy(asc(objects.createdAt), asc(key));
}

/** The newest, from old to new. Without the customer's name for a key. */
async function eventsOf(tx: Tx, jobId: string) {
  const { at, kind, data } = jobEvents;
  const named = sql<Record<string, unknown>>`${data} - 'key_name'`;
  const newest = await tx.select({ at, kind, data: named }).from(jobEvents).where(eq(jobEvents.jobId, jobId)).orderBy(desc(jobEvents.seq)).limit(eventLimit);
  return newest.toReversed();
}

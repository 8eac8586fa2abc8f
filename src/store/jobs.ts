/** Jobs as customers see them: made, read, listed, deleted. */
import { and, desc, eq, isNull, lt, sql } from 'drizzle-orm';
import type postgres from 'postgres';
import { FrameliftError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { JobRecord, Lane } from '../domain/job.ts';
import { defaultRetentionDays } from '../domain/limits.ts';
import { refundOnDelete } from '../domain/refunds.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import { stopDeliveries } from './deliveries.ts';
import { appendEvent } from './events.ts';
import { fromVisibleRow, type JobRow, toJobRecord, type VisibleJobRow, visibleJobQuery } from './job-rows.ts';
import { postTransfer } from './ledger.ts';
import { enqueueDestroy, enqueueStep, stepKey } from './queue.ts';
import { type DeletedBy, idempotencyKeys, jobs } from './schema.ts';
import type { CreateJob, DeletedJob, Idempotency, JobStore, ListJobs } from './types.ts';
import { type JobFeed, watchJob } from './watch.ts';

export function jobQueries(
  db: Db,
  client: postgres.Sql,
  feed: JobFeed,
): JobStore & { expireDue(limit: number): Promise<string[]> } {
  const get: JobStore['get'] = async (accountId, lane, jobId) => {
    const [row] = await client.unsafe<VisibleJobRow[]>(visibleJobQuery, [jobId, accountId, lane], { prepare: true });
    return row ? fromVisibleRow(row) : null;
  };
  return {
    findReplay: (accountId, lane, idempotency) => findReplay(db, accountId, lane, idempotency),
    create: (input) => createJob(db, input),
    get,
    watch: (accountId, lane, jobId, signal) =>
      watchJob({ feed, jobId, signal, read: () => get(accountId, lane, jobId) }),
    list: (query) => listJobs(db, query),
    async outputKey(jobId) {
      const [row] = await db
        .select({ key: jobs.outputKey })
        .from(jobs)
        .where(and(eq(jobs.id, jobId), eq(jobs.status, 'done'), isNull(jobs.deletedAt)));
      return row?.key ?? null;
    },
    delete: (accountId, lane, jobId) =>
      transact(db, (tx) =>
        deleteJob(tx, and(eq(jobs.id, jobId), eq(jobs.accountId, accountId), eq(jobs.lane, lane)), 'customer'),
      ),
    expireDue: (limit) => expireDue(db, limit),
  };
}

async function createJob(db: Db, input: CreateJob): Promise<{ job: JobRecord; replayed: boolean }> {
  return transact(db, async (tx) => {
    const id = newId('job');
    if (input.idempotency && !(await claimKey(tx, id, input, input.idempotency))) {
      const job = await findReplay(tx, input.account.id, input.lane, input.idempotency);
      if (!job) throw new FrameliftError('service_unavailable', 'The Idempotency-Key is expiring just now; retry.');
      return { job, replayed: true };
    }
    const row = await insertJob(tx, id, input);
    if (input.credits > 0) {
      await postTransfer(tx, { kind: 'charge', accountId: row.accountId, jobId: id, credits: input.credits });
    }
    await enqueueStep(tx, row);
    await appendEvent(tx, {
      accountId: row.accountId,
      kind: 'job.created',
      jobId: id,
      data: {
        lane: row.lane,
        tier: row.tier,
        resolution: row.resolution,
        duration_seconds: row.durationSeconds,
        credits_charged: row.creditsCharged,
      },
    });
    return { job: toJobRecord(row), replayed: false };
  });
}

/**
 * Takes the key for a new job: true when it is ours. While another request with the same key is in flight the
 * insert waits for its commit, so that the loser sees the winner's job. An expired key counts as new.
 */
async function claimKey(tx: Tx, jobId: string, input: CreateJob, idempotency: Idempotency): Promise<boolean> {
  // Kept as long as the job, at least 24 h; a retention is at least a day.
  const fresh = {
    fingerprint: idempotency.fingerprint,
    jobId,
    expiresAt: sql`now() + make_interval(days => ${Math.max(1, retentionDays(input))}::int)`,
  };
  const claimed = await tx
    .insert(idempotencyKeys)
    .values({ accountId: input.account.id, lane: input.lane, key: idempotency.key, ...fresh })
    .onConflictDoUpdate({
      target: [idempotencyKeys.accountId, idempotencyKeys.lane, idempotencyKeys.key],
      set: { ...fresh, createdAt: sql`now()` },
      setWhere: sql`${idempotencyKeys.expiresAt} <= now()`,
    })
    .returning({ jobId: idempotencyKeys.jobId });
  return claimed.length === 1;
}

/** The account's own retention is of the Secure tier. */
const retentionDays = ({ tier, account }: CreateJob) =>
  tier === 'secure' ? account.retentionDays : defaultRetentionDays;

async function insertJob(tx: Tx, id: string, input: CreateJob): Promise<JobRow> {
  const [row] = await tx
    .insert(jobs)
    .values({
      id,
      accountId: input.account.id,
      lane: input.lane,
      tier: input.tier,
      resolution: input.resolution,
      videoUrl: input.videoUrl,
      webhookUrl: input.webhookUrl,
      model: input.model,
      enhancements: input.enhancements,
      metadata: input.metadata,
      durationSeconds: input.durationSeconds,
      creditsCharged: input.credits,
      source: input.source,
      expiresAt: sql`now() + make_interval(days => ${retentionDays(input)}::int)`,
      step: input.lane === 'test' ? 'sandbox' : 'ingest',
    })
    .returning();
  return row!;
}

async function findReplay(
  on: Executor,
  accountId: string,
  lane: Lane,
  { key, fingerprint }: Idempotency,
): Promise<JobRecord | null> {
  const [found] = await on
    .select({ fingerprint: idempotencyKeys.fingerprint, job: jobs })
    .from(idempotencyKeys)
    .innerJoin(jobs, eq(jobs.id, idempotencyKeys.jobId))
    .where(
      and(
        eq(idempotencyKeys.accountId, accountId),
        eq(idempotencyKeys.lane, lane),
        eq(idempotencyKeys.key, key),
        sql`${idempotencyKeys.expiresAt} > now()`,
      ),
    );
  if (!found) return null;
  if (found.fingerprint !== fingerprint) {
    throw new FrameliftError('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
  }
  if (found.job.deletedAt) {
    throw new FrameliftError('idempotency_key_reused', 'The job made with this Idempotency-Key was deleted.');
  }
  return toJobRecord(found.job);
}

async function listJobs(db: Db, query: ListJobs): Promise<{ jobs: JobRecord[]; hasMore: boolean }> {
  const rows = await db
    .select()
    .from(jobs)
    .where(
      and(
        eq(jobs.accountId, query.accountId),
        eq(jobs.lane, query.lane),
        isNull(jobs.deletedAt),
        query.startingAfter === undefined ? undefined : lt(jobs.id, query.startingAfter),
        query.status === undefined ? undefined : eq(jobs.status, query.status),
      ),
    )
    .orderBy(desc(jobs.id))
    .limit(query.limit + 1);
  return { jobs: rows.slice(0, query.limit).map(toJobRecord), hasMore: rows.length > query.limit };
}

/**
 * Deletes one job: refund by its state, no URL kept, files destroyed by a queued task. A running worker keeps its
 * lease until it notices, and the files wait for that. null when there is nothing to delete.
 */
async function deleteJob(tx: Tx, which: ReturnType<typeof and>, by: DeletedBy): Promise<DeletedJob | null> {
  const [job] = await tx
    .select()
    .from(jobs)
    .where(and(which, isNull(jobs.deletedAt)))
    .for('update');
  if (!job) return null;
  const refundedCredits = refundOnDelete(job);
  const [deleted] = await tx
    .update(jobs)
    .set({
      deletedAt: sql`now()`,
      deletedBy: by,
      videoUrl: null,
      webhookUrl: null,
      metadata: {},
      etaSeconds: null,
      creditsRefunded: job.creditsRefunded + refundedCredits,
    })
    .where(and(eq(jobs.id, job.id), isNull(jobs.deletedAt)))
    .returning({ deletedAt: jobs.deletedAt });
  await tx
    .update(idempotencyKeys)
    .set({ expiresAt: sql`least(expires_at, greatest(created_at + interval '24 hours', now()))` })
    .where(eq(idempotencyKeys.jobId, job.id));
  await tx.execute(sql`SELECT 1 FROM graphile_worker.remove_job(${stepKey(job.id)})`);
  await stopDeliveries(tx, job.id);
  await enqueueDestroy(tx, job.id);
  if (refundedCredits > 0) {
    await postTransfer(tx, { kind: 'refund', accountId: job.accountId, jobId: job.id, credits: refundedCredits });
  }
  await appendEvent(tx, {
    accountId: job.accountId,
    kind: 'job.deleted',
    jobId: job.id,
    data: { by, status: job.status, refunded_credits: refundedCredits },
  });
  return { id: job.id, deletedAt: deleted!.deletedAt!, refundedCredits };
}

/** Retention: deletes up to `limit` jobs whose time has come, each in its own transaction; returns their ids. */
async function expireDue(db: Db, limit: number): Promise<string[]> {
  const due = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isNull(jobs.deletedAt), sql`${jobs.expiresAt} <= now()`))
    .orderBy(jobs.expiresAt)
    .limit(limit);
  const expired: string[] = [];
  for (const { id } of due) {
    const still = and(eq(jobs.id, id), sql`${jobs.expiresAt} <= now()`);
    if (await transact(db, (tx) => deleteJob(tx, still, 'retention'))) expired.push(id);
  }
  return expired;
}

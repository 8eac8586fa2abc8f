/** Jobs as customers see them: create, read, list, delete. */
import { and, desc, eq, gte, inArray, isNotNull, isNull, lt, type SQL, sql } from './orm.ts';
import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { newId, smallestIdAt } from '../domain/ids.ts';
import type { JobRecord, Mode } from '../domain/job.ts';
import { retentionDaysFor } from '../domain/limits.ts';
import type { TimeSample } from '../domain/processing-time.ts';
import { refundOnDelete } from '../domain/refunds.ts';
import { isOfAccount } from './account-lists.ts';
import { approvalIsGone } from './accounts.ts';
import { type AccountTurns, apart } from './account-turns.ts';
import { type Batch, type Db, type Executor, retried, transact, type Tx, withEach } from './database.ts';
import { stopDeliveries } from './deliveries.ts';
import { appendEvent, eventData, eventOf } from './events.ts';
import { createJobQuery, fromVisibleRow, type JobRow, toJobRecord, type VisibleJobRow, visibleJobQuery } from './job-rows.ts';
import { allowsTransition, hasStatus } from './job-states.ts';
import { assertReplayable, endAfterDeletion, isKey, keyIsExpiring } from './idempotency-keys.ts';
import { keyIsGone } from './keys.ts';
import { insufficientCredits, postTransfer } from './ledger.ts';
import { dequeueSegments, enqueueDestroy, enqueueUploadDestroy, type QueuedStep, queuedStep, stepKey } from './queue.ts';
import { accounts, type DeletedBy, idempotencyKeys, jobMetadata, jobs, uploads } from './schema.ts';
import type { Actor, CreateJob, DeletedJob, Idempotency, JobStore, ListJobs } from './types.ts';
import type { JobFeed } from './job-feed.ts';
import { processedShare, segmentsOf } from './segments.ts';
import { sessionIsGone } from './sessions.ts';
import { markUploadDeleted, uploadDeletion, uploadIsGone } from './uploads.ts';
import { watchJob } from './watch-job.ts';

/** Deletions by the service and its operator, in batches of up to `limit` jobs and previews, each in its own transaction. */
interface JobDeletions {
  expireDue(limit: number): Promise<Batch>;
  deleteOfClosed(limit: number): Promise<Batch>;
  /** What an account has, in both modes. It ends also if the account goes on creating jobs; some of these stay. */
  deleteOfAccount(accountId: string, limit: number): AsyncIterable<Batch>;
}

export function jobQueries(
  db: Db,
  client: postgres.Sql,
  feed: JobFeed,
  inTurn: AccountTurns,
): JobStore & JobDeletions {
  const get: JobStore['get'] = async (accountId, mode, jobId) => {
    const [row] = await client.unsafe<VisibleJobRow[]>(visibleJobQuery, [jobId, accountId, mode], { prepare: true });
    return row ? fromVisibleRow(row) : null;
  };
  return {
    findReplay: (accountId, mode, idempotency) => findReplay(db, accountId, mode, idempotency),
    create: (input) => inTurn(input.account.id, () => createJob(db, client, input)),
    get,
    watch: (accountId, mode, jobId, signal) =>
      watchJob({ feed, jobId, signal, read: () => get(accountId, mode, jobId) }),
    list: (query) => listJobs(db, query),
    latestTimes: (limit) => latestTimes(db, limit),
    async resultFiles(jobId) {
      const [row] = await db
        .select({ key: jobs.outputKey, pictures: jobs.pictures })
        .from(jobs)
        .where(and(eq(jobs.id, jobId), eq(jobs.status, 'done'), isNull(jobs.deletedAt)));
      const { key = null, pictures = null } = row ?? {};
      return key === null ? null : { outputKey: key, pictures: pictures ?? [] };
    },
    segments: (jobId) => segmentsOf(db, jobId),
    delete: (accountId, mode, jobId, actor?: Actor) =>
      inTurn(accountId, () =>
        transact(db, (tx) => deleteJob(tx, and(eq(jobs.id, jobId), eq(jobs.accountId, accountId), eq(jobs.mode, mode)), 'customer', actor)),
      ),
    expireDue: (limit) => expireDue(db, limit),
    deleteOfClosed: (limit) => deleteOfClosed(db, limit),
    deleteOfAccount: (accountId, limit) => deleteOfAccount(db, accountId, limit),
  };
}

/** Status, progress and remaining time of each job in one text, for JobFeed; deleted jobs are omitted. */
export async function pollJobs(db: Db, jobIds: string[]): Promise<Map<string, string>> {
  const rows = await db
    .select({ id: jobs.id, state: sql<string>`concat_ws(' ', ${jobs.status}, ${jobs.progress}, ${jobs.etaSeconds})` })
    .from(jobs)
    .where(and(inArray(jobs.id, jobIds), isNull(jobs.deletedAt)));
  return new Map(rows.map(({ id, state }) => [id, state]));
}

async function createJob(
  db: Db,
  client: postgres.Sql,
  input: CreateJob,
): Promise<{ job: JobRecord; replayed: boolean }> {
  const { account, mode, idempotency, credits } = input;
  const values = creationValues(newId(isPreview(input) ? 'prv' : 'job'), input);
  try {
    const [row] = await retried(() => client.unsafe<VisibleJobRow[]>(createJobQuery, values, apart));
    if (row) return { job: fromVisibleRow(row), replayed: false };
  } catch (error) {
    const isGone = input.sessionId === undefined ? keyIsGone : sessionIsGone;
    throw insufficientCredits(error, credits, nameOf(input)) ?? uploadIsGone(error) ?? isGone(error) ?? approvalIsGone(error) ?? error;
  }
  const job = idempotency && (await findReplay(db, account.id, mode, idempotency));
  if (!job) throw keyIsExpiring();
  return { job, replayed: true };
}

const nameOf = (job: Pick<CreateJob, 'preview'>): 'job' | 'preview' => (isPreview(job) ? 'preview' : 'job');
const isPreview = ({ preview = null }: Pick<CreateJob, 'preview'>): boolean => preview !== null;

/** The parameters of createJobQuery. */
function creationValues(id: string, input: CreateJob): (string | null)[] {
  const { mode, tier, resolution, durationSeconds, credits, idempotency, upload = null } = input;
  const step: QueuedStep = mode === 'test' ? 'test_mode' : 'ingest';
  const days = retentionDaysFor(tier, input.account, input.standardRetentionDays);
  const job = {
    id,
    account_id: input.account.id,
    mode,
    tier,
    resolution,
    video_url: input.videoUrl,
    upload_id: upload?.id ?? null,
    file_name: upload?.fileName ?? null,
    webhook_url: input.webhookUrl,
    model: input.model,
    enhancements: input.enhancements,
    output_settings: input.outputSettings ?? {},
    metadata: input.metadata,
    duration_seconds: durationSeconds,
    credits_charged: credits,
    source: input.source,
    step,
    traceparent: input.traceparent ?? null,
    preview: input.preview ?? null,
    retention_days: days,
    session_id: input.sessionId,
  };
  // Kept as long as the job, at least 24 h, because a retention is at least a day.
  const record = idempotency && { ...idempotency, days: Math.max(1, days) };
  const { task, key, maxAttempts } = queuedStep({ id, step });
  const ofUpload = upload === null ? {} : { upload_id: upload.id };
  const event = { mode, tier, resolution, duration_seconds: durationSeconds, credits_charged: credits, ...ofUpload, ...input.actor };
  return [
    JSON.stringify(job),
    record && JSON.stringify(record),
    JSON.stringify({ task, key, max_attempts: maxAttempts }),
    newId('evt'),
    eventData(event),
  ];
}

async function findReplay(on: Executor, accountId: string, mode: Mode, idempotency: Idempotency): Promise<JobRecord | null> {
  const [found] = await on
    .select({ fingerprint: idempotencyKeys.fingerprint, created: jobs })
    .from(idempotencyKeys)
    .leftJoin(jobs, eq(jobs.id, idempotencyKeys.jobId))
    .where(isKey(accountId, mode, idempotency));
  return found === undefined ? null : toJobRecord(assertReplayable(found, idempotency, nameOf));
}

async function listJobs(db: Db, query: ListJobs): Promise<{ jobs: JobRecord[]; hasMore: boolean }> {
  const { accountId, mode, limit, startingAfter, status, metadata, previews = false } = query;
  const which = and(
    isOfAccount(jobs.accountId, accountId),
    eq(jobs.mode, mode),
    isNull(jobs.deletedAt),
    (previews ? isNotNull : isNull)(jobs.preview),
    startingAfter === undefined ? undefined : lt(jobs.id, startingAfter),
    status === undefined ? undefined : hasStatus(status),
    wasCreated(query),
  );
  const rows = metadata === undefined
    ? await jobsThat(db, which, limit)
    : await jobsWithPair(db, query, metadata, which);
  return { jobs: rows.slice(0, limit).map(toJobRecord), hasMore: rows.length > limit };
}

/** The newest first; one more than `limit` if there are more. */
const jobsThat = (db: Db, which: SQL | undefined, limit: number): Promise<JobRow[]> =>
  db.select().from(jobs).where(which).orderBy(jobs.accountId, desc(jobs.id)).limit(limit + 1);

/**
 * Reads no jobs without the pair, or none of other statuses: most jobs are done, and few have another status, which has an index of its own. Of the
 * pairs, it reads those of the time. With subqueries instead of a join, PostgreSQL cannot begin with all jobs of the account.
 */
function jobsWithPair(db: Db, query: ListJobs, pair: string, which: SQL | undefined): Promise<JobRow[]> {
  const { accountId, mode, limit, startingAfter, status } = query;
  const { jobId } = jobMetadata;
  const isPair = and(eq(jobMetadata.mode, mode), eq(jobMetadata.pair, createHash('sha256').update(pair).digest()));
  if (status !== undefined && status !== 'done') {
    const hasPair = sql`EXISTS (SELECT FROM ${jobMetadata} WHERE ${jobMetadata.accountId} = ${jobs.accountId} AND ${isPair} AND ${jobId} = ${jobs.id})`;
    return jobsThat(db, and(which, hasPair), limit);
  }
  const ids = db
    .select({ id: jobId })
    .from(jobMetadata)
    .where(
      and(
        eq(jobMetadata.accountId, accountId),
        isPair,
        startingAfter === undefined ? undefined : lt(jobId, startingAfter),
        hasIdOfTime(jobId, query),
        sql`(SELECT true FROM ${jobs} WHERE ${and(eq(jobs.id, jobId), which)})`,
      ),
    )
    .orderBy(desc(jobId))
    .limit(limit + 1);
  return jobsThat(db, sql`${jobs.id} = ANY (ARRAY(${ids}))`, limit);
}

/** Clocks differ by less, and a job is stored within these milliseconds after it got its id. */
const idToleranceMs = 600_000;

/** The condition that a job was created in that time. */
function wasCreated(query: ListJobs): SQL | undefined {
  const { createdAfter, createdBefore } = query;
  return and(
    hasIdOfTime(jobs.id, query),
    createdAfter === undefined ? undefined : gte(jobs.createdAt, createdAfter),
    createdBefore === undefined ? undefined : lt(jobs.createdAt, createdBefore),
  );
}

/** Ids sort by time, so that only the part of the list around this time is read. */
function hasIdOfTime(id: typeof jobs.id | typeof jobMetadata.jobId, { createdAfter, createdBefore, previews = false }: ListJobs): SQL | undefined {
  const idAt = (time: Date, toleranceMs: number) => smallestIdAt(previews ? 'prv' : 'job', new Date(Math.max(0, time.getTime() + toleranceMs)));
  return and(
    createdAfter === undefined ? undefined : gte(id, idAt(createdAfter, -idToleranceMs)),
    createdBefore === undefined ? undefined : lt(id, idAt(createdBefore, idToleranceMs)),
  );
}

/** of the latest jobs in any state, so that a long queue does not slow down quotes */
const newestJobs = 2000;

async function latestTimes(db: Db, limit: number): Promise<TimeSample[]> {
  const { id, mode, status, resolution, source, startedAt, finishedAt } = jobs;
  // Ids sort by time, and those of previews after those of jobs.
  const newest = db.select({ id, mode, status, resolution, source, startedAt, finishedAt }).from(jobs).where(lt(id, 'prv_')).orderBy(desc(id)).limit(newestJobs).as('newest');
  return db
    .select({ resolution: newest.resolution, source: newest.source, startedAt: newest.startedAt, finishedAt: newest.finishedAt })
    .from(newest)
    .where(and(eq(newest.status, 'done'), eq(newest.mode, 'live')))
    .orderBy(desc(newest.id))
    .limit(limit);
}

/**
 * Deletes one job: refunds by its state, drops its URLs, and queues the destruction of its files and of its upload, which
 * waits until a running worker has noticed and given up its lease. null when there is nothing to delete.
 */
async function deleteJob(tx: Tx, which: ReturnType<typeof and>, by: DeletedBy, actor: Actor = {}): Promise<DeletedJob | null> {
  const [job] = await tx
    .select()
    .from(jobs)
    .where(and(which, allowsTransition('delete')))
    .for('no key update');
  if (!job) return null;
  const refundedCredits = refundOnDelete({ ...job, processed: job.status === 'running' ? await processedShare(tx, job) : 0 });
  const [deleted] = await tx
    .update(jobs)
    .set({
      deletedAt: sql`now()`,
      deletedBy: by,
      videoUrl: null,
      pictures: null,
      fileName: null,
      webhookUrl: null,
      metadata: {},
      etaSeconds: null,
      segmentPlan: null,
      ...(job.preview === null ? {} : { preview: { settings: job.preview.settings }, uploadId: null }),
      creditsRefunded: job.creditsRefunded + refundedCredits,
    })
    .where(and(eq(jobs.id, job.id), allowsTransition('delete')))
    .returning({ deletedAt: jobs.deletedAt });
  // A job like the preview still needs the upload.
  const upload = job.uploadId === null || job.preview !== null ? null : await markUploadDeleted(tx, eq(uploads.id, job.uploadId), by);
  await tx
    .update(idempotencyKeys)
    .set({ expiresAt: endAfterDeletion })
    .where(eq(idempotencyKeys.jobId, job.id));
  await tx.execute(sql`SELECT 1 FROM graphile_worker.remove_job(${stepKey(job.id)})`);
  await dequeueSegments(tx, job.id);
  await stopDeliveries(tx, job.id);
  await enqueueDestroy(tx, job.id);
  if (upload !== null) await enqueueUploadDestroy(tx, upload.id);
  if (refundedCredits > 0) {
    await postTransfer(tx, { kind: 'refund', accountId: job.accountId, jobId: job.id, credits: refundedCredits });
  }
  await appendEvent(tx, {
    accountId: job.accountId,
    kind: eventOf(job, 'deleted'),
    jobId: job.id,
    data: { by, status: job.status, refunded_credits: refundedCredits, ...actor },
  });
  if (upload !== null) await appendEvent(tx, uploadDeletion(upload, actor));
  return { id: job.id, deletedAt: deleted!.deletedAt!, refundedCredits };
}

/** Retention: deletes up to `limit` expired jobs, each in its own transaction. */
async function expireDue(db: Db, limit: number): Promise<Batch> {
  const isDue = sql`${jobs.expiresAt} <= now()`;
  const due = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isNull(jobs.deletedAt), isDue))
    .orderBy(jobs.expiresAt)
    .limit(limit);
  return deleteEach(db, due, 'retention', isDue);
}

/**
 * Deletes up to `limit` jobs of closed accounts, each in its own transaction. It runs on schedule, because a request that
 * was accepted before the account was closed may create a job afterwards.
 */
async function deleteOfClosed(db: Db, limit: number): Promise<Batch> {
  // Jobs and previews have an index each, in this order. Without the order, PostgreSQL may read all jobs.
  const ofAccount = (which: SQL) => sql`(SELECT id FROM ${jobs} WHERE ${jobs.accountId} = ${accounts.id} AND ${jobs.deletedAt} IS NULL AND ${which}
    ORDER BY mode, id DESC LIMIT ${limit}::int)`;
  const left = await db.execute<{ id: string }>(sql`SELECT j.id FROM ${accounts}
    CROSS JOIN LATERAL (${ofAccount(isNull(jobs.preview))} UNION ALL ${ofAccount(isNotNull(jobs.preview))}) j
    WHERE ${accounts.closedAt} IS NOT NULL LIMIT ${limit}::int`);
  return deleteEach(db, left, 'operator');
}

async function* deleteOfAccount(db: Db, accountId: string, limit: number): AsyncGenerator<Batch> {
  for (const previews of [false, true]) {
    for (const mode of ['live', 'test'] as const) yield* deleteListed(db, { accountId, mode, previews, limit });
  }
}

/** Deletes a list from the newest on. What cannot be deleted, or is created meanwhile, is passed over. */
async function* deleteListed(db: Db, list: ListJobs): AsyncGenerator<Batch> {
  for (let query: ListJobs | null = list; query !== null; ) {
    const page = await listJobs(db, query);
    yield await deleteEach(db, page.jobs, 'operator');
    query = page.hasMore ? { ...list, startingAfter: page.jobs.at(-1)!.id } : null;
  }
}

/** Deletes the jobs that still meet the condition once they are locked. */
function deleteEach(db: Db, which: { id: string }[], by: DeletedBy, still?: SQL): Promise<Batch> {
  return withEach(which, async ({ id }) => (await transact(db, (tx) => deleteJob(tx, and(eq(jobs.id, id), still), by))) !== null);
}

/** Jobs in the console: both modes of an account, with their timelines. */
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lt, type SQL, sql } from './orm.ts';
import type { JobPicture, JobRecord, JobStatus, Mode } from '../domain/job.ts';
import { samplePrefix } from '../domain/test-mode.ts';
import { isOfAccount } from './account-lists.ts';
import type { Db } from './database.ts';
import type { JobFeed } from './job-feed.ts';
import { type JobRow, toJobRecord } from './job-rows.ts';
import { hasStatus, isOpen } from './job-states.ts';
import { eventHeads, type EventKind, jobEvents, jobNames, jobs, ledgerEntries, ledgerTransfers, objects, uploads } from './schema.ts';
import { type AccountQueries, AccountWatch } from './watch-account.ts';

export interface ConsoleJobQuery {
  accountId: string;
  limit: number;
  /** exclusive id */
  startingAfter?: string | undefined;
  /** absent: both modes */
  mode?: Mode | undefined;
  status?: JobStatus | undefined;
  /** part of the id or of the name; not for previews */
  text?: string | undefined;
  /** previews instead of jobs; absent: jobs */
  previews?: boolean;
}

/** A stored file of a job. */
export interface JobFile {
  key: string;
  /** bytes; null while it is being stored */
  size: number | null;
}

export interface ConsoleJobDetail {
  job: JobRecord;
  /** null before it is stored and after it was destroyed */
  original: JobFile | null;
  output: JobFile | null;
  /** until when jobs can be created from the job's upload; null if it is gone, and for a URL */
  uploadExpiresAt: Date | null;
  /** oldest first */
  timeline: { at: Date; kind: string; data: Record<string, unknown> }[];
  /** oldest first */
  charges: { id: number; kind: 'charge' | 'refund'; amount: number; balance: number; at: Date }[];
}

const modes: readonly Mode[] = ['test', 'live'];
/** largest number of open jobs that one poll returns */
const openJobsLimit = 200;
/** largest number of entries of the audit log that one poll reads */
const entryLimit = 1000;
const timelineLimit = 500;

export function consoleJobQueries(db: Db, feed: JobFeed) {
  const accountWatch = new AccountWatch<JobRecord>({ feed, queries: watchQueries(db) });
  return {
    /** Newest first; one more than `limit` if there are more. */
    async list(query: ConsoleJobQuery): Promise<JobRecord[]> {
      // One query per mode reads its part of the index in order; a common one would sort all jobs of the account.
      const found = await Promise.all(
        modes.filter((mode) => (query.mode ?? mode) === mode).map((mode) => listMode(db, mode, query)),
      );
      const rows = found.flat().sort((a, b) => (a.id < b.id ? 1 : -1));
      return rows.slice(0, query.limit + 1).map(toJobRecord);
    },

    /** null for a job that is unknown, deleted or of another account. */
    async get(accountId: string, jobId: string): Promise<JobRecord | null> {
      const [row] = await db.select().from(jobs).where(and(ofAccount(accountId), eq(jobs.id, jobId)));
      return row ? toJobRecord(row) : null;
    },

    /** null like `get`. */
    async detail(accountId: string, jobId: string): Promise<ConsoleJobDetail | null> {
      const [row] = await db.select().from(jobs).where(and(ofAccount(accountId), eq(jobs.id, jobId)));
      if (!row) return null;
      const [files, uploadExpiresAt, timeline, charges] = await Promise.all([filesOf(db, row), uploadEndOf(db, row), timelineOf(db, row), chargesOf(db, row)]);
      return { job: toJobRecord(row), ...files, uploadExpiresAt, timeline, charges };
    },

    /** The stored files of a job; null like `get`. */
    async files(accountId: string, jobId: string) {
      const [row] = await db.select().from(jobs).where(and(ofAccount(accountId), eq(jobs.id, jobId)));
      return row ? { job: toJobRecord(row), ...(await filesOf(db, row)) } : null;
    },

    /** Yields jobs of the account that are created or change from now on; `job` is null if it was deleted. */
    watch: (accountId: string, signal: AbortSignal) => accountWatch.watch(accountId, signal),
  };
}

const ofAccount = (accountId: string) =>
  and(eq(jobs.accountId, accountId), inArray(jobs.mode, [...modes]), isNull(jobs.deletedAt), isNull(jobs.preview));

function watchQueries(db: Db): AccountQueries<JobRecord> {
  return {
    read: (accountId, ids) => readJobs(db, accountId, ids),
    async position(accountId) {
      const [head] = await db.select().from(eventHeads).where(eq(eventHeads.accountId, accountId));
      return head?.seq ?? 0;
    },
    async poll(accountId, { after, open }) {
      const { changed, position } = await changedAfter(db, accountId, after);
      // Read afterwards: a job in both is shown as it is here.
      return { changed, jobs: open ? await openJobs(db, accountId) : [], position };
    },
  };
}

async function readJobs(db: Db, accountId: string, ids: string[]): Promise<JobRecord[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .select()
    .from(jobs)
    .where(and(ofAccount(accountId), inArray(jobs.id, ids)))
    .orderBy(asc(jobs.id));
  return rows.map(toJobRecord);
}

/** The newest jobs that have not ended. */
async function openJobs(db: Db, accountId: string): Promise<JobRecord[]> {
  const rows = await db
    .select()
    .from(jobs)
    .where(and(ofAccount(accountId), isOpen))
    .orderBy(desc(jobs.id))
    .limit(openJobsLimit);
  return rows.map(toJobRecord);
}

/** The entries of the audit log about what a list shows of a job. */
const changes: readonly EventKind[] = ['job.created', 'job.started', 'job.completed', 'job.failed', 'job.deleted'];

/**
 * Jobs with such an entry after that sequence, and the last sequence that was read. No lower number can appear later: each
 * entry takes its number under a lock on the log's head, held until the commit.
 */
async function changedAfter(db: Db, accountId: string, after: number): Promise<{ changed: string[]; position: number }> {
  const entries = await db
    .select({ seq: jobEvents.seq, kind: jobEvents.kind, jobId: jobEvents.jobId })
    .from(jobEvents)
    .where(and(eq(jobEvents.accountId, accountId), gt(jobEvents.seq, after)))
    .orderBy(asc(jobEvents.seq))
    .limit(entryLimit);
  const changed = entries.flatMap(({ kind, jobId }) => (jobId !== null && changes.includes(kind) ? [jobId] : []));
  return { changed, position: entries.at(-1)?.seq ?? after };
}

async function listMode(db: Db, mode: Mode, query: ConsoleJobQuery): Promise<JobRow[]> {
  const { accountId, startingAfter, status, text, previews = false, limit } = query;
  const which = and(
    isOfAccount(jobs.accountId, accountId),
    eq(jobs.mode, mode),
    isNull(jobs.deletedAt),
    (previews ? isNotNull : isNull)(jobs.preview),
    startingAfter === undefined ? undefined : lt(jobs.id, startingAfter),
    status === undefined ? undefined : hasStatus(status),
  );
  const isListed = text === undefined ? which : sql`${jobs.id} = ANY (ARRAY(${idsWith(db, which, { ...query, mode, text })}))`;
  return db.select().from(jobs).where(isListed).orderBy(jobs.accountId, desc(jobs.id)).limit(limit + 1);
}

/**
 * Searches ids and names in an index that holds both. Only the jobs that are found are read: for a subquery in ARRAY, unlike one in IN, PostgreSQL
 * cannot read the jobs one by one until enough of them are in it. Most jobs are done, and few have another status: these have indexes of their own.
 */
function idsWith(db: Db, which: SQL | undefined, { accountId, mode, startingAfter, status, text, limit }: ConsoleJobQuery & { mode: Mode; text: string }) {
  const { jobId } = jobNames;
  if (status !== undefined && status !== 'done') {
    const isNamed = sql`EXISTS (SELECT FROM ${jobNames} WHERE ${jobNames.accountId} = ${jobs.accountId} AND ${jobNames.mode} = ${jobs.mode} AND ${jobId} = ${jobs.id} AND ${contains(text)})`;
    return db.select({ id: jobs.id }).from(jobs).where(and(which, isNamed)).orderBy(jobs.accountId, desc(jobs.id)).limit(limit + 1);
  }
  const isDone = sql`EXISTS (SELECT FROM ${jobs} WHERE ${jobs.id} = ${jobId} AND ${hasStatus('done')})`;
  return db
    .select({ id: jobId })
    .from(jobNames)
    .where(
      and(
        isOfAccount(jobNames.accountId, accountId),
        eq(jobNames.mode, mode),
        startingAfter === undefined ? undefined : lt(jobId, startingAfter),
        contains(text),
        status === undefined ? undefined : isDone,
      ),
    )
    .orderBy(desc(jobNames.accountId), desc(jobId))
    .limit(limit + 1);
}

/**
 * Ignores case, and whether an accent is a character of its own (search_text). The text is folded once: for a parameter, the
 * function may run for each row. The planner expects many matches of strpos, and so takes the index in the order of the list. Of LIKE it may expect few.
 */
function contains(text: string): SQL {
  const part = sql`(SELECT search_text(${text}))`;
  return sql`(strpos(${jobNames.jobId}, ${part}) > 0 OR strpos(${jobNames.name}, ${part}) > 0)`;
}

/** The stored files that the job refers to. Those of a failed job are destroyed. */
async function filesOf(db: Db, row: JobRow): Promise<{ original: JobFile | null; output: JobFile | null; pictures: JobPicture[] }> {
  if (row.status === 'error') return { original: null, output: null, pictures: [] };
  const stored = await db
    .select({ key: objects.key, size: objects.sizeBytes })
    .from(objects)
    .where(and(eq(objects.jobId, row.id), eq(objects.state, 'stored')));
  const file = (key: string | null) => stored.find((object) => object.key === key) ?? sharedSample(row, key);
  return { original: file(row.originalKey), output: row.status === 'done' ? file(row.outputKey) : null, pictures: row.pictures ?? [] };
}

/** The result of a test job is the service's own file, not an object of the job. */
function sharedSample(row: JobRow, key: string | null): JobFile | null {
  return key?.startsWith(samplePrefix) ? { key, size: row.output?.size_bytes ?? null } : null;
}

async function uploadEndOf(db: Db, { uploadId }: JobRow): Promise<Date | null> {
  if (uploadId === null) return null;
  const [upload] = await db
    .select({ expiresAt: uploads.expiresAt })
    .from(uploads)
    .where(and(eq(uploads.id, uploadId), eq(uploads.status, 'ready'), isNull(uploads.deletedAt), gt(uploads.expiresAt, sql`now()`)));
  return upload?.expiresAt ?? null;
}

function timelineOf(db: Db, row: JobRow) {
  return db
    .select({ at: jobEvents.at, kind: jobEvents.kind, data: jobEvents.data })
    .from(jobEvents)
    .where(eq(jobEvents.jobId, row.id))
    .orderBy(asc(jobEvents.seq))
    .limit(timelineLimit);
}

async function chargesOf(db: Db, row: JobRow): Promise<ConsoleJobDetail['charges']> {
  const rows = await db
    .select({
      id: ledgerTransfers.id,
      kind: ledgerTransfers.kind,
      at: ledgerTransfers.at,
      amount: ledgerEntries.amount,
      balance: ledgerEntries.balance,
    })
    .from(ledgerTransfers)
    .innerJoin(ledgerEntries, and(eq(ledgerEntries.transferId, ledgerTransfers.id), eq(ledgerEntries.book, 'customer')))
    .where(eq(ledgerTransfers.jobId, row.id))
    .orderBy(asc(ledgerTransfers.id));
  return rows.flatMap(({ kind, balance, ...rest }) => (kind === 'grant' || kind === 'withdrawal' ? [] : [{ ...rest, kind, balance: balance ?? 0 }]));
}

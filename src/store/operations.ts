/** The state of the service for its operators. No customer URLs are read here. */
import { and, asc, count, desc, eq, inArray, isNotNull, isNull, lt, max, type SQL, sql, type SQLWrapper } from './orm.ts';
import type { ApprovalStatus } from '../domain/approval.ts';
import type { JobErrorCode } from '../domain/errors.ts';
import type { Mode, Resolution, Tier } from '../domain/job.ts';
import { type Db, readApart } from './database.ts';
import { type Period, readHistory } from './history.ts';
import { taskName } from './queue.ts';
import { inspectJob } from './inspect-job.ts';
import type { UploadStatus } from '../domain/uploads.ts';
import { accounts, apiKeys, consoleUsers, hasTwoFactor, jobs, segments, type Step, type WorkerDevice, workers } from './schema.ts';
import type { Account, ConsoleUser } from './types.ts';

/** A user, for operators. */
export interface Person extends Pick<ConsoleUser, 'id' | 'email' | 'role' | 'operator'> {
  /** whether sign-in asks for a code */
  twoFactor: boolean;
}

export interface OperatorAccount extends Account {
  /** its users */
  people: Person[];
  /** neither revoked nor expired */
  activeKeys: number;
}

export interface AccountQuery {
  limit: number;
  /** exclusive id */
  startingAfter?: string | undefined;
  state?: ApprovalStatus | undefined;
  /** part of the name or of a person's email, or the beginning of the id */
  text?: string | undefined;
}

export interface QueueState {
  task: string;
  /** due and not started */
  waiting: number;
  /** due later */
  later: number;
  running: number;
  /** how long the oldest waiting row has been due, seconds */
  oldestSeconds: number | null;
  /** age of the oldest row whose last attempt failed, seconds: rows that are tried again later are not due */
  oldestFailingSeconds: number | null;
}

export interface Overview {
  queue: QueueState[];
  jobs: { queued: number; running: number; oldestQueuedSeconds: number | null; longestDiskWaitSeconds: number | null; failedLastDay: number };
  webhooks: { pending: number; overdue: number };
  /** uploads whose files exist, by status */
  uploads: { status: UploadStatus; uploads: number; bytes: number }[];
  workersAlive: number;
  accountsPending: number;
}

export interface WorkerRecord {
  id: string;
  host: string | null;
  startedAt: Date;
  heartbeatAt: Date;
  alive: boolean;
  concurrency: number | null;
  devices: WorkerDevice[];
  jobs: { id: string; step: Step; progress: number; leaseExpiresAt: Date }[];
}

export interface FailureRecord {
  jobId: string;
  accountId: string;
  mode: Mode;
  tier: Tier;
  resolution: Resolution;
  durationSeconds: number;
  code: JobErrorCode;
  message: string;
  attempts: number;
  finishedAt: Date;
}

/** A worker counts as dead after so many seconds without a heartbeat. */
const aliveS = 30;

export function operationQueries(db: Db) {
  return {
    overview: () => overview(db),

    /** The last 24 hours in hours, or the last seven days in steps of six hours. */
    history: (period: Period) => readHistory(db, period),

    /** Open accounts, newest first. */
    async accounts({ limit, startingAfter, state, text }: AccountQuery): Promise<OperatorAccount[]> {
      const rows = await db
        .select()
        .from(accounts)
        .where(
          and(
            isNull(accounts.closedAt),
            startingAfter === undefined ? undefined : lt(accounts.id, startingAfter),
            state === undefined ? undefined : eq(accounts.approvalStatus, state),
            text === undefined ? undefined : matchesAccount(text),
          ),
        )
        .orderBy(desc(accounts.id))
        .limit(limit);
      return withPeople(db, rows);
    },

    /** null for an unknown or closed one */
    async account(accountId: string): Promise<OperatorAccount | null> {
      const open = and(eq(accounts.id, accountId), isNull(accounts.closedAt));
      const rows = await db.select().from(accounts).where(open);
      return (await withPeople(db, rows))[0] ?? null;
    },

    /** Newest first; `startingAfter` is an exclusive id. */
    workers: (query: { limit: number; startingAfter?: string | undefined }) => listWorkers(db, query),

    /** A job or a preview of any account, also a deleted one; null for an unknown one. */
    job: (jobId: string) => inspectJob(db, jobId),

    /** Latest failure first; `startingAfter` is an exclusive id of a job. */
    failures: (query: { limit: number; startingAfter?: string | undefined }) => failures(db, query),
  };
}

/** Upper and lower case are the same, in a database with the locale C only of the letters A to Z. */
function matchesAccount(text: string): SQL {
  const contains = (column: SQLWrapper) => sql`strpos(lower(${column}), lower(${text})) > 0`;
  return sql`(${contains(accounts.name)} OR starts_with(${accounts.id}, lower(${text}))
    OR EXISTS (SELECT FROM ${consoleUsers} WHERE ${consoleUsers.accountId} = ${accounts.id} AND ${contains(consoleUsers.email)}))`;
}

async function withPeople(db: Db, rows: Account[]): Promise<OperatorAccount[]> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const { accountId, id, email, role, operator } = consoleUsers;
  const works = and(isNull(apiKeys.revokedAt), sql`coalesce(${apiKeys.expiresAt} > now(), true)`);
  const [users, keys] = await Promise.all([
    db.select({ accountId, id, email, role, operator, twoFactor: hasTwoFactor }).from(consoleUsers).where(inArray(accountId, ids)).orderBy(id),
    db
      .select({ accountId: apiKeys.accountId, keys: count() })
      .from(apiKeys)
      .where(and(inArray(apiKeys.accountId, ids), works))
      .groupBy(apiKeys.accountId),
  ]);
  return rows.map((account) => ({
    ...account,
    people: users.filter(({ accountId }) => accountId === account.id),
    activeKeys: keys.find(({ accountId }) => accountId === account.id)?.keys ?? 0,
  }));
}

async function overview(db: Db): Promise<Overview> {
  const [queue, [facts], uploads] = await readApart(db, async (tx) => [
    await tx.execute<Record<keyof QueueState, string | null>>(sql`
      SELECT ${taskName(sql`task_identifier`)} AS task,
        count(*) FILTER (WHERE locked_at IS NULL AND run_at <= now()) AS waiting,
        count(*) FILTER (WHERE locked_at IS NULL AND run_at > now()) AS later,
        count(*) FILTER (WHERE locked_at IS NOT NULL) AS running,
        extract(epoch FROM now() - min(run_at) FILTER (WHERE locked_at IS NULL AND run_at <= now())) AS "oldestSeconds",
        extract(epoch FROM now() - min(created_at) FILTER (WHERE last_error IS NOT NULL)) AS "oldestFailingSeconds"
      FROM graphile_worker.jobs WHERE attempts < max_attempts OR locked_at IS NOT NULL
      GROUP BY 1 ORDER BY 1`),
    await tx.execute<Record<string, string | null>>(sql`SELECT
      (SELECT count(*) FROM jobs WHERE status = 'queued' AND deleted_at IS NULL) AS queued,
      (SELECT count(*) FROM jobs WHERE status = 'running' AND deleted_at IS NULL) AS running,
      (SELECT extract(epoch FROM now() - min(created_at)) FROM jobs
        WHERE status = 'queued' AND deleted_at IS NULL) AS oldest,
      -- A step that has begun after all has its wait until it ends.
      (SELECT extract(epoch FROM now() - least(min(j.disk_wait_since) FILTER (WHERE j.lease_owner IS NULL), min(s.since)))
        FROM jobs j LEFT JOIN LATERAL (SELECT min(disk_wait_since) AS since FROM segments
          WHERE job_id = j.id COLLATE "default" AND j.step = 'segments' AND lease_owner IS NULL) s ON true
        WHERE j.status = 'running' AND j.deleted_at IS NULL) AS "diskWait",
      (SELECT count(*) FROM jobs WHERE status = 'error' AND finished_at > now() - interval '1 day') AS failed,
      (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending') AS pending,
      (SELECT count(*) FROM webhook_deliveries d
        WHERE state = 'pending' AND next_at < now() - interval '1 minute'
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b
            WHERE b.account_id = d.account_id AND b.busy_until > now())) AS overdue,
      (SELECT count(*) FROM workers WHERE heartbeat_at > now() - make_interval(secs => ${aliveS})) AS workers,
      (SELECT count(*) FROM accounts WHERE approval_status = 'pending') AS accounts`),
    await tx.execute<{ status: UploadStatus; uploads: number; bytes: number }>(sql`
      SELECT status, count(*)::int AS uploads, sum(size_bytes)::float8 AS bytes FROM uploads
      WHERE destroyed_at IS NULL GROUP BY 1`),
  ]);
  const number = (name: string) => Number(facts?.[name] ?? 0);
  return {
    queue: queue.map((row) => ({
      task: row.task ?? '',
      waiting: Number(row.waiting),
      later: Number(row.later),
      running: Number(row.running),
      oldestSeconds: age(row.oldestSeconds),
      oldestFailingSeconds: age(row.oldestFailingSeconds),
    })),
    jobs: {
      queued: number('queued'),
      running: number('running'),
      oldestQueuedSeconds: age(facts?.['oldest'] ?? null),
      longestDiskWaitSeconds: age(facts?.['diskWait'] ?? null),
      failedLastDay: number('failed'),
    },
    webhooks: { pending: number('pending'), overdue: number('overdue') },
    uploads: [...uploads],
    workersAlive: number('workers'),
    accountsPending: number('accounts'),
  };
}

/** Whole seconds; 0 if the clock was set back. */
const age = (seconds: string | null) => (seconds === null ? null : Math.max(0, Math.round(Number(seconds))));

async function listWorkers(
  db: Db,
  { limit, startingAfter }: { limit: number; startingAfter?: string | undefined },
): Promise<WorkerRecord[]> {
  const { id, host, startedAt, heartbeatAt, concurrency, devices } = workers;
  const alive = sql<boolean>`${heartbeatAt} > now() - make_interval(secs => ${aliveS})`;
  const behind = sql`(${startedAt}, ${id}) < (SELECT w.started_at, w.id FROM workers w WHERE w.id = ${startingAfter ?? ''})`;
  const rows = await db
    .select({ id, host, startedAt, heartbeatAt, concurrency, devices, alive })
    .from(workers)
    .where(startingAfter === undefined ? undefined : behind)
    .orderBy(desc(startedAt), desc(id))
    .limit(limit);
  const ids = rows.map((row) => row.id);
  const leases = await leasesOf(db, ids);
  return rows.map((worker) => ({
    ...worker,
    jobs: leases.flatMap(({ owner, ends, ...lease }) => (owner === worker.id && ends !== null ? [{ ...lease, leaseExpiresAt: ends }] : [])),
  }));
}

/** The jobs that these workers work on. One with leases on some segments of a job has the job once. */
async function leasesOf(db: Db, ids: string[]) {
  if (ids.length === 0) return [];
  const { id, step, progress } = jobs;
  const whole = db
    .select({ id, step, progress, owner: jobs.leaseOwner, ends: jobs.leaseExpiresAt })
    .from(jobs)
    .where(and(isNotNull(jobs.leaseExpiresAt), inArray(jobs.leaseOwner, ids)));
  const inSegments = db
    .select({ id, step, progress, owner: segments.leaseOwner, ends: max(segments.leaseExpiresAt) })
    .from(segments)
    .innerJoin(jobs, eq(id, segments.jobId))
    .where(and(isNotNull(segments.leaseExpiresAt), inArray(segments.leaseOwner, ids), eq(step, 'segments'), eq(jobs.status, 'running'), isNull(jobs.deletedAt)))
    .groupBy(id, segments.leaseOwner);
  return whole.unionAll(inSegments).orderBy(asc(id));
}

async function failures(
  db: Db,
  { limit, startingAfter }: { limit: number; startingAfter?: string | undefined },
): Promise<FailureRecord[]> {
  const behind = sql`(${jobs.finishedAt}, ${jobs.id}) < (SELECT f.finished_at, f.id FROM jobs f WHERE f.id = ${startingAfter ?? ''})`;
  const rows = await db
    .select({
      jobId: jobs.id,
      accountId: jobs.accountId,
      mode: jobs.mode,
      tier: jobs.tier,
      resolution: jobs.resolution,
      durationSeconds: jobs.durationSeconds,
      code: jobs.errorCode,
      message: jobs.errorMessage,
      attempts: jobs.attempt,
      finishedAt: jobs.finishedAt,
    })
    .from(jobs)
    .where(and(eq(jobs.status, 'error'), startingAfter === undefined ? undefined : behind))
    .orderBy(desc(jobs.finishedAt), desc(jobs.id))
    .limit(limit);
  return rows.map(({ code, message, finishedAt, ...row }) => ({
    ...row,
    code: code!,
    message: message ?? '',
    finishedAt: finishedAt!,
  }));
}

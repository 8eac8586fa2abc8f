/** Queue rows of Graphile Worker, written in the transaction that makes them necessary. */
import { type SQL, sql, type SQLWrapper } from './orm.ts';
import { type Batch, type Executor, withEach } from './database.ts';
import type { DeviceClass, Step } from './schema.ts';

/** The schema of Graphile Worker's tables, which our SQL names. Without it, Graphile takes the one of GRAPHILE_WORKER_SCHEMA. */
export const queueSchema = 'graphile_worker';

/**
 * The tasks of the queue with their payloads; src/jobs implements them. A worker takes only rows of tasks that it knows, so
 * new work gets a new name: workers of the version before leave it to the others. Segments and joins are for one engine: their
 * tasks have its id behind the name, such as `job_join:0123456789abcdef`, unless a worker of a version without these ids queued them.
 */
export interface Tasks {
  job_ingest: { jobId: string };
  /** a whole video, or its plan of segments */
  job_enhance: { jobId: string };
  /** the same, on that device class */
  enhance_cpu: { jobId: string };
  enhance_cuda: { jobId: string };
  /** one segment, on that device class */
  segment_cpu: { jobId: string; segment: number };
  segment_cuda: { jobId: string; segment: number };
  /** the step after all segments */
  job_join: { jobId: string };
  job_test_mode: { jobId: string };
  objects_destroy: { jobId: string };
  upload_verify: { uploadId: string };
  upload_destroy: { uploadId: string };
  webhook_deliver: { deliveryId: string };
}
export type TaskName = keyof Tasks;

/** The tasks of the schedule (src/jobs/scheduled-tasks.ts). */
export const scheduledTaskNames = ['scheduled_every_minute', 'scheduled_every_5_minutes', 'scheduled_hourly'] as const;
export type ScheduledTaskName = (typeof scheduledTaskNames)[number];

/** A record, so that a missing name is a compile error. */
const tasks: Record<TaskName | ScheduledTaskName, true> = {
  ...{ job_ingest: true, job_enhance: true, enhance_cpu: true, enhance_cuda: true, segment_cpu: true, segment_cuda: true },
  ...{ job_join: true, job_test_mode: true, objects_destroy: true, upload_verify: true, upload_destroy: true, webhook_deliver: true },
  ...{ scheduled_every_minute: true, scheduled_every_5_minutes: true, scheduled_hourly: true },
};

/** All tasks of this version. */
export const taskNames = Object.keys(tasks);

/** The steps with a queue row of their own; segments have one each. */
export type QueuedStep = Exclude<Step, 'segments'>;

const taskOfStep: Readonly<Record<QueuedStep, TaskName>> = {
  ingest: 'job_ingest',
  enhance: 'job_enhance',
  join: 'job_join',
  test_mode: 'job_test_mode',
};

/** Steps of an older or this version. A newer one may add more: its own workers queue those. */
export const queuedSteps = Object.keys(taskOfStep) as QueuedStep[];

const isQueuedStep = (step: string): step is QueuedStep => Object.hasOwn(taskOfStep, step);

/** A task for workers with that engine; null: for all. */
const forEngine = (task: TaskName, engine: string | null) => (engine === null ? task : `${task}:${engine}`);

export const taskOfSegment = (deviceClass: DeviceClass, engine: string | null): string => forEngine(`segment_${deviceClass}`, engine);
export const taskOfJoin = (engine: string | null): string => forEngine('job_join', engine);
export const taskOfWhole = (deviceClass: DeviceClass) => `enhance_${deviceClass}` as const;

/** The tasks that use the slots of enhancements. */
export const enhancementTaskNames: readonly TaskName[] = ['job_enhance', 'enhance_cpu', 'enhance_cuda', 'segment_cpu', 'segment_cuda', 'job_join'];

/** The name of a task without the engine that it is for. */
export const taskName = (identifier: SQL): SQL => sql`split_part(${identifier}, ':', 1)`;

export interface Enqueue {
  task: string | SQL;
  payload: Record<string, unknown>;
  /** at most one waiting row per key; a running row gets a successor */
  key?: string;
  delayS?: number;
  maxAttempts: number;
  /** the account of the row; workers run a few rows of each account at a time */
  account: SQL;
  /** rows with a lower one run first; default 0 */
  priority?: number;
}

/**
 * Adds a row, or changes the one that waits with that key. Graphile Worker does neither if a worker takes that row in the middle of the
 * query. Its task may not see what this transaction changes, so the row is added once more: it then succeeds the one that runs.
 */
export async function enqueue(on: Executor, { task, payload, key, delayS = 0, maxAttempts, account, priority = 0 }: Enqueue): Promise<void> {
  const add = sql`SELECT id FROM graphile_worker.add_job(
    ${task}, payload := ${JSON.stringify(payload)}::json, job_key := ${key ?? null}::text,
    run_at := clock_timestamp() + make_interval(secs => ${delayS}::float8),
    max_attempts := ${maxAttempts}::int, priority := ${priority}::int, flags := ARRAY(${account}))`;
  while ((await on.execute<{ id: string | null }>(add))[0]!.id === null);
}

/** Queues a task for each row, and goes on with the others if one fails. */
export const enqueueEach = <R extends { id: string }>(rows: readonly R[], enqueueRow: (row: R) => Promise<void>): Promise<Batch> =>
  withEach(rows, async (row) => {
    await enqueueRow(row);
    return true;
  });

const accountOfJob = (jobId: string) => sql`SELECT account_id FROM jobs WHERE id = ${jobId}`;

/** The join is for the engine of the job's segments. */
const joinTaskOfJob = (jobId: string) => sql`(SELECT 'job_join' || coalesce(':' || max(engine), '') FROM segments WHERE job_id = ${jobId})`;

/**
 * Queues a job's next step. The lease decides who works, so a second row for one job is harmless. Retries are counted in
 * the job's row; Graphile Worker's own attempts only cover workers that die.
 */
export function enqueueStep(on: Executor, { id, step, deviceClass = null }: StepOfJob, delayS = 0): Promise<void> {
  if (!isQueuedStep(step)) throw new Error(`The step ${step} of ${id} has no queue row`);
  const task = step === 'join' ? { task: joinTaskOfJob(id) } : {};
  return enqueue(on, { ...queuedStep({ id, step, deviceClass }), ...task, account: accountOfJob(id), delayS });
}

export interface StepOfJob {
  id: string;
  step: Step;
  /** that is to enhance it; null: any */
  deviceClass?: DeviceClass | null;
}

export const queuedStep = ({ id, step, deviceClass = null }: StepOfJob & { step: QueuedStep }) => ({
  task: step === 'enhance' && deviceClass !== null ? taskOfWhole(deviceClass) : taskOfStep[step],
  payload: { jobId: id },
  key: stepKey(id),
  maxAttempts: 3,
  // A job that only has to be joined ends before others begin.
  ...(step === 'join' ? { priority: -1 } : {}),
});

export interface QueuedSegment {
  jobId: string;
  number: number;
  deviceClass: DeviceClass;
  engine: string | null;
  priority: number;
}

/** Queues one segment. The segment's lease decides who works. */
export function enqueueSegment(on: Executor, { jobId, number, deviceClass, engine, priority }: QueuedSegment, delayS = 0): Promise<void> {
  return enqueue(on, {
    task: taskOfSegment(deviceClass, engine),
    payload: { jobId, segment: number },
    key: `segment:${jobId}:${number}`,
    delayS,
    priority,
    maxAttempts: 3,
    account: accountOfJob(jobId),
  });
}

/**
 * Queues further segments of a job whose row is locked, in order, until `atOnce` of them wait or run. One of a job's segments
 * has the priority of other jobs, behind those that wait already; when it has ended, the next one gets that priority, even if it
 * was queued before. The rest run when nothing else waits, those of the job with the least work left first. One notification
 * covers all rows. Each is due a microsecond after the one before it, which keeps them in order.
 */
export async function enqueueNextSegments(on: Executor, jobId: string, atOnce: number): Promise<void> {
  await on.execute(sql`WITH open AS (
      SELECT count(*) FILTER (WHERE queued) AS queued, coalesce(bool_or(queued AND priority = 0), false) AS has_first,
        sum(end_seconds - start_seconds) AS seconds
      FROM segments WHERE job_id = ${jobId} AND state <> 'done'),
    pending AS (
      SELECT number, s.queued, row_number() OVER (ORDER BY s.queued DESC, number) = 1 AND NOT has_first AS is_first,
        row_number() OVER (PARTITION BY s.queued ORDER BY number) <= ${atOnce}::int - open.queued AS fits,
        1 + least(20, floor(log(2, (1 + seconds / 60)::numeric)))::int AS later
      FROM segments s, open WHERE job_id = ${jobId} AND state = 'pending'),
    next AS (SELECT * FROM pending WHERE CASE WHEN queued THEN is_first ELSE fits END),
    taken AS (
      UPDATE segments s SET queued = true, priority = CASE WHEN is_first THEN 0 ELSE later END
      FROM next WHERE s.job_id = ${jobId} AND s.number = next.number AND s.state = 'pending'
      RETURNING s.number, s.device_class, s.engine, s.priority, 'segment:' || ${jobId} || ':' || s.number AS key),
    specs AS (
      SELECT array_agg(('segment_' || device_class || coalesce(':' || engine, ''), json_build_object('jobId', ${jobId}::text, 'segment', number), NULL,
        -- A segment that waits after a failure goes on waiting.
        greatest(clock_timestamp() + rank * interval '1 microsecond', (SELECT q.run_at FROM graphile_worker.jobs q WHERE q.key = t.key)),
        3, t.key, priority, ARRAY(${accountOfJob(jobId)}))::graphile_worker.job_spec ORDER BY number) AS rows
      FROM (SELECT *, row_number() OVER (ORDER BY number) AS rank FROM taken) t)
    SELECT 1 FROM specs, graphile_worker.add_jobs(rows) WHERE rows IS NOT NULL`);
}

/** Removes the waiting rows of a job's segments. */
export async function dequeueSegments(on: Executor, jobId: string): Promise<void> {
  await on.execute(sql`SELECT graphile_worker.remove_job('segment:' || job_id || ':' || number) FROM segments
    WHERE job_id = ${jobId} AND state <> 'done'`);
}

export const stepKey = (jobId: string): string => `step:${jobId}`;

/**
 * Whether the queue has a row `q` with that key that meets the condition. It is looked up by its key, whatever PostgreSQL expects of a queue that has
 * just grown: because of the LIMIT it makes no join. Ids have the collation "C", with which it could not use the index of keys.
 */
export const isQueued = (key: SQL, condition: SQL) =>
  sql`(SELECT true FROM graphile_worker.jobs q WHERE q.key = (${key}) COLLATE "default" AND ${condition} LIMIT 1) IS TRUE`;

/**
 * Whether a queue row with that key of a step or segment waits or runs. One without attempts left does neither, nor does one that a
 * dead worker has locked; a worker that has just started may not be known yet. No step waits for an hour: such a row was queued
 * while the clock of the database was ahead.
 */
export const hasUsableRow = (key: SQL) =>
  isQueued(key, sql`CASE WHEN q.locked_at IS NULL THEN q.attempts < q.max_attempts AND q.run_at < now() + interval '1 hour'
    ELSE q.locked_at > now() - interval '1 minute' OR EXISTS (SELECT 1 FROM workers w WHERE q.locked_by = ANY (w.pools)) END`);

/**
 * Whether a destruction of the job runs within `soonS` seconds. After a long outage of the storage the delays of the queue
 * have grown to hours.
 */
export const destroyIsQueued = (jobId: SQLWrapper, soonS: number) =>
  isQueued(sql`'destroy:' || ${jobId}`, sql`q.locked_at IS NULL AND q.attempts < q.max_attempts AND q.run_at < now() + make_interval(secs => ${soonS}::float8)`);

/** Queues the destruction of objects that a job no longer needs; attempts go on for days. */
export function enqueueDestroy(on: Executor, jobId: string, delayS = 0): Promise<void> {
  return enqueue(on, {
    task: 'objects_destroy',
    payload: { jobId },
    key: `destroy:${jobId}`,
    delayS,
    maxAttempts: 25,
    account: accountOfJob(jobId),
  });
}

const accountOfUpload = (uploadId: string) => sql`SELECT account_id FROM uploads WHERE id = ${uploadId}`;

/** Queues the verification of a complete upload; attempts go on for days. */
export function enqueueVerify(on: Executor, uploadId: string): Promise<void> {
  return enqueue(on, {
    task: 'upload_verify',
    payload: { uploadId },
    key: `verify:${uploadId}`,
    maxAttempts: 25,
    account: accountOfUpload(uploadId),
  });
}

/** Queues the destruction of an upload's file; attempts go on for days. */
export function enqueueUploadDestroy(on: Executor, uploadId: string, delayS = 0): Promise<void> {
  return enqueue(on, {
    task: 'upload_destroy',
    payload: { uploadId },
    key: `destroy:${uploadId}`,
    delayS,
    maxAttempts: 25,
    account: accountOfUpload(uploadId),
  });
}

/** Whether the task of an upload with this kind of key runs within `soonS` seconds, or runs now. */
export const uploadTaskIsQueued = (kind: 'verify' | 'destroy', uploadId: SQLWrapper, soonS: number) =>
  isQueued(sql`${`${kind}:`}::text || ${uploadId}`, sql`q.attempts < q.max_attempts AND q.run_at < now() + make_interval(secs => ${soonS}::float8)
    AND (q.locked_at IS NULL OR q.locked_at > now() - make_interval(secs => ${soonS}::float8))`);

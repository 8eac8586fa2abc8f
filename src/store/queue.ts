/** Queue rows of Graphile Worker, written in the transaction that makes them necessary. */
import { type SQL, sql, type SQLWrapper } from './orm.ts';
import type { Executor } from './database.ts';
import type { Step } from './schema.ts';

/** The tasks of the queue with their payloads; src/jobs implements them. */
export interface Tasks {
  job_ingest: { jobId: string };
  /** `segment`: the number of one segment; `join`: the step after all of them */
  job_enhance: { jobId: string; segment?: number; join?: true };
  job_test_mode: { jobId: string };
  objects_destroy: { jobId: string };
  upload_verify: { uploadId: string };
  upload_destroy: { uploadId: string };
  webhook_deliver: { deliveryId: string };
}
export type TaskName = keyof Tasks;

export const taskOfStep: Readonly<Record<Step, TaskName>> = {
  ingest: 'job_ingest',
  enhance: 'job_enhance',
  // The same task: workers that enhance also join, and autoscalers count one name.
  segments: 'job_enhance',
  join: 'job_enhance',
  test_mode: 'job_test_mode',
};

export interface Enqueue {
  task: string;
  payload: Record<string, unknown>;
  /** at most one waiting row per key; a running row gets a successor */
  key?: string;
  delayS?: number;
  maxAttempts: number;
  /** the account of the row; workers run a few rows of each account at a time */
  account: SQL;
}

export async function enqueue(on: Executor, { task, payload, key, delayS = 0, maxAttempts, account }: Enqueue) {
  await on.execute(sql`SELECT 1 FROM graphile_worker.add_job(
    ${task}, payload := ${JSON.stringify(payload)}::json, job_key := ${key ?? null}::text,
    run_at := clock_timestamp() + make_interval(secs => ${delayS}::float8),
    max_attempts := ${maxAttempts}::int, flags := ARRAY(${account}))`);
}

const accountOfJob = (jobId: string) => sql`SELECT account_id FROM jobs WHERE id = ${jobId}`;

/**
 * Queues a job's next step. The lease decides who works, so a second row for one job is harmless. Retries are counted in
 * the job's row; Graphile Worker's own attempts only cover workers that die.
 */
export function enqueueStep(on: Executor, job: { id: string; step: Step }, delayS = 0): Promise<void> {
  return enqueue(on, { ...queuedStep(job), account: accountOfJob(job.id), delayS });
}

export const queuedStep = ({ id, step }: { id: string; step: Step }) => ({
  task: taskOfStep[step],
  payload: { jobId: id, ...(step === 'join' ? { join: true } : {}) },
  key: stepKey(id),
  maxAttempts: 3,
});

/** Queues one segment. The segment's lease decides who works. */
export function enqueueSegment(on: Executor, { jobId, number }: { jobId: string; number: number }, delayS = 0): Promise<void> {
  return enqueue(on, {
    task: 'job_enhance',
    payload: { jobId, segment: number },
    key: segmentKey(jobId, number),
    delayS,
    maxAttempts: 3,
    account: accountOfJob(jobId),
  });
}

const segmentKey = (jobId: string, number: number): string => `segment:${jobId}:${number}`;

/** Removes the waiting rows of a job's segments. */
export async function dequeueSegments(on: Executor, jobId: string): Promise<void> {
  await on.execute(sql`SELECT graphile_worker.remove_job('segment:' || job_id || ':' || number) FROM segments
    WHERE job_id = ${jobId} AND state <> 'done'`);
}

export const stepKey = (jobId: string): string => `step:${jobId}`;

/**
 * Whether a destruction of the job runs within `soonS` seconds. After a long outage of the storage the delays of the queue
 * have grown to hours.
 */
export const destroyIsQueued = (jobId: SQLWrapper, soonS: number) =>
  sql`EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = 'destroy:' || ${jobId}
    AND q.locked_at IS NULL AND q.attempts < q.max_attempts
    AND q.run_at < now() + make_interval(secs => ${soonS}::float8))`;

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
  sql`EXISTS (SELECT 1 FROM graphile_worker.jobs q WHERE q.key = ${`${kind}:`}::text || ${uploadId}
    AND q.attempts < q.max_attempts AND q.run_at < now() + make_interval(secs => ${soonS}::float8)
    AND (q.locked_at IS NULL OR q.locked_at > now() - make_interval(secs => ${soonS}::float8)))`;

/**
 * Tasks that run on a schedule, once for all workers: the worker that first asks in a period queues the run, and one worker executes
 * it. All of them are safe to repeat at any time.
 */
import type { TaskList } from 'graphile-worker';
import { keptLogDays, keptLogEntries } from '../domain/request-log.ts';
import { assertNoneFailed, type Batch } from '../store/index.ts';
import type { ScheduledTaskName } from '../store/queue.ts';
import type { ScheduledTask } from '../store/schedule.ts';
import { segmentsAtOnce } from './plan-segments.ts';
import type { WorkerConfig, WorkerContext } from './worker-context.ts';

/** how many days a settled webhook stays in the list of deliveries */
const keptDeliveryDays = 30;
/** how many days the row of a destroyed upload stays if no job was created from it */
const keptUploadDays = 30;

/** The search of every five minutes for files that should be gone looks at jobs that changed in so many seconds; the hourly one looks at all. */
const changedInS = 2 * 3600;

/** the machine time of an account is forgotten after so many seconds without enhancements */
const idleAccountS = 600;

/** A worker that starts late in a period still runs the task, so that a service with short runs does its hourly work. */
export const schedule: readonly ScheduledTask[] = [
  { task: 'scheduled_every_minute', everyS: 60, atS: 0 },
  { task: 'scheduled_every_5_minutes', everyS: 5 * 60, atS: 0 },
  { task: 'scheduled_hourly', everyS: 3600, atS: 23 * 60 },
];

/** The parts of a worker that scheduled tasks use. */
export type ScheduledTaskContext = Pick<WorkerContext, 'store' | 'storage' | 'logger' | 'tuning' | 'stopping' | 'metrics'> & {
  config: Pick<WorkerConfig, 'segmentsAtOnce'>;
};

/** A late task is queued once, and not retried: the next time does the work. */
export function scheduledTasks(worker: ScheduledTaskContext): TaskList {
  const counted = (task: ScheduledTaskName, run: (worker: ScheduledTaskContext) => Promise<void>) => async () => {
    try {
      await run(worker);
    } catch (error) {
      worker.metrics.scheduledTaskEnded(task, 'failed');
      throw error;
    }
    worker.metrics.scheduledTaskEnded(task, 'done');
  };
  return {
    scheduled_every_minute: counted('scheduled_every_minute', everyMinute),
    scheduled_every_5_minutes: counted('scheduled_every_5_minutes', everyFiveMinutes),
    scheduled_hourly: counted('scheduled_hourly', hourly),
  } satisfies Record<ScheduledTaskName, () => Promise<void>>;
}

interface Batches {
  /** log text for the ids of a batch */
  done: string;
  limit: number;
  /** no batch begins later than this, ms after the first: the task is over before its next time */
  maxMs: number;
  /** finds fewer than `limit` rows when nothing else is left */
  next(limit: number): Promise<Batch>;
}

/**
 * Goes on past rows that others have locked, and those that fail. The next batch may find them again, so it is larger if they were the most.
 * Throws AggregateError if some failed.
 */
async function runBatches({ logger, stopping }: ScheduledTaskContext, { done, limit: first, maxMs, next }: Batches): Promise<void> {
  const end = performance.now() + maxMs;
  let failed: Batch | undefined;
  for (let limit = first, isFull = true; isFull && performance.now() < end && !stopping.aborted; ) {
    const batch = await next(limit);
    if (batch.done.length > 0) logger.info({ ids: batch.done }, done);
    if (batch.failures.length > 0) failed = batch;
    isFull = batch.found >= limit;
    if (batch.done.length < limit / 2) limit *= 2;
  }
  if (failed !== undefined) assertNoneFailed(failed);
}

async function everyMinute(worker: ScheduledTaskContext): Promise<void> {
  const { leases, segments, jobs, uploads } = worker.store;
  const bounds = { limit: 200, maxMs: 14_000 };
  const batches: Batches[] = [
    { ...bounds, done: 'lost jobs queued again', next: (limit) => leases.requeueOrphans(limit) },
    { ...bounds, done: 'lost segments queued again', next: (limit) => segments.requeueOrphans(limit) },
    { ...bounds, done: 'further segments of jobs queued', next: (limit) => segments.refill(segmentsAtOnce(worker), limit) },
    { ...bounds, done: 'jobs planned again, because no worker has their device class or engine', next: (limit) => replanUnserved(worker, limit) },
    { ...bounds, done: 'jobs deleted at the end of retention', next: (limit) => jobs.expireDue(limit) },
    { ...bounds, done: 'expired uploads deleted', next: (limit) => uploads.expireDue(limit) },
  ];
  await runEach([...batches.map((each) => () => runBatches(worker, each)), () => forgetDeletedEndpoints(worker, bounds)]);
}

/** Deleted webhook endpoints may have very many deliveries that still have their URL. */
async function forgetDeletedEndpoints({ store, stopping }: ScheduledTaskContext, { limit, maxMs }: Pick<Batches, 'limit' | 'maxMs'>): Promise<void> {
  const end = performance.now() + maxMs;
  let failed: Batch | undefined;
  for (let isOver = false; !isOver && performance.now() < end && !stopping.aborted; ) {
    const batch = await store.webhookEndpoints.forgetDeleted(limit);
    if (batch.failures.length > 0) failed = batch;
    isOver = batch.done.length === 0;
  }
  if (failed !== undefined) assertNoneFailed(failed);
}

async function replanUnserved({ store, tuning, metrics }: ScheduledTaskContext, limit: number): Promise<Batch> {
  const batch = await store.segments.replanUnserved({ deviceClassS: tuning.unservedClassS, engineS: tuning.unservedEngineS }, limit);
  for (const _ of batch.done) metrics.jobReplanned('no_worker');
  return batch;
}

/** Runs all parts in order, even if one fails: a row that one of them cannot handle must not stop the deletion of files. */
async function runEach(parts: (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts) await part().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} parts of a scheduled task failed: ${failures.map(String).join('; ')}`);
}

async function everyFiveMinutes(worker: ScheduledTaskContext): Promise<void> {
  const { store, tuning } = worker;
  const { destroyOverdueS, webhooks } = tuning;
  const bounds = { limit: 200, maxMs: 50_000 };
  const batches: Pick<Batches, 'done' | 'next'>[] = [
    { done: 'overdue destructions queued again', next: (limit) => store.objects.requeuePendingDeletions(destroyOverdueS, limit, { changedInS }) },
    { done: 'overdue certificates queued again', next: (limit) => store.certificates.requeueDue(destroyOverdueS, limit) },
    { done: 'overdue webhooks queued again', next: (limit) => store.deliveries.requeueOverdue(webhooks.overdueS, limit) },
    { done: 'jobs of closed accounts deleted', next: (limit) => store.jobs.deleteOfClosed(limit) },
    { done: 'webhook endpoints of closed accounts deleted', next: (limit) => store.webhookEndpoints.deleteOfClosed(limit) },
    { done: 'uploads of closed accounts deleted', next: (limit) => store.uploads.deleteOfClosed(limit) },
    { done: 'overdue tasks of uploads queued again', next: (limit) => store.uploads.requeueOverdue(destroyOverdueS, limit) },
  ];
  await runEach([
    () => store.workers.dropExpiredKeys(),
    () => store.workers.dropFinishedRows(),
    ...batches.map((each) => () => runBatches(worker, { ...bounds, ...each })),
    () => store.webhookSecrets.deleteOfClosed(),
    () => pruneRequestLog(worker, { onlyBusy: true }),
    () => store.rateLimits.prune(),
    () => store.machineTime.forget(idleAccountS),
    () => store.users.dropEndedSessions(),
    () => store.passwordLinks.prune(),
    () => store.people.prune(),
    () => checkLedger(worker),
  ]);
}

const prunedAtOnce = 5000;

async function pruneRequestLog({ store, stopping }: ScheduledTaskContext, { onlyBusy }: { onlyBusy: boolean }): Promise<void> {
  const full = await store.requestLog.full({ perAccount: keptLogEntries, onlyBusy });
  const query = { days: keptLogDays, full, limit: prunedAtOnce };
  for (let removed = prunedAtOnce; removed === prunedAtOnce && !stopping.aborted; ) removed = await store.requestLog.prune(query);
}

/** What is new in the ledger is checked after so many seconds: every second run of its task, whose times are not exact */
const ledgerCheckS = 9 * 60;

/** Checks the ledger when a check is due. A worker also calls it at start, so that a new service has a result soon. */
export async function checkLedger({ store, logger }: Pick<WorkerContext, 'store' | 'logger'>): Promise<void> {
  const checked = await store.ledgerChecks.runDue(ledgerCheckS);
  if (checked !== null && checked.violations > 0) {
    logger.error({ violations: checked.violations }, 'the ledger is inconsistent: run `reelmend ledger check`');
  }
}

async function hourly(worker: ScheduledTaskContext): Promise<void> {
  const { deliveries, uploads, objects, webhookSecrets } = worker.store;
  const overdue = { done: 'overdue destructions queued again', limit: 200, maxMs: 50_000 };
  await runEach([
    () => runBatches(worker, { ...overdue, next: (limit) => objects.requeuePendingDeletions(worker.tuning.destroyOverdueS, limit) }),
    () => pruneRequestLog(worker, { onlyBusy: false }),
    () => pruneAll(worker, (limit) => deliveries.prune(keptDeliveryDays, limit)),
    () => pruneAll(worker, (limit) => uploads.prune(keptUploadDays, limit)),
    () => webhookSecrets.prune(),
    () => destroyReturned(worker, 'jobs/', (keys) => objects.destroyReturned(keys)),
    () => destroyReturned(worker, 'uploads/', (keys) => uploads.destroyReturned(keys)),
  ]);
}

async function pruneAll({ stopping }: ScheduledTaskContext, prune: (limit: number) => Promise<number>): Promise<void> {
  const limit = 1000;
  while (!stopping.aborted && (await prune(limit)) === limit);
}

const listingBatch = 500;

/** Compares the storage with the database and destroys destroyed objects that are back, such as after restoring a backup. */
async function destroyReturned(
  { storage, logger, stopping }: ScheduledTaskContext,
  prefix: string,
  queue: (keys: string[]) => Promise<string[]>,
): Promise<void> {
  let batch: string[] = [];
  const flush = async () => {
    const returned = await queue(batch);
    if (returned.length > 0) logger.warn({ keys: returned }, 'destroyed objects are back in the storage and are destroyed again');
    batch = [];
  };
  for await (const key of storage.list(prefix)) {
    // The next run looks at all of them.
    if (stopping.aborted) return;
    batch.push(key);
    if (batch.length >= listingBatch) await flush();
  }
  await flush();
}

/**
 * What has to be done now and then, once for all workers: the database queues these tasks at their times (Graphile's
 * cron), and one worker does each. Any of it may run again at any moment.
 */
import type { CronItem, TaskList } from 'graphile-worker';
import type { WorkerContext } from './types.ts';

/** days for which a settled webhook stays in the list of those that were sent */
export const keptDeliveryDays = 30;

const minuteMs = 60_000;

/** Also done at a start that comes later than that, so that a service that never runs for an hour does its hourly work. */
const plan = [
  { task: 'scheduled_every_minute', match: '* * * * *', backfillPeriod: 0 },
  { task: 'scheduled_every_5_minutes', match: '*/5 * * * *', backfillPeriod: 10 * minuteMs },
  { task: 'scheduled_hourly', match: '23 * * * *', backfillPeriod: 120 * minuteMs },
] as const;

export interface ScheduledTasks {
  tasks: TaskList;
  schedule: CronItem[];
}

export function scheduledTasks(worker: WorkerContext): ScheduledTasks {
  const work: Record<(typeof plan)[number]['task'], () => Promise<void>> = {
    scheduled_every_minute: () => minutely(worker),
    scheduled_every_5_minutes: () => frequently(worker),
    scheduled_hourly: () => hourly(worker),
  };
  return {
    tasks: work,
    // One that is still waiting when the next comes is not needed twice; one that fails is done at its next time.
    schedule: plan.map(({ task, match, backfillPeriod }) => ({
      ...{ task, match, identifier: task },
      options: { backfillPeriod, jobKey: task, maxAttempts: 1 },
    })),
  };
}

const report = ({ logger }: WorkerContext, what: string, ids: string[]): void => {
  if (ids.length > 0) logger.info({ ids }, what);
};

async function minutely(worker: WorkerContext): Promise<void> {
  const { store } = worker;
  report(worker, 'lost jobs queued again', await store.leases.requeueOrphans());
  report(worker, 'jobs deleted at the end of retention', await store.jobs.expireDue(200));
}

async function frequently(worker: WorkerContext): Promise<void> {
  const { store, tuning } = worker;
  await store.workers.dropExpiredKeys();
  await store.workers.dropFinishedRows();
  report(worker, 'overdue destructions queued again', await store.objects.requeuePendingDeletions(tuning.destroyOverdueS));
  report(worker, 'overdue certificates queued again', await store.certificates.requeueDue(tuning.destroyOverdueS));
  report(worker, 'overdue webhooks queued again', await store.deliveries.requeueOverdue(tuning.webhooks.overdueS));
  await store.rateLimits.prune();
  await store.users.dropEndedSessions();
  report(worker, 'jobs of closed accounts deleted', await store.jobs.deleteOfClosed(200));
  await checkLedger(worker);
}

/** seconds after which the whole ledger is checked again: every second time of its task, whose times are not exact */
const ledgerCheckS = 9 * 60;

/** Also called when a worker starts, so that a new service knows of its ledger before the first time of the plan. */
export async function checkLedger({ store, logger }: WorkerContext): Promise<void> {
  const checked = await store.ledgerChecks.runDue(ledgerCheckS);
  if (checked !== null && checked.violations > 0) {
    logger.error({ violations: checked.violations }, 'the ledger breaks its rules: run `reelmend ledger check`');
  }
}

async function hourly(worker: WorkerContext): Promise<void> {
  const pruneBatch = 1000;
  while ((await worker.store.deliveries.prune(keptDeliveryDays, pruneBatch)) === pruneBatch);
  await destroyReturnedObjects(worker);
}

const listingBatch = 500;

/** Compares the storage with the database: what was destroyed and lies there again is destroyed again. */
async function destroyReturnedObjects({ storage, store, logger }: WorkerContext): Promise<void> {
  let batch: string[] = [];
  const flush = async () => {
    const returned = await store.objects.destroyReturned(batch);
    if (returned.length > 0) logger.warn({ keys: returned }, 'destroyed objects were there again');
    batch = [];
  };
  for await (const key of storage.list('jobs/')) {
    batch.push(key);
    if (batch.length >= listingBatch) await flush();
  }
  await flush();
}

/**
 * What every worker process does beside its jobs: say that it is alive, take up the jobs of the dead, end what is
 * past its time. All of it may run in many processes at once.
 */
import { hostname } from 'node:os';
import { removeExpiredUploads, uploadsFolder } from '../storage/uploads.ts';
import type { WorkerDevice } from '../store/index.ts';
import { reapScratch } from './scratch.ts';
import type { WorkerContext } from './types.ts';

export interface Chore {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** The chores of one worker; `pools` names Graphile's pools of this process. */
export function chores(worker: WorkerContext, pools: () => string[]): Chore[] {
  const { store, logger, tuning, config } = worker;
  const beatMs = Math.min(5000, (config.leaseSeconds * 1000) / 4);
  const { oftenMs, seldomMs, rarelyMs } = tuning.maintenance;
  const report = (what: string, ids: string[]) => ids.length > 0 && logger.info({ ids }, what);
  return [
    { name: 'alive', everyMs: beatMs, run: () => store.workers.seen(worker.id, pools()) },
    {
      name: 'leases',
      everyMs: beatMs,
      async run() {
        report('dead workers unlocked', await store.workers.bury(config.leaseSeconds * 1.5));
        const swept = await store.leases.sweepExpired(tuning.maxCrashes);
        report('jobs of dead workers queued again', swept.requeued);
        report('jobs failed after too many crashes', swept.failed);
      },
    },
    {
      name: 'open ends',
      everyMs: oftenMs,
      async run() {
        report('lost jobs queued again', await store.leases.requeueOrphans());
        report('jobs deleted at the end of retention', await store.jobs.expireDue(200));
        report('scratch of dead workers removed', await reapScratch(config.dataDir, worker.id, store.workers));
      },
    },
    {
      name: 'leftovers',
      everyMs: seldomMs,
      async run() {
        await store.workers.dropExpiredKeys();
        await store.workers.dropFinishedRows();
        report('overdue destructions queued again', await store.objects.requeueDoomed(tuning.destroyOverdueS));
        report('overdue certificates queued again', await store.certificates.requeueDue(tuning.destroyOverdueS));
        report('overdue webhooks queued again', await store.deliveries.requeueOverdue(tuning.webhooks.overdueS));
        await store.rateLimits.prune();
        await store.users.dropEndedSessions();
        report('jobs of closed accounts deleted', await store.jobs.deleteOfClosed(200));
      },
    },
    { name: 'ledger', everyMs: seldomMs, run: () => checkLedger(worker) },
    { name: 'description', everyMs: seldomMs, run: describeWorker(worker) },
    { name: 'uploads', everyMs: rarelyMs, run: () => removeExpiredUploads(uploadsFolder(config.dataDir)) },
    { name: 'storage', everyMs: rarelyMs, run: () => destroyReturnedObjects(worker) },
  ];
}

/** seconds between two checks of the whole ledger, by whichever worker comes first */
const ledgerCheckS = 600;

async function checkLedger({ store, logger }: WorkerContext): Promise<void> {
  const checked = await store.ledgerChecks.runDue(ledgerCheckS);
  if (checked !== null && checked.violations > 0) {
    logger.error({ violations: checked.violations }, 'the ledger breaks its rules: run `framelift ledger check`');
  }
}

/** Says what the process works with; again now and then, since a process that slept may have been forgotten. */
function describeWorker({ id, store, media, config }: WorkerContext): () => Promise<void> {
  let devices: Promise<WorkerDevice[]> | undefined;
  return async () => {
    devices ??= media.devices();
    // A failed look is made again at the next turn.
    devices.catch(() => (devices = undefined));
    const facts = { host: hostname(), concurrency: config.workerConcurrency, devices: await devices };
    await store.workers.describe(id, facts);
  };
}

const listingBatch = 500;

/** Compares the storage with the database: what was destroyed and lies there again is destroyed again. */
export async function destroyReturnedObjects({ storage, store, logger }: WorkerContext): Promise<void> {
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

/** Runs each chore at once and then at its interval, never twice at a time; a failed one is tried again. */
export function startChores(list: Chore[], onError: (name: string, error: unknown) => void): { stop(): Promise<void> } {
  const ends = list.map((chore) => {
    let timer: NodeJS.Timeout;
    let running = Promise.resolve();
    let active = true;
    const turn = () => {
      running = chore
        .run()
        .catch((error: unknown) => onError(chore.name, error))
        .then(() => {
          if (active) timer = setTimeout(turn, chore.everyMs);
        });
    };
    turn();
    return () => {
      active = false;
      clearTimeout(timer);
      return running;
    };
  });
  return {
    async stop() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}

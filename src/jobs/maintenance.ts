/**
 * What every worker process does beside its jobs: say that it is alive, take up the jobs of the dead within seconds,
 * clean its own disk. All of it may run in many processes at once; what one process does for all is in scheduled-tasks.ts.
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
  const report = (what: string, ids: string[]) => ids.length > 0 && logger.info({ ids }, what);
  return [
    { name: 'alive', everyMs: beatMs, run: () => store.workers.heartbeat(worker.id, pools()) },
    {
      name: 'leases',
      everyMs: beatMs,
      async run() {
        report('dead workers unlocked', await store.workers.reapDead(config.leaseSeconds * 1.5));
        const swept = await store.leases.sweepExpired(tuning.maxCrashes);
        report('jobs of dead workers queued again', swept.requeued);
        report('jobs failed after too many crashes', swept.failed);
      },
    },
    {
      name: 'scratch',
      everyMs: tuning.chores.scratchMs,
      run: async () => void report('scratch of dead workers removed', await reapScratch(config.dataDir, worker.id, store.workers)),
    },
    { name: 'description', everyMs: tuning.chores.describeMs, run: describeWorker(worker) },
    { name: 'uploads', everyMs: tuning.chores.uploadsMs, run: () => removeExpiredUploads(uploadsFolder(config.dataDir)) },
  ];
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

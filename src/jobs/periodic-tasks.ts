/**
 * What every worker process does at intervals beside its jobs: report that it is alive, requeue the jobs of dead workers
 * within seconds, clean its own disk. Many processes may do so at once. Tasks that one process does for all are in
 * scheduled-tasks.ts.
 */
import { type CrashedJob, reasonOf } from '../store/index.ts';
import { leaseSweepsPerSecond, scheduleChecksPerSecond, sharedIntervalMs } from './fleet-size.ts';
import { heartbeatIntervalMs } from './lease-keeper.ts';
import type { KeptRunner } from './runner.ts';
import { schedule } from './scheduled-tasks.ts';
import { reapScratch } from './scratch.ts';
import type { WorkerContext } from './worker-context.ts';
import type { WorkerDescription } from './worker-description.ts';

export interface PeriodicTask {
  name: string;
  /** the time until the next run */
  everyMs: () => number;
  run(): Promise<void>;
}

/** The periodic tasks of one worker with these runners. */
export function periodicTasks(worker: WorkerContext, runners: readonly KeptRunner[], description: WorkerDescription): PeriodicTask[] {
  const { store, logger, tuning, config, fleet, metrics } = worker;
  const heartbeatMs = Math.min(5000, (config.leaseSeconds * 1000) / 4);
  const contact = new DatabaseContact(1000 * config.leaseSeconds, tuning.heartbeatsPerLease);
  const report = (what: string, ids: string[]) => ids.length > 0 && logger.info({ ids }, what);
  const reportFailed = (what: string, jobs: CrashedJob[]) => {
    for (const job of jobs) metrics.jobFailed(job, 'processing_failed');
    report(what, jobs.map(({ id }) => id));
  };
  return [
    {
      name: 'heartbeat',
      everyMs: () => heartbeatMs,
      async run() {
        const isNew = await store.workers.heartbeat(worker.id, poolsOf(runners));
        contact.made();
        description.writeMissing(isNew);
      },
    },
    {
      name: 'lost rows',
      everyMs: () => heartbeatMs,
      async run() {
        for (const runner of runners) {
          const rows = await runner.freeLostRows();
          if (rows > 0) logger.warn({ rows }, 'queue rows freed whose lock this worker did not know of');
        }
      },
    },
    {
      name: 'leases',
      everyMs: () => sharedIntervalMs(fleet, { shortestMs: heartbeatMs, perSecond: leaseSweepsPerSecond }),
      async run() {
        if (!contact.isSteady()) return;
        const errors: unknown[] = [];
        const note = (error: unknown) => void errors.push(error);
        // A queue row that cannot be unlocked must not keep the leases, which are of other jobs.
        await store.workers.reapDead(config.leaseSeconds * 1.5).then((ids) => report('queue locks of dead workers released', ids), note);
        const swept = await store.leases.sweepExpired(tuning.maxCrashes);
        report('jobs of dead workers queued again', swept.requeued);
        reportFailed('jobs failed after too many crashes', swept.failed);
        const segments = await store.segments.sweepExpired(tuning.maxCrashes);
        report('segments of dead workers queued again', segments.requeued);
        reportFailed('jobs failed after too many crashes of a segment', segments.failed);
        errors.push(...swept.errors, ...segments.errors);
        if (errors.length > 0) throw new AggregateError(errors, `${errors.length} locks or leases of dead workers could not be taken away. The first: ${String(reasonOf(errors[0]))}`);
      },
    },
    {
      name: 'scratch',
      everyMs: () => tuning.periodicMs.scratch,
      run: async () => void report('scratch folders of dead workers removed', await reapScratch(config.dataDir, worker.id, store.workers)),
    },
    { name: 'description', everyMs: () => tuning.periodicMs.describe, run: () => description.write() },
    {
      name: 'schedule',
      everyMs: () => sharedIntervalMs(fleet, { shortestMs: tuning.periodicMs.schedule, perSecond: scheduleChecksPerSecond }),
      // A worker for one job runs none of these tasks.
      run: async () => void (worker.lifetime.once || (await store.workers.queueScheduled(schedule))),
    },
    {
      name: 'fleet size',
      everyMs: () => tuning.periodicMs.fleet,
      run: async () => void (fleet.alive = await store.workers.countAlive(worker.deviceClasses)),
    },
  ];
}

/**
 * Knows whether the database has responded to this worker throughout. When it did not for so long that leases of healthy workers have
 * expired, too, these get another lease's time to renew them or to return their steps, which then count no crash. The same holds after
 * the machine or its processes stood still.
 */
class DatabaseContact {
  readonly #leaseMs: number;
  readonly #longestSilenceMs: number;
  #last = clocks();
  #steadyAt = 0;

  constructor(leaseMs: number, heartbeatsPerLease: number) {
    this.#leaseMs = leaseMs;
    // A healthy worker may have renewed its lease this long before the silence.
    this.#longestSilenceMs = leaseMs - heartbeatIntervalMs(leaseMs, heartbeatsPerLease);
  }

  /** The database has responded. */
  made(): void {
    if (this.#silentMs() > this.#longestSilenceMs) this.#steadyAt = performance.now() + this.#leaseMs;
    this.#last = clocks();
  }

  isSteady(): boolean {
    return this.#silentMs() <= this.#longestSilenceMs && performance.now() >= this.#steadyAt;
  }

  #silentMs(): number {
    const { monotonic, date } = clocks();
    return Math.max(monotonic - this.#last.monotonic, date - this.#last.date);
  }
}

/** The monotonic clock stands still while a machine sleeps. The date, by which the database ends leases, goes on. */
const clocks = () => ({ monotonic: performance.now(), date: Date.now() });

/** Graphile's names of this process's pools. Queue rows are locked under them: other processes use them to release the locks of a dead one. */
export const poolsOf = (runners: readonly KeptRunner[]): string[] => runners.map((runner) => runner.pool()).filter((name) => name !== undefined);

/** Runs each task at once and then at its interval, never twice at a time. A failed one runs again at its next time. */
export function startPeriodicTasks(tasks: PeriodicTask[], onError: (name: string, error: unknown) => void): { stop(): Promise<void> } {
  const stops = tasks.map((task) => {
    let timer: NodeJS.Timeout;
    let running = Promise.resolve();
    let active = true;
    const runOnce = () => {
      running = task
        .run()
        .catch((error: unknown) => onError(task.name, error))
        .then(() => {
          if (active) timer = setTimeout(runOnce, task.everyMs());
        });
    };
    runOnce();
    return () => {
      active = false;
      clearTimeout(timer);
      return running;
    };
  });
  return {
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

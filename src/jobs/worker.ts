/** The worker of a process: Graphile's runners with our tasks, and the periodic tasks beside them. */
import { randomBytes } from 'node:crypto';
import type { TaskList } from 'graphile-worker';
import { orAfter } from '../domain/or-after.ts';
import type { WarmPoolHandle } from '../media/types.ts';
import { destroyTask, destroyUploadTask } from './destroy-objects.ts';
import { startWarmPool } from './enhance-step.ts';
import { deviceClassesOf, engineOf, enhancementTasks, wholeJobTasks } from './enhancement-tasks.ts';
import { FairShare } from './fair-share.ts';
import { ingestTask } from './ingest-step.ts';
import { periodicTasks, poolsOf, startPeriodicTasks } from './periodic-tasks.ts';
import { createWorkerMetrics } from './worker-metrics.ts';
import { DiskReservations } from './disk-reservation.ts';
import { LifetimeWatch } from './lifetime.ts';
import { createQueueConnections, type QueueConnections } from './queue-connections.ts';
import { type KeptRunner, keepRunner, type RunnerSpec } from './runner.ts';
import { StorageHealth } from './storage-health.ts';
import { testModeTask } from './test-mode-step.ts';
import { removeWorkerScratch } from './scratch.ts';
import { checkLedger, scheduledTasks } from './scheduled-tasks.ts';
import { webhookTask } from './deliver-webhook.ts';
import { defaultTuning } from './tuning.ts';
import { verifyUploadTask } from './verify-upload.ts';
import { type WorkerContext, type WorkerDeps, WorkerStopping } from './worker-context.ts';
import { WorkerDescription } from './worker-description.ts';

export interface Worker {
  readonly id: string;
  start(): Promise<void>;
  /**
   * Stops the worker, as after SIGTERM: fetches no more jobs, lets running media steps go on for `drainSeconds` (those of a fetch
   * that was under way, too), then aborts them and returns their jobs to the queue. Resolves within the grace period after the
   * abort; the lease of a step that has not ended by then expires. May be called more than once.
   */
  stop(): Promise<void>;
  /** Makes a stop() that is waiting abort the running steps now. */
  forceStop(): void;
  /** Resolves to the number of steps that ran when the worker's lifetime is over; stop() remains to be called. */
  readonly finished: Promise<number>;
  /** whether the storage answers; while it does not, the worker takes no work that needs it */
  readonly storageIsUp: boolean;
}

/** Creates a worker. Each kind of work has its own runner; all share two connections. Installs no signal handlers. */
export function createWorker(deps: WorkerDeps): Worker {
  const { extraTasks = {}, tuning, lifetime, ...parts } = deps;
  const stopper = new AbortController();
  const graceOver = new AbortController();
  const own = {
    logger: deps.logger.child({ module: 'jobs' }),
    metrics: deps.metrics ?? createWorkerMetrics(),
    tuning: { ...defaultTuning, ...tuning },
    stopping: stopper.signal,
    graceOver: graceOver.signal,
  };
  const worker: WorkerContext = {
    ...parts,
    ...own,
    id: `worker-${process.pid}-${randomBytes(6).toString('hex')}`,
    deviceClasses: deviceClassesOf(deps),
    engine: engineOf(deps),
    fleet: { alive: 1 },
    reservations: new DiskReservations(),
    storageHealth: new StorageHealth({ ...own, storage: deps.storage, tuning: own.tuning.storageHealth }),
    lifetime: new LifetimeWatch(lifetime),
  };
  const specs = runnerSpecs(worker, extraTasks);
  let started: Promise<Running> | undefined;
  let stopped: Promise<void> | undefined;
  const forced = new AbortController();
  const stop = async () => {
    const drainMs = 1000 * (worker.config.drainSeconds ?? 0);
    if (drainMs > 0) await (await started)?.drain(drainMs, forced.signal);
    stopper.abort(new WorkerStopping());
    await (await started)?.stop(graceOver);
  };
  return {
    id: worker.id,
    async start() {
      started ??= startRunning(worker, specs);
      await started;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
    forceStop: () => forced.abort(),
    finished: worker.lifetime.finished,
    get storageIsUp() {
      return worker.storageHealth.isUp;
    },
  };
}

/** The runners that download and enhance, which stop first when the worker drains, and the others. */
interface RunnerSpecs {
  jobs: RunnerSpec[];
  others: RunnerSpec[];
}

/**
 * Separate slots for each kind of work, and within a kind a few for each account. So a receiver that hangs until its time
 * limit, a server that sends slowly or a thousand deletions at once delay only themselves. For enhancements the slots of all
 * workers count (FairShare).
 */
function runnerSpecs(worker: WorkerContext, extraTasks: TaskList): RunnerSpecs {
  const { workerConcurrency, downloadConcurrency } = worker.config;
  if (worker.lifetime.once) return { jobs: [oneJob(worker)], others: [] };
  const foundNothing = () => worker.lifetime.foundNothing();
  const enhancements = { tasks: enhancementTasks(worker), concurrency: workerConcurrency, foundNothing, needsStorage: true, needsDevice: true, fairShare: new FairShare(worker) };
  const downloads = {
    // Both move whole files.
    tasks: { job_ingest: ingestTask(worker), upload_verify: verifyUploadTask(worker) },
    concurrency: downloadConcurrency,
    perAccount: Math.ceil(downloadConcurrency / 2),
    needsStorage: true,
    foundNothing,
  };
  const light = { ...extraTasks, ...scheduledTasks(worker), job_test_mode: testModeTask(worker) };
  return {
    jobs: [enhancements, downloads].filter(({ concurrency }) => concurrency > 0),
    others: [
      { tasks: light, concurrency: 8, perAccount: 3, foundNothing },
      { tasks: { objects_destroy: destroyTask(worker), upload_destroy: destroyUploadTask(worker) }, concurrency: 6, perAccount: 2, needsStorage: true },
      { tasks: { webhook_deliver: webhookTask(worker) }, concurrency: 12, perAccount: 3 },
    ],
  };
}

/** `work --once`: one slot for downloads and enhancements. The worker enhances the video that it has downloaded, with all its segments. */
function oneJob(worker: WorkerContext): RunnerSpec {
  const { workerConcurrency, downloadConcurrency } = worker.config;
  const ingest = ingestTask(worker);
  const enhancements = wholeJobTasks(worker);
  // The lease of the enhancement makes its queue row harmless, and another worker may win that lease.
  const both = async (payload: unknown) => {
    await ingest(payload);
    await enhancements.job_enhance(payload);
  };
  const tasks: TaskList = {
    ...(workerConcurrency > 0 ? enhancements : {}),
    ...(downloadConcurrency > 0 ? { job_ingest: workerConcurrency > 0 ? both : ingest } : {}),
  };
  const foundNothing = () => worker.lifetime.foundNothing();
  return { tasks: worker.lifetime.endAfterOne(tasks), concurrency: 1, foundNothing, needsStorage: true, needsDevice: workerConcurrency > 0, fairShare: new FairShare(worker) };
}

interface Running {
  /** Takes no more media steps. Resolves when the running ones have ended, after `ms`, or when `forced` is aborted. */
  drain(ms: number, forced: AbortSignal): Promise<void>;
  /** Aborts `graceOver` if it takes longer than the grace period. */
  stop(graceOver: AbortController): Promise<void>;
}

async function startRunning(worker: WorkerContext, { jobs, others }: RunnerSpecs): Promise<Running> {
  const specs = [...jobs, ...others];
  const connections = createQueueConnections(worker);
  const runners: KeptRunner[] = [];
  const stopJobs = () => Promise.all(runners.slice(0, jobs.length).map((runner) => runner.stop()));
  worker.lifetime.onEnd(stopJobs);
  try {
    await worker.store.workers.heartbeat(worker.id, []);
    worker.fleet.alive = await worker.store.workers.countAlive(worker.deviceClasses);
    for (const spec of specs) runners.push(await keepRunner(worker, connections, spec));
    await worker.store.workers.heartbeat(worker.id, poolsOf(runners));
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await connections.end();
    throw error;
  }
  const description = new WorkerDescription(worker);
  const periodic = startPeriodicTasks(periodicTasks(worker, runners, description), (name, error) =>
    worker.logger.error({ err: error, task: name }, 'a periodic task failed and will be run again'),
  );
  // Rejects when the worker stops.
  void worker.storageHealth.watch().catch(() => {});
  const warmPool = startWarmPool(worker);
  worker.logger.info({ worker: worker.id, engine: worker.media.engine }, 'worker started');
  void checkLedger(worker).catch((error: unknown) => worker.logger.error({ err: error }, 'the check of the ledger failed'));
  return {
    drain(ms, forced) {
      description.drain();
      return drain(worker, stopJobs, { ms, forced });
    },
    stop: (graceOver) => stopRunning({ worker, runners, periodic, connections, warmPool, graceOver }),
  };
}

/** Only the media steps stop. Leases, webhooks and deletions go on meanwhile. */
async function drain(worker: WorkerContext, stopJobs: () => Promise<unknown>, { ms, forced }: { ms: number; forced: AbortSignal }) {
  worker.logger.info({ worker: worker.id, seconds: ms / 1000 }, 'the worker takes no more jobs and finishes the running ones');
  await orAfter(stopJobs(), ms, () => undefined, forced);
}

interface RunningParts {
  worker: WorkerContext;
  runners: KeptRunner[];
  periodic: { stop(): Promise<void> };
  connections: QueueConnections;
  warmPool: WarmPoolHandle | undefined;
  graceOver: AbortController;
}

/** Stops everything in order, but never takes longer than the grace period: a missing database must not hold the process. */
async function stopRunning({ worker, runners, periodic, connections, warmPool, graceOver }: RunningParts): Promise<void> {
  // Warm media children have nothing to finish. They end at once, whatever the database does.
  const poolClosed = warmPool?.close();
  const orderly = async () => {
    await poolClosed;
    const periodicStopped = periodic.stop();
    await Promise.all(runners.map((runner) => runner.stop()));
    await periodicStopped;
    await worker.store.workers.deregister(worker.id);
    await connections.end();
  };
  const late = () => {
    throw new Error(`The worker has not stopped within ${worker.tuning.stopGraceMs} ms`);
  };
  await orAfter(orderly(), worker.tuning.stopGraceMs, late).catch((err: unknown) => {
    worker.logger.error({ err }, 'the worker did not stop cleanly; its leases will expire');
    void connections.stopListening();
  });
  graceOver.abort(new WorkerStopping());
  await removeWorkerScratch(worker.config.dataDir, worker.id);
  worker.logger.info({ worker: worker.id }, 'worker stopped');
}

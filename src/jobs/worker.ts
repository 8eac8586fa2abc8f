/** A worker process's part: Graphile's runners with our tasks, and the chores beside them. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskList } from 'graphile-worker';
import type pg from 'pg';
import type { StandBy } from '../media/types.ts';
import { destroyTask } from './destroy.ts';
import { enhanceTask, keepSpares } from './enhance.ts';
import { ingestTask } from './ingest.ts';
import { chores, startChores } from './maintenance.ts';
import { createWorkerMetrics } from './metrics.ts';
import { Reservations } from './room.ts';
import { createConnections, type KeptRunner, keepRunner, type RunnerSpec } from './runner.ts';
import { sandboxTask } from './sandbox.ts';
import { removeWorkerScratch } from './scratch.ts';
import { checkLedger, scheduledTasks } from './scheduled-tasks.ts';
import { webhookTask } from './webhook.ts';
import { defaultTuning, type WorkerContext, type WorkerDeps, WorkerStopping } from './types.ts';

export interface Worker {
  readonly id: string;
  start(): Promise<void>;
  /**
   * Takes no more jobs, lets the media steps that run go on for `drainSeconds`, aborts what still runs and gives those
   * jobs back. After the abort it resolves within the grace period; what has not let go by then is found by its lease.
   * For SIGTERM; may be called more than once.
   */
  stop(): Promise<void>;
  /** Ends the waiting of a stop(): the running steps are aborted now. */
  hurry(): void;
}

/** Each kind of work has a runner of its own over one pool of connections. No signal handlers. */
export function createWorker(deps: WorkerDeps): Worker {
  const { extraTasks = {}, tuning, ...parts } = deps;
  const stopper = new AbortController();
  const worker: WorkerContext = {
    ...parts,
    logger: deps.logger.child({ room: 'jobs' }),
    id: `worker-${process.pid}-${randomBytes(6).toString('hex')}`,
    metrics: deps.metrics ?? createWorkerMetrics(),
    tuning: { ...defaultTuning, ...tuning },
    reservations: new Reservations(),
    stopping: stopper.signal,
  };
  const specs = runnerSpecs(worker, extraTasks);
  let started: Promise<Running> | undefined;
  let stopped: Promise<void> | undefined;
  const impatient = new AbortController();
  const stop = async () => {
    const drainMs = 1000 * (worker.config.drainSeconds ?? 0);
    if (drainMs > 0) await (await started)?.drain(drainMs, impatient.signal);
    stopper.abort(new WorkerStopping());
    await (await started)?.stop();
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
    hurry: () => impatient.abort(),
  };
}

interface RunnerSpecs {
  enhancements: RunnerSpec;
  downloads: RunnerSpec;
  sandbox: RunnerSpec;
  deletions: RunnerSpec;
  webhooks: RunnerSpec;
}

/**
 * No kind of work stands in the way of another, and few tasks of one account in the way of another's: a receiver that
 * hangs until its time limit, a server that sends slowly, a thousand deletions at once. Enhancements come in their order.
 */
function runnerSpecs(worker: WorkerContext, extraTasks: TaskList): RunnerSpecs {
  const { workerConcurrency, downloadConcurrency } = worker.config;
  const scheduled = scheduledTasks(worker);
  return {
    enhancements: { tasks: { job_enhance: enhanceTask(worker) }, concurrency: workerConcurrency },
    downloads: {
      tasks: { job_ingest: ingestTask(worker) },
      concurrency: downloadConcurrency,
      perAccount: Math.ceil(downloadConcurrency / 2),
    },
    sandbox: {
      tasks: { ...extraTasks, ...scheduled.tasks, job_sandbox: sandboxTask(worker) },
      concurrency: 8,
      perAccount: 3,
      schedule: scheduled.schedule,
    },
    deletions: { tasks: { objects_destroy: destroyTask(worker) }, concurrency: 6, perAccount: 2 },
    webhooks: { tasks: { webhook_deliver: webhookTask(worker) }, concurrency: 12, perAccount: 3 },
  };
}

interface Running {
  /** Takes no more media steps and resolves when those that run have ended, or after so long, or when hurried. */
  drain(ms: number, hurried: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

async function startRunning(worker: WorkerContext, { enhancements, downloads, ...rest }: RunnerSpecs): Promise<Running> {
  const specs = [enhancements, downloads, ...Object.values<RunnerSpec>(rest)];
  const connections = createConnections(worker, specs);
  const runners: KeptRunner[] = [];
  // Queue rows are locked under these names; when this process dies others free them by it.
  const pools = () => runners.map((runner) => runner.pool()).filter((name) => name !== undefined);
  await worker.store.workers.heartbeat(worker.id, []);
  try {
    for (const spec of specs) runners.push(await keepRunner(worker, connections, spec));
    await worker.store.workers.heartbeat(worker.id, pools());
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await connections.end();
    throw error;
  }
  const upkeep = startChores(chores(worker, pools), (name, error) =>
    worker.logger.error({ err: error, chore: name }, 'a chore failed and will be tried again'),
  );
  const spares = keepSpares(worker);
  worker.logger.info({ worker: worker.id }, 'worker started');
  void checkLedger(worker).catch((error: unknown) => worker.logger.error({ err: error }, 'the ledger was not checked'));
  const media = runners.slice(0, 2);
  return {
    drain: (ms, hurried) => drain(worker, media, { ms, hurried }),
    stop: () => stopRunning({ worker, runners, upkeep, connections, spares }),
  };
}

/** Leases, webhooks and what is to be destroyed go on meanwhile: nothing else of the worker has stopped. */
async function drain(worker: WorkerContext, media: KeptRunner[], { ms, hurried }: { ms: number; hurried: AbortSignal }) {
  worker.logger.info({ worker: worker.id, seconds: ms / 1000 }, 'the worker takes no more jobs and finishes those it has');
  const finished = new AbortController();
  const patience = sleep(ms, undefined, { signal: AbortSignal.any([hurried, finished.signal]) }).catch(() => undefined);
  await Promise.race([Promise.all(media.map((runner) => runner.stop())), patience]);
  finished.abort();
}

interface RunningParts {
  worker: WorkerContext;
  runners: KeptRunner[];
  upkeep: { stop(): Promise<void> };
  connections: pg.Pool;
  spares: StandBy | undefined;
}

/** Everything in order, but never longer than the grace period: a database that is away must not hold the process. */
async function stopRunning({ worker, runners, upkeep, connections, spares }: RunningParts): Promise<void> {
  // Those that wait have nothing to finish: they end at once, whatever the database does.
  const noSpares = spares?.close();
  const orderly = async () => {
    await noSpares;
    const quiet = upkeep.stop();
    await Promise.all(runners.map((runner) => runner.stop()));
    await quiet;
    await worker.store.workers.deregister(worker.id);
    await connections.end();
  };
  const grace = new AbortController();
  const late = sleep(worker.tuning.stopGraceMs, 'late', { signal: grace.signal }).catch(() => undefined);
  const outcome = await Promise.race([orderly(), late]).catch((error: unknown) => error);
  grace.abort();
  if (outcome !== undefined) {
    const err = outcome === 'late' ? undefined : outcome;
    worker.logger.error({ err }, 'the worker did not end in order; its leases will run out');
  }
  await removeWorkerScratch(worker.config.dataDir, worker.id);
  worker.logger.info({ worker: worker.id }, 'worker stopped');
}

/** A worker process's part: Graphile's runners with our tasks, and the chores beside them. */
import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger as GraphileLogger, run, type Runner, type TaskList, type WorkerEvents } from 'graphile-worker';
import pg from 'pg';
import { destroyTask } from './destroy.ts';
import { enhanceTask } from './enhance.ts';
import { ingestTask } from './ingest.ts';
import { chores, startChores } from './maintenance.ts';
import { sandboxTask } from './sandbox.ts';
import { removeWorkerScratch } from './scratch.ts';
import { defaultTuning, type WorkerContext, type WorkerDeps, WorkerStopping } from './types.ts';

export interface Worker {
  readonly id: string;
  start(): Promise<void>;
  /**
   * Takes no more jobs, aborts the running steps and gives their jobs back at once. Resolves within the grace
   * period; what has not let go by then is found by its lease. For SIGTERM; may be called more than once.
   */
  stop(): Promise<void>;
}

/** Sandbox jobs mostly sleep, destroying mostly waits: they never stand in the way of a media job. */
const lightConcurrency = 8;

/** Media jobs and light ones have runners of their own over one pool of connections. No signal handlers. */
export function createWorker(deps: WorkerDeps): Worker {
  const { extraTasks = {}, onFatal, tuning, ...parts } = deps;
  const stopper = new AbortController();
  const worker: WorkerContext = {
    ...parts,
    logger: deps.logger.child({ room: 'jobs' }),
    id: `worker-${process.pid}-${randomBytes(6).toString('hex')}`,
    tuning: { ...defaultTuning, ...tuning },
    stopping: stopper.signal,
  };
  const mediaTasks: TaskList = { job_ingest: ingestTask(worker), job_enhance: enhanceTask(worker) };
  const lightTasks: TaskList = { ...extraTasks, job_sandbox: sandboxTask(worker), objects_destroy: destroyTask(worker) };
  let started: Promise<Running> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    id: worker.id,
    async start() {
      started ??= startRunning(worker, [
        { tasks: mediaTasks, concurrency: worker.config.workerConcurrency },
        { tasks: lightTasks, concurrency: lightConcurrency },
      ], (error) => onFatal?.(error));
      await started;
    },
    stop() {
      stopper.abort(new WorkerStopping());
      stopped ??= Promise.resolve(started).then((running) => running?.stop());
      return stopped;
    },
  };
}

interface Running {
  stop(): Promise<void>;
}

interface RunnerSpec {
  tasks: TaskList;
  concurrency: number;
}

async function startRunning(worker: WorkerContext, specs: RunnerSpec[], onFatal: (e: unknown) => void): Promise<Running> {
  const pool = createPool(worker, specs.reduce((sum, spec) => sum + spec.concurrency, 0));
  const pools: string[] = [];
  await worker.store.workers.seen(worker.id, pools);
  const runners: Runner[] = [];
  try {
    for (const spec of specs) runners.push(await startRunner(worker, pool, spec, pools));
    await worker.store.workers.seen(worker.id, pools);
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await pool.end();
    throw error;
  }
  for (const runner of runners) {
    runner.promise.catch((error: unknown) => {
      if (!worker.stopping.aborted) onFatal(error);
    });
  }
  const upkeep = startChores(chores(worker, () => pools), (name, error) =>
    worker.logger.error({ err: error, chore: name }, 'a chore failed and will be tried again'),
  );
  worker.logger.info({ worker: worker.id }, 'worker started');
  return { stop: () => stopRunning(worker, runners, upkeep, pool) };
}

function startRunner(worker: WorkerContext, pool: pg.Pool, spec: RunnerSpec, pools: string[]): Promise<Runner> {
  const events: WorkerEvents = new EventEmitter();
  // Queue rows are locked under the pool's name; when this process dies others free them by it.
  events.on('pool:create', ({ workerPool }) => pools.push(workerPool.id));
  return run(
    {
      pgPool: pool,
      taskList: spec.tasks,
      concurrency: spec.concurrency,
      pollInterval: worker.tuning.pollIntervalMs,
      noHandleSignals: true,
      logger: graphileLogger(worker.logger),
      events,
      preset: { worker: { localQueue: { size: -1 } } },
    },
    undefined,
    [],
  );
}

function createPool(worker: WorkerContext, concurrency: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: worker.databaseUrl,
    // one more for each runner's LISTEN, and some air
    max: concurrency + 4,
    application_name: 'framelift-queue',
  });
  // Without these a lost connection would end the process.
  const note = (error: Error) => worker.logger.warn({ err: error }, 'a queue connection was lost');
  pool.on('error', note);
  pool.on('connect', (client) => client.on('error', note));
  return pool;
}

async function stopRunning(worker: WorkerContext, runners: Runner[], upkeep: Running, pool: pg.Pool): Promise<void> {
  const grace = new AbortController();
  const late = sleep(worker.tuning.stopGraceMs, 'late', { signal: grace.signal }).catch(() => 'late');
  const ended = Promise.allSettled(runners.map((runner) => runner.stop()));
  if ((await Promise.race([ended, late])) === 'late') {
    worker.logger.error('steps did not let go in time; their leases will run out');
  }
  grace.abort();
  await upkeep.stop();
  await worker.store.workers.goodbye(worker.id).catch((error: unknown) => {
    worker.logger.warn({ err: error }, 'the worker could not say goodbye');
  });
  await removeWorkerScratch(worker.config.dataDir, worker.id);
  await Promise.race([pool.end(), sleep(2000)]);
  worker.logger.info({ worker: worker.id }, 'worker stopped');
}

/** Graphile's own messages: its successes are our debug output, since our steps report themselves. */
function graphileLogger(logger: WorkerContext['logger']): GraphileLogger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new GraphileLogger(() => (level, message) => logger[levels[level]](message));
}

/** Graphile Worker's runner, started again whenever it gives up (it does after minutes without a database). */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CronItem,
  Logger as GraphileLogger,
  parseCronItems,
  type Runner,
  run,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker';
import pg from 'pg';
import { AccountLimiter } from './account-limiter.ts';
import type { WorkerContext } from './worker-context.ts';

export interface RunnerSpec {
  tasks: TaskList;
  /** tasks at a time */
  concurrency: number;
  /** of these, so many of one account; default: all */
  perAccount?: number;
  /** tasks that the database has queued at their times, once for all workers */
  schedule?: CronItem[];
}

export interface KeptRunner {
  /** Graphile's name of the pool that runs now: queue rows are locked under it */
  pool(): string | undefined;
  /** Takes no more rows and resolves when the running tasks have ended. */
  stop(): Promise<void>;
}

const restartDelayMs = 1000;

/** Rejects when the first start fails; later failures are logged and tried again until `stop`. */
export async function keepRunner(worker: WorkerContext, connections: pg.Pool, spec: RunnerSpec): Promise<KeptRunner> {
  const ending = new AbortController();
  let pool: string | undefined;
  const launch = () =>
    launchRunner(worker, connections, spec, (name) => {
      pool = name;
    });
  let runner: Runner | undefined = await launch();
  const watch = async (): Promise<void> => {
    for (;;) {
      const outcome = await runner?.promise.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (ending.signal.aborted) return;
      worker.logger.error({ err: outcome }, 'a queue runner ended and is started again');
      runner = undefined;
      await sleep(restartDelayMs, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return;
      runner = await launch().catch(() => undefined);
      if (ending.signal.aborted) return; // `stop` waits for this and stops what was launched meanwhile
    }
  };
  const watching = watch();
  return {
    pool: () => pool,
    async stop() {
      ending.abort();
      // A runner that ended by itself in the same moment refuses to be stopped; it is over either way.
      await runner?.stop().catch(() => {});
      await watching;
      await runner?.stop().catch(() => {});
    },
  };
}

function launchRunner(
  worker: WorkerContext,
  connections: pg.Pool,
  spec: RunnerSpec,
  named: (pool: string) => void,
): Promise<Runner> {
  const events: WorkerEvents = new EventEmitter();
  events.on('pool:create', ({ workerPool }) => named(workerPool.id));
  const limiter = new AccountLimiter(spec.perAccount ?? spec.concurrency);
  return run(
    {
      pgPool: connections,
      taskList: limiter.limit(spec.tasks),
      forbiddenFlags: () => limiter.saturated(),
      concurrency: spec.concurrency,
      pollInterval: worker.tuning.pollIntervalMs,
      noHandleSignals: true,
      logger: graphileLogger(worker.logger),
      events,
      preset: {
        worker: {
          localQueue: { size: -1 },
          // Without batching Graphile awaits nobody when it completes or fails a row, and a lost connection in
          // that moment is an unhandled rejection, which ends the process.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    },
    undefined,
    parseCronItems(spec.schedule ?? []),
  );
}

const maxTaskConnections = 10;

/** For all runners together. */
export function createConnections(worker: WorkerContext, specs: readonly RunnerSpec[]): pg.Pool {
  const concurrency = specs.reduce((sum, spec) => sum + spec.concurrency, 0);
  const pool = new pg.Pool({
    connectionString: worker.databaseUrl,
    // A task holds none while it runs, only to be fetched and settled; each runner's LISTEN holds one.
    max: Math.min(concurrency, maxTaskConnections) + specs.length + 2,
    connectionTimeoutMillis: 10_000,
    application_name: 'reelmend-queue',
  });
  // Without these a lost connection would end the process.
  const note = (error: Error) => worker.logger.warn({ err: error }, 'a queue connection was lost');
  pool.on('error', note);
  pool.on('connect', (client) => client.on('error', note));
  return pool;
}

/** Graphile's own messages: its successes are our debug output, since our steps report themselves. */
function graphileLogger(logger: WorkerContext['logger']): GraphileLogger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new GraphileLogger(() => (level, message) => logger[levels[level]](message));
}

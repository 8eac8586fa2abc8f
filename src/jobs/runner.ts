/** Runs Graphile Worker's runner and restarts it when it ends, as it does after minutes without a database. */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Logger as GraphileLogger,
  type Runner,
  run,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker';
import { queueSchema } from '../store/index.ts';
import { AccountLimiter } from './account-limiter.ts';
import type { FairShare } from './fair-share.ts';
import { pollsPerSecond, sharedIntervalMs } from './fleet-size.ts';
import { LostRows } from './lost-rows.ts';
import { NotFetching } from './not-fetching.ts';
import type { QueueConnections } from './queue-connections.ts';
import { neverMs, QueuePoller } from './queue-poller.ts';
import type { WorkerContext } from './worker-context.ts';

export interface RunnerSpec {
  tasks: TaskList;
  /** tasks that run at a time */
  concurrency: number;
  /** how many of them may belong to one account; default: all */
  perAccount?: number;
  /** names the accounts whose rows have to wait for those of others; default: none has to */
  fairShare?: FairShare;
  /** whether the tasks need the storage: while it does not answer, none of them is fetched; default: false */
  needsStorage?: boolean;
  /** whether the tasks run on the worker's device: while none of its GPUs can be used, none of them is fetched; default: false */
  needsDevice?: boolean;
  /** called when the queue has been read and had none of these tasks */
  foundNothing?: () => void;
}

export interface KeptRunner {
  /** Graphile's name of the current pool; queue rows are locked under it */
  pool(): string | undefined;
  /** Frees rows whose lock nobody knows of; returns how many (lost-rows.ts). */
  freeLostRows(): Promise<number>;
  /** Stops fetching rows and resolves when the running tasks have ended. */
  stop(): Promise<void>;
}

const restartDelayMs = 1000;

/** Starts a runner and restarts it until `stop`. Rejects when the first start fails; later failures are logged. */
export async function keepRunner(worker: WorkerContext, connections: QueueConnections, spec: RunnerSpec): Promise<KeptRunner> {
  const ending = new AbortController();
  let pool: string | undefined;
  const lostRows = new LostRows(worker.store);
  const poller = new QueuePoller({ intervalMs: () => pollIntervalMs(worker), retryMs: worker.tuning.pollIntervalMs });
  const launch = () => {
    const events: WorkerEvents = new EventEmitter();
    events.on('pool:create', ({ workerPool }) => (pool = workerPool.id));
    lostRows.follow(events);
    poller.follow(events);
    return launchRunner(worker, connections, spec, events);
  };
  let runner: Runner | undefined = await launch().catch((error: unknown) => {
    poller.stop();
    throw error;
  });
  const watch = async (): Promise<void> => {
    for (;;) {
      const outcome = await runner?.promise.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (ending.signal.aborted) return;
      if (runner !== undefined) worker.logger.error({ err: outcome }, 'a queue runner ended and is restarted');
      runner = undefined;
      await sleep(restartDelayMs, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return;
      runner = await launch().catch((error: unknown) => {
        worker.logger.error({ err: error }, 'a queue runner could not be started');
        return undefined;
      });
      if (ending.signal.aborted) return; // `stop` waits for this and stops what was launched meanwhile
    }
  };
  const watching = watch();
  return {
    pool: () => pool,
    freeLostRows: () => lostRows.free(),
    async stop() {
      ending.abort();
      poller.stop();
      // stop() rejects when the runner has just ended by itself.
      await runner?.stop().catch(() => {});
      await watching;
      await runner?.stop().catch(() => {});
    },
  };
}

class DeviceDown extends NotFetching {
  override readonly name = 'DeviceDown';
}

/** Without a device there is nothing that this worker can do: a worker that ends when it is idle ends, and another machine may take its place. */
async function assertDeviceUsable({ media, config }: Pick<WorkerContext, 'media' | 'config'>, { foundNothing }: RunnerSpec): Promise<void> {
  if (await media.isUsable(config.device)) return;
  // Afterwards, because Graphile prints the error of a slot that is stopped meanwhile.
  if (foundNothing !== undefined) setImmediate(foundNothing);
  throw new DeviceDown('No GPU of this worker can be used');
}

/** The time until the next poll. A worker that ends when it is idle learns from its polls that it is. */
export const pollIntervalMs = ({ fleet, tuning, lifetime }: Pick<WorkerContext, 'fleet' | 'tuning' | 'lifetime'>): number =>
  Math.min(sharedIntervalMs(fleet, { shortestMs: tuning.pollIntervalMs, perSecond: pollsPerSecond }), Math.max(tuning.pollIntervalMs, lifetime.idleMs));

function launchRunner(worker: WorkerContext, connections: QueueConnections, spec: RunnerSpec, events: WorkerEvents): Promise<Runner> {
  const { fairShare } = spec;
  // A slot that polls again has not found the queue empty. Without the nudge it would sleep for a poll interval beside waiting rows.
  events.on('worker:getJob:empty', ({ worker: slot }) => (fairShare?.foundNothing() === true ? slot.nudge() : spec.foundNothing?.()));
  const limiter = new AccountLimiter(spec.perAccount ?? spec.concurrency);
  const skipped = async () => {
    // When this throws, the slot waits for the next poll or notification.
    if (spec.needsStorage === true) worker.storageHealth.assertUp();
    if (spec.needsDevice === true) await assertDeviceUsable(worker, spec);
    return fairShare === undefined ? limiter.saturated() : fairShare.skipped(Object.keys(spec.tasks));
  };
  return run(
    {
      pgPool: connections.pool,
      schema: queueSchema,
      noPreparedStatements: !connections.preparedStatements,
      taskList: limiter.limit(fairShare?.charge(spec.tasks) ?? spec.tasks),
      forbiddenFlags: skipped,
      concurrency: spec.concurrency,
      pollInterval: neverMs,
      noHandleSignals: true,
      logger: graphileLogger(worker.logger),
      events,
      preset: {
        worker: {
          localQueue: { size: -1 },
          // Turns batching on. Without it Graphile does not await the query that completes or fails a row, so a
          // connection lost in that moment would be an unhandled rejection, which ends the process.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    },
    undefined,
    [],
  );
}

/** Passes on Graphile's messages. Its info level becomes debug, since our steps log for themselves. */
function graphileLogger(logger: WorkerContext['logger']): GraphileLogger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new GraphileLogger(() => (level, message) => logger[levels[level]](message));
}

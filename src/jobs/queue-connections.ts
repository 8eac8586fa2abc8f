/**
 * The connections of a worker to its queue: one for queries and one that listens. Graphile Worker takes a pool, and from it
 * one connection for each runner that only listens. Here all runners of a process share both.
 */
import { EventEmitter } from 'node:events';
import pg from 'pg';
import { closeWhenSilent, defaultSilenceTimeoutS, keepAliveS, NotificationListener, pgOptions, setClientSettings } from '../store/index.ts';
import { followedShare } from './fleet-size.ts';
import type { WorkerContext } from './worker-context.ts';

export interface QueueConnections {
  /** what Graphile Worker uses of a pool */
  pool: pg.Pool;
  /** whether the pool may keep prepared statements */
  preparedStatements: boolean;
  /** Closes the connection that listens. An open one would keep the process from ending. */
  stopListening(): Promise<void>;
  end(): Promise<void>;
}

/** The channels that Graphile Worker listens to. */
const newRows = 'jobs:insert';
const channels = [newRows, 'worker:migrate'];

/** How many new rows a notification of Graphile Worker reports; 1 if it has no count. */
function notifiedRows(payload = ''): number {
  const count = Number(/"count": ?(\d+)/.exec(payload)?.[1]);
  return count > 0 ? count : 1;
}

/** Queries of the queue take milliseconds: fetching rows and completing them. So they take turns. */
const maxConnections = 1;

type Context = Pick<WorkerContext, 'databaseUrl' | 'sessionUrl' | 'silenceTimeoutS' | 'logger' | 'fleet'>;

export function createQueueConnections({ databaseUrl, sessionUrl, silenceTimeoutS = defaultSilenceTimeoutS, logger, fleet }: Context): QueueConnections {
  // The pool gives the connection out when this has resolved, which its types do not say.
  const prepare = async (client: pg.ClientBase) => {
    closeWhenSilent(client, 1000 * silenceTimeoutS);
    await client.query(setClientSettings);
  };
  const pool = new pg.Pool({
    ...pgOptions(databaseUrl),
    max: maxConnections,
    // Includes the wait for the others' queries.
    connectionTimeoutMillis: 30_000,
    application_name: 'reelmend-queue',
    keepAlive: true,
    keepAliveInitialDelayMillis: 1000 * keepAliveS,
    onConnect: prepare as (client: pg.ClientBase) => void,
  });
  // Without these handlers a lost connection would end the process.
  const note = (error: Error) => logger.warn({ err: error }, 'a queue connection was lost');
  pool.on('error', note);
  pool.on('connect', (client) => client.on('error', note));
  const notifications = new EventEmitter().setMaxListeners(0);
  const listener = new NotificationListener({
    url: sessionUrl ?? databaseUrl,
    channels,
    applicationName: 'reelmend-listen',
    silenceTimeoutS,
    onNotification: (message) => {
      if (message.channel !== newRows || Math.random() < followedShare(fleet, notifiedRows(message.payload))) notifications.emit('notification', message);
    },
  });
  void listener.open();
  return {
    pool: sharedPool(pool, notifications),
    preparedStatements: sessionUrl === undefined,
    stopListening: () => listener.close(),
    async end() {
      await Promise.all([listener.close(), pool.end()]);
    },
  };
}

type OnConnected = (error: undefined, client: unknown, release: () => void) => void;

/**
 * Graphile Worker asks with a callback for the connection that listens, and with a promise for all others. The listening
 * one is a stand-in: our own connection has already sent LISTEN and passes on what it receives.
 */
function sharedPool(pool: pg.Pool, notifications: EventEmitter): pg.Pool {
  const listening = Object.assign(notifications, { query: () => Promise.resolve({ rows: [] }) });
  const shared = {
    // Graphile Worker warns when this is smaller than its concurrency.
    options: { max: Number.POSITIVE_INFINITY },
    query: pool.query.bind(pool),
    connect: (onConnected?: OnConnected) => (onConnected === undefined ? pool.connect() : onConnected(undefined, listening, () => {})),
    listeners: pool.listeners.bind(pool),
    on: pool.on.bind(pool),
    removeListener: pool.removeListener.bind(pool),
  };
  return shared as unknown as pg.Pool;
}

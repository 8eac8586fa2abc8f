/** The connection pool, and transactions that are repeated after conflicts. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { postgresOptions } from './connection-url.ts';
import { DrizzleQueryError, sql } from './orm.ts';
import { removeParametersFromErrors } from './query-errors.ts';
import { clientSettings } from './session-settings.ts';
import * as schema from './schema.ts';

removeParametersFromErrors();

export type Db = PostgresJsDatabase<typeof schema>;
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];
/** The context of a query: alone or inside a transaction. */
export type Executor = Db | Tx;

export interface Connection {
  db: Db;
  sql: postgres.Sql;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** postgres:// URL */
  url: string;
  /** the largest number of connections; default 10 */
  max?: number;
  /**
   * Whether the URL leads to a pooler in transaction mode, default false. Connections then use no prepared statements and send one
   * query at a time. Pipelining would lose a response: a query with parameters begins with Parse, Describe and Flush. If they are sent
   * right after another query, the pooler gives the server connection to another client between the two responses.
   */
  isPooled?: boolean;
  /** a connection attempt is given up after so many seconds; default 10 */
  connectTimeoutS?: number;
  /** a connection counts as dead and is replaced after so many seconds without a response to a query; default 60 */
  silenceTimeoutS?: number | undefined;
}

export const defaultSilenceTimeoutS = 60;

/** The kernel probes a peer that was idle for so many seconds; Node then probes ten times in ten seconds. */
export const keepAliveS = 10;

/** Number of slow reads that are running, by pool. */
const slowReads = new WeakMap<Db, { count: number }>();

/** Options of the patched driver (patches/README.md). */
interface SilenceOptions {
  silence_timeout: number;
  /** called when a query has had no response for `silence_timeout` seconds; returns false to wait as long again */
  onsilence(): boolean;
}

export function connect({ url, max = 10, isPooled = false, connectTimeoutS = 10, silenceTimeoutS = defaultSilenceTimeoutS }: ConnectOptions): Connection {
  const slow = { count: 0 };
  const silence: SilenceOptions = { silence_timeout: silenceTimeoutS, onsilence: () => slow.count === 0 };
  const target = postgresOptions(url);
  const sql = postgres(target.url, {
    ...target.options,
    ...silence,
    max,
    prepare: !isPooled,
    ...(isPooled ? { max_pipeline: 0 } : {}),
    onnotice: () => {},
    connect_timeout: connectTimeoutS,
    // seconds between attempts to reconnect; the driver's default grows to 20
    backoff: (attempts: number) => Math.min(0.05 * 2 ** attempts, 1),
    keep_alive: keepAliveS,
    connection: { application_name: 'reelmend', ...clientSettings },
  });
  const db = drizzle(sql, { schema });
  slowReads.set(db, slow);
  return { db, sql, close: () => sql.end({ timeout: 5 }) };
}

/** serialization_failure, deadlock_detected: the transaction changed nothing and may run again. */
const retryable = new Set(['40001', '40P01']);
const maxAttempts = 5;

/**
 * Lock order. Every transaction locks rows in this order, which makes deadlocks impossible:
 * 1. the job, then webhook endpoints by id
 * 2. objects, webhook deliveries and upload of the job
 * 3. queue rows
 * 4. the account
 * 5. users, sessions, keys and secrets of the account
 * 6. the head of the account's audit log (`appendEvent`)
 *
 * Lock strength:
 * - FOR NO KEY UPDATE for rows that a transaction changes. It does not conflict with the FOR KEY SHARE that foreign
 *   keys take on a job or an account when a row that refers to it is inserted, even after step 6.
 * - FOR SHARE if a row must only stay as it is: the job while an object is registered (objects.ts), the upload while a job
 *   is created from it (create_job.sql), webhook endpoints while deliveries to them are created or resent, and the account while a
 *   user or its first secret is added (`holdOpen` in account-locks.ts). None of these transactions locks that row more strongly later: two such
 *   transactions would deadlock.
 * - FOR UPDATE for rows that are deleted.
 */

/** Runs `work` in one transaction. It may run again, so it may change only the database. */
export const transact = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> => retried(() => db.transaction(work));

/**
 * Runs slow reads in a transaction, which has a connection of its own. Without one, the driver may queue other queries behind
 * them on the same connection, although another connection is free sooner.
 */
export const readApart = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> => db.transaction(work, { accessMode: 'read only' });

/**
 * The same for reads of whole tables, which may take longer than the silence timeout. The timeout is off for the whole pool
 * meanwhile, so only TCP keepalive detects dead connections.
 */
export async function readSlowly<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const slow = slowReads.get(db);
  if (slow !== undefined) slow.count += 1;
  try {
    return await readApart(db, work);
  } finally {
    if (slow !== undefined) slow.count -= 1;
  }
}

/** Repeats a statement, or a transaction, after a conflict. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= maxAttempts || !retryable.has(sqlState(error) ?? '')) throw error;
    }
  }
}

/** What became of some rows. Those that others have locked or changed meanwhile are neither done nor failed. */
export interface Batch {
  /** how many rows there were */
  found: number;
  /** ids */
  done: string[];
  /** errors */
  failures: unknown[];
}

/** Passes each row to `work`, which returns whether it has dealt with it, and goes on with the others if one fails. */
export async function withEach<R extends { id: string }>(rows: readonly R[], work: (row: R) => Promise<boolean>): Promise<Batch> {
  const batch: Batch = { found: rows.length, done: [], failures: [] };
  for (const row of rows) {
    if (await work(row).catch((error: unknown) => void batch.failures.push(error))) batch.done.push(row.id);
  }
  return batch;
}

/** For a batch of a fixed size: rows that always fail must not keep the others from their turn. */
export const inAnyOrder = sql`random()`;

/** Throws AggregateError if some rows failed. */
export function assertNoneFailed({ found, failures }: Pick<Batch, 'found' | 'failures'>): void {
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${found} failed. The first: ${String(reasonOf(failures[0]))}`);
}

/** What the server or the driver says; the query alone does not say why it failed. */
export const reasonOf = (error: unknown): unknown => (error instanceof DrizzleQueryError ? (error.cause ?? error) : error);

/** Codes of the driver and of the operating system for a connection that breaks or cannot be made. */
const connectionCode = /^(?:CONNECTION_\w+|CONNECT_TIMEOUT|E(?:CONN\w+|PIPE|HOST\w+|NET\w+|TIMEDOUT|AI_\w+)|ENOTFOUND)$/;
/** Codes of OpenSSL and Node for a certificate that is not trusted, or not any more. */
export const certificateCode = /CERT|^UNABLE_TO_(?:GET|VERIFY)|^HOSTNAME_MISMATCH$/;
/**
 * SQLSTATEs of a server that ends connections, accepts none, or cannot work: connection exception, shutdown, resources, system error;
 * a password that was changed, a database that is being replaced, a server that became a replica.
 */
const unavailableState = /^(?:08|28|53|58)\w{3}$|^(?:57P0\d|3D000|25006)$/;

/** Whether a query failed because the database could not be reached or did not work, independently of the query. */
export function isDatabaseFault(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    const code = String((at as NodeJS.ErrnoException).code);
    if (at instanceof postgres.PostgresError) return unavailableState.test(code);
    // The driver adds the query to each error that it passes on.
    const isConnection = connectionCode.test(code) || certificateCode.test(code);
    if (isConnection && (code.startsWith('CONNECT') || 'query' in at)) return true;
  }
  return false;
}

/** The five-character SQLSTATE of a database error, also when Drizzle has wrapped it; undefined for other errors. */
export const sqlState = (error: unknown): string | undefined => databaseError(error)?.code;

/** The server's error, also when Drizzle has wrapped it; undefined for other errors. */
export function databaseError(error: unknown): postgres.PostgresError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    if (at instanceof postgres.PostgresError) return at;
  }
  return undefined;
}

/** The connection pool, and transactions that survive the conflicts PostgreSQL asks to retry. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import * as schema from './schema.ts';

export type Db = PostgresJsDatabase<typeof schema>;
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];
/** Where a query may run: alone or inside a transaction. */
export type Executor = Db | Tx;

export interface Connection {
  db: Db;
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** `max` is the largest number of connections (default 10). */
export function connect({ url, max = 10 }: { url: string; max?: number }): Connection {
  const sql = postgres(url, {
    max,
    onnotice: () => {},
    connect_timeout: 10,
    // seconds between tries to connect again; the driver's own grow to 20
    backoff: (tries: number) => Math.min(0.05 * 2 ** tries, 1),
    connection: { application_name: 'reelmend' },
  });
  return { db: drizzle(sql, { schema }), sql, close: () => sql.end({ timeout: 5 }) };
}

/** serialization_failure, deadlock_detected: the transaction did nothing and may simply run again. */
const retryable = new Set(['40001', '40P01']);
const maxTries = 5;

/**
 * Lock order. Every transaction takes its row locks in this order, so that none waits for another that waits for it:
 * job, its objects and deliveries, queue rows; account; its users, sessions, keys and secrets; and last the head of the
 * account's audit log (`appendEvent`). Rows are locked FOR NO KEY UPDATE: the rows that refer to a job or an account,
 * the entries of the log among them, lock it FOR KEY SHARE after the head, and those two do not conflict. FOR UPDATE
 * is for rows that are deleted.
 */

/** Runs `work` in one transaction; `work` must not touch anything but the database, since it may run again. */
export const transact = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> => retried(() => db.transaction(work));

/** Runs one statement, or one transaction, again after a conflict. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= maxTries || !retryable.has(sqlState(error) ?? '')) throw error;
    }
  }
}

/** The five-character SQLSTATE of an error of the driver, also below Drizzle's wrapping; undefined for others. */
export const sqlState = (error: unknown): string | undefined => databaseError(error)?.code;

/** The server's own error, also below Drizzle's wrapping; undefined for others. */
export function databaseError(error: unknown): postgres.PostgresError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    if (at instanceof postgres.PostgresError) return at;
  }
  return undefined;
}

/**
 * How many connections one account's writes hold. An account's audit log takes one entry at a time (`event_heads`), so a burst
 * of writes only waits for itself in the database. It may wait long, for a client that holds the log and has fallen silent,
 * and would keep all connections of a process from other accounts.
 */
import type postgres from 'postgres';
import { FairSemaphore } from '../domain/fair-semaphore.ts';

/** Two, so that the next write is already at the database when one commits. */
const writesOfAccount = 2;

/** Runs a write in one of the account's turns. */
export type AccountTurns = <T>(accountId: string, write: () => Promise<T>) => Promise<T>;

/** For the calls of the API that customers make in bulk. */
export function createAccountTurns(): AccountTurns {
  const turns = new FairSemaphore({ total: Number.POSITIVE_INFINITY, each: writesOfAccount });
  return (accountId, write) => turns.run(accountId, write);
}

/**
 * For a single statement that may wait for a lock: the driver sends no other query behind it on its connection, as if it were a
 * transaction. The driver's `begin` uses the same option, which its types leave out (test/jobs/connections.test.ts).
 */
export const apart: postgres.UnsafeQueryOptions & { onexecute(): boolean } = { prepare: true, onexecute: () => false };

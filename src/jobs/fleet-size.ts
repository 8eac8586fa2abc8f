/**
 * What a worker does less often in a large fleet, so that the queries of the queue do not grow with the square of the number
 * of workers. Every slot of every worker polls for rows that become due, and every new row is announced to all workers; any
 * of them may take a row, so rows wait no longer.
 */

/** How many times longer than in a small fleet a slot waits between two polls. */
export const pollFactor = (workersAlive: number): number => Math.min(10, Math.max(1, workersAlive / 4));

/** How many workers look for each row that is announced. If all of these are busy, the polls of the others find it. */
const lookersPerRow = 8;

/** The share of announcements of so many new rows that a worker follows. */
export const followedShare = (workersAlive: number, rows: number): number => Math.min(1, (lookersPerRow * rows) / Math.max(1, workersAlive));

/**
 * What a worker does less often in a large fleet, so that the load of the database does not grow with the number of workers that have
 * nothing to do. Any worker of the fleet may do each of these things, so nothing waits longer.
 */

/** What is known of the fleet. */
export interface FleetSize {
  /** workers that are alive; of those with the rarest device class of this worker, because no others can run its segments */
  alive: number;
}

/** No interval grows beyond this: the fleet may have shrunk since it was counted. */
const longestMs = 60_000;

/** Keeps workers that start together from doing the same at the same moments. */
const jitter = () => 0.8 + 0.4 * Math.random();

/** The time until a worker does something again that all workers together do at most `perSecond` times per second, on average. */
export const sharedIntervalMs = ({ alive }: FleetSize, { shortestMs, perSecond }: { shortestMs: number; perSecond: number }): number =>
  Math.max(shortestMs, jitter() * Math.min(longestMs, (1000 * alive) / perSecond));

/** How often all workers together poll the queue for one kind of work. */
export const pollsPerSecond = 20;

/** How often all workers together check for expired leases. */
export const leaseSweepsPerSecond = 4;

/** How often all workers together look which scheduled tasks are due. */
export const scheduleChecksPerSecond = 1;

/** How many workers poll for each new row when they are notified of it. If all of these are busy, the polls of the others find it. */
const pollersPerRow = 8;

/** The share of notifications of so many new rows that a worker follows. */
export const followedShare = ({ alive }: FleetSize, rows: number): number => Math.min(1, (pollersPerRow * rows) / Math.max(1, alive));

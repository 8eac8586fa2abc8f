/** Waits for what happens in another process, in the database or in a queue. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Limit for waits that would hang, in milliseconds; the test timeouts in vitest.config.ts are longer. It does not test speed,
 * because the machine may be busy with other work. Tests that something is fast check counts and order instead.
 */
export const hangMs = 300_000;

type Found<T> = Exclude<T, false | undefined>;

/** Polls until `poll` returns something other than false and undefined, and returns that. */
export async function eventually<T>(poll: () => T | Promise<T>, what = String(poll)): Promise<Found<T>> {
  for (const end = Date.now() + hangMs; ; await sleep(50)) {
    const found = await poll();
    if (found !== false && found !== undefined) return found as Found<T>;
    if (Date.now() > end) throw new Error(`Not fulfilled within ${hangMs} ms: ${what}`);
  }
}

/** Waiting for what happens elsewhere: in another process, in the database, in a queue. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A net for what hangs, in milliseconds; the limits of the tests in vitest.config.ts are wider. The machine may be busy
 * with other work, so it says nothing about speed: what must be fast is proven by counts and by order.
 */
export const hangMs = 300_000;

type Found<T> = Exclude<T, false | undefined>;

/** Polls until `look` finds something, which is neither false nor undefined, and returns it. */
export async function eventually<T>(look: () => T | Promise<T>, what = String(look)): Promise<Found<T>> {
  for (const end = Date.now() + hangMs; ; await sleep(50)) {
    const found = await look();
    if (found !== false && found !== undefined) return found as Found<T>;
    if (Date.now() > end) throw new Error(`Still not so after ${hangMs} ms: ${what}`);
  }
}

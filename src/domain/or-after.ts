import { setTimeout as sleep } from 'node:timers/promises';

/** The outcome of the work; that of `late` if it takes longer than `ms`, or the signal aborts first. The work itself goes on. */
export async function orAfter<T, Late>(work: Promise<T>, ms: number, late: () => Late, signal?: AbortSignal): Promise<T | Late> {
  const ended = new AbortController();
  const signals = signal === undefined ? [ended.signal] : [ended.signal, signal];
  const timer = sleep(ms, undefined, { signal: AbortSignal.any(signals) }).then(late, late);
  return Promise.race([work, timer]).finally(() => ended.abort());
}

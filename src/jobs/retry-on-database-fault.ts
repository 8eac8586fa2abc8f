/** Retries writes that a step must not lose while the database is away for a moment: otherwise its work would be done again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseFault } from '../store/index.ts';

const firstPauseMs = 250;
const longestPauseMs = 4000;

/**
 * Repeats `write` while the database is at fault, until `signal` is aborted: by the end of the lease, or of the worker. A write whose
 * response was lost runs twice; the second one finds its lease gone, which changes nothing (all but `release` throw LeaseLost).
 */
export async function retryOnDatabaseFault<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseFault(error) || signal.aborted) throw error;
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

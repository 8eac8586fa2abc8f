/** Retries writes of a step while the database is away for a moment: otherwise its work would be done again, or its lease would expire. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseFault } from '../store/index.ts';

const firstPauseMs = 250;
const longestPauseMs = 4000;

/**
 * Repeats `write` while the database is at fault, until `signal` is aborted: by the end of the lease, or of the worker. Then throws the
 * signal's reason, also if it was aborted during a write that failed afterwards: the step has to be returned to the queue. A write whose
 * response was lost runs twice; the second one finds its lease gone, which changes nothing (all but `release` throw LeaseLost). That of
 * `acquire` is told that it is repeated.
 */
export async function retryOnDatabaseFault<T>(signal: AbortSignal, write: (isRepeated: boolean) => Promise<T>): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
    try {
      return await write(pauseMs > firstPauseMs);
    } catch (error) {
      if (!isDatabaseFault(error)) throw error;
      // Rejects at once if `signal` was aborted during the write.
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

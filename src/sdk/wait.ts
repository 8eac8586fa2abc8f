/** Polls a job to its end. */
import { isTransient, type CallOptions } from './call.ts';
import { JobFailedError, WaitTimeoutError } from './errors.ts';
import { pause, withTimeLimit } from './pause.ts';
import type { Job } from './types.gen.ts';

export interface WaitOptions {
  /** ends the waiting, not the job; rejects with the signal's reason */
  signal?: AbortSignal | undefined;
  /** given the job after every poll, the last included; what it throws ends the waiting */
  onProgress?: ((job: Job) => void) | undefined;
  /** ms until WaitTimeoutError; no limit by default, since the service ends every job */
  timeoutMs?: number | undefined;
  /** ms between the first two polls, default 1000; it grows by a quarter at each poll */
  pollIntervalMs?: number | undefined;
  /** ms that it grows to, default 5000 */
  maxPollIntervalMs?: number | undefined;
}

/** ms for which a service that was reached once may be away before the waiting ends with its error. */
const outageMs = 60_000;
const growth = 1.25;

/**
 * ms until the next poll: the interval, or less when the job expects to be done sooner; up to a tenth more or less so
 * that many waiting clients spread.
 */
export function pollDelayMs(intervalMs: number, firstMs: number, etaS: number | null, random = Math.random): number {
  const wanted = etaS === null ? intervalMs : Math.min(intervalMs, Math.max(firstMs, etaS * 1000));
  return wanted * (0.9 + 0.2 * random());
}

/**
 * Resolves with the job when it is `done`; rejects with JobFailedError when it ends in `error`, with WaitTimeoutError,
 * or with what a poll was refused with (NotFoundError when the job is deleted meanwhile). A service that goes away
 * after the first answer is given a minute to come back.
 */
export async function waitForJob(
  get: (id: string, options: CallOptions) => Promise<Job>,
  id: string,
  options: WaitOptions = {},
): Promise<Job> {
  const { signal, onProgress, timeoutMs, pollIntervalMs = 1000, maxPollIntervalMs = 5000 } = options;
  let seen: Job | undefined;
  let answeredAt = -Infinity;
  const error = () => new WaitTimeoutError(`The job ${id} has not ended within ${timeoutMs} ms.`, seen);
  const job = await withTimeLimit({ ms: timeoutMs, signal, error }, async (inner) => {
    for (let intervalMs = pollIntervalMs; ; intervalMs = Math.min(intervalMs * growth, maxPollIntervalMs)) {
      try {
        seen = await get(id, { signal: inner });
        answeredAt = Date.now();
      } catch (failure) {
        if (!isTransient(failure) || Date.now() - answeredAt > outageMs) throw failure;
        await pause(intervalMs, inner);
        continue;
      }
      onProgress?.(seen);
      if (seen.status === 'done' || seen.status === 'error') return seen;
      await pause(pollDelayMs(intervalMs, pollIntervalMs, seen.eta_seconds), inner);
    }
  });
  if (job.status === 'error') throw new JobFailedError(job);
  return job;
}

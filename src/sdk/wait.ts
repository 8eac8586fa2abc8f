/** Waits for a job or a preview by polling. */
import { assertNumbers, type CallOptions } from './call.ts';
import { JobFailedError, PreviewFailedError, WaitTimeoutError } from './errors.ts';
import { throughOutage } from './outage.ts';
import { pause, withTimeLimit } from './pause.ts';
import type { Job, Preview } from './types.gen.ts';

export interface WaitOptions<T = Job> {
  /** Stops waiting, not the job. Rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called with the job or preview after every poll, including the last. If it throws, the waiting ends with that error. */
  onProgress?: ((latest: T) => void) | undefined;
  /** ms until WaitTimeoutError. No limit by default: the service ends every job. */
  timeoutMs?: number | undefined;
  /** ms between the first two polls, default 1000. Grows by a quarter with each poll. */
  pollIntervalMs?: number | undefined;
  /** Longest interval between polls in ms, default 5000, or `pollIntervalMs` if that is longer. */
  maxPollIntervalMs?: number | undefined;
}

const growth = 1.25;

/**
 * Delay before the next poll in ms: the interval, or less if the job is expected to end sooner. Varies randomly by up to a
 * tenth, so that many clients do not poll at the same time.
 */
export function pollDelayMs(intervalMs: number, firstMs: number, etaS: number | null, random = Math.random): number {
  // A service of another version, or a fake one, may leave the estimate out.
  const wanted = typeof etaS !== 'number' ? intervalMs : Math.min(intervalMs, Math.max(firstMs, etaS * 1000));
  return wanted * (0.9 + 0.2 * random());
}

/**
 * Resolves with the job when it is `done`. Rejects with JobFailedError if it ends in `error`, with WaitTimeoutError, or
 * with the error of a poll (NotFoundError if the job is deleted). After the first successful poll, the service may be away for up to
 * one minute at a time, from the first poll that fails.
 */
export async function waitForJob(
  get: (id: string, options: CallOptions) => Promise<Job>,
  id: string,
  options: WaitOptions = {},
): Promise<Job> {
  const timedOut = (latest?: Job) => new WaitTimeoutError(`The job ${id} has not ended within ${options.timeoutMs} ms.`, latest);
  const job = await waitForEnd((inner) => get(id, inner), { ...options, timedOut });
  if (job.status === 'error') throw new JobFailedError(job);
  return job;
}

/** The same for a preview, with PreviewFailedError. */
export async function waitForPreview(
  get: (id: string, options: CallOptions) => Promise<Preview>,
  id: string,
  options: WaitOptions<Preview> = {},
): Promise<Preview> {
  const timedOut = () => new WaitTimeoutError(`The preview ${id} has not ended within ${options.timeoutMs} ms.`, undefined);
  const preview = await waitForEnd((inner) => get(id, inner), { ...options, timedOut });
  if (preview.status === 'error') throw new PreviewFailedError(preview);
  return preview;
}

interface WaitForEnd<T> extends WaitOptions<T> {
  timedOut: (latest?: T) => WaitTimeoutError;
}

async function waitForEnd<T extends Pick<Job, 'status' | 'eta_seconds'>>(get: (options: CallOptions) => Promise<T>, options: WaitForEnd<T>): Promise<T> {
  const { signal, onProgress, timeoutMs, pollIntervalMs = 1000, maxPollIntervalMs = Math.max(5000, pollIntervalMs) } = options;
  assertNumbers({ timeoutMs, pollIntervalMs, maxPollIntervalMs });
  let latest: T | undefined;
  const error = () => options.timedOut(latest);
  return withTimeLimit({ ms: timeoutMs, signal, error }, async (inner) => {
    for (let intervalMs = pollIntervalMs; ; intervalMs = Math.min(intervalMs * growth, maxPollIntervalMs)) {
      const poll = () => get({ signal: inner });
      latest = latest === undefined ? await poll() : await throughOutage(poll, inner);
      onProgress?.(latest);
      if (latest.status === 'done' || latest.status === 'error') return latest;
      await pause(pollDelayMs(intervalMs, pollIntervalMs, latest.eta_seconds), inner);
    }
  });
}

/** Repetitions and pauses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FrameliftError } from '../domain/errors.ts';
import { NetFailure } from './failure.ts';
import type { Timeouts } from './timeouts.ts';

export function isRetryable(error: unknown): error is NetFailure {
  return error instanceof NetFailure && error.retryable;
}

/** Waits before repetition `n` (1, 2, …), longer each time; an abort rejects with the signal's reason. */
export async function pauseBefore(n: number, timeouts: Timeouts, signal: AbortSignal | undefined): Promise<void> {
  const ms = timeouts.retryDelayMs * 2 ** Math.min(n - 1, 5);
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}

/** Repeats while failures are of the passing kind, `timeouts.attempts` tries in all. */
export async function withRetries<T>(
  timeouts: Timeouts,
  signal: AbortSignal | undefined,
  action: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await action();
    } catch (error) {
      if (!isRetryable(error) || tries >= timeouts.attempts) throw error;
      await pauseBefore(tries, timeouts, signal);
    }
  }
}

export function tooLarge(maxBytes: number): FrameliftError {
  const limit = maxBytes.toLocaleString('en-US');
  return new FrameliftError('video_too_large', `The video's file is larger than the limit of ${limit} bytes.`);
}

/**
 * Retries and pauses. undici's `retry` interceptor is not used: it counts attempts and not bytes, so that a server that
 * sends a few bytes a time would use up a download's attempts or keep it going for ever; it compares strong ETags alone;
 * and it cannot start a file over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReelmendError } from '../domain/errors.ts';
import { NetFailure } from './failure.ts';
import type { Timeouts } from './timeouts.ts';

export function isRetryable(error: unknown): error is NetFailure {
  return error instanceof NetFailure && error.retryable;
}

/**
 * New bytes that make an attempt count as progress. Few, because a reset discards bytes: those that had not left the server
 * yet, and those that lay unread here.
 */
const progressBytes = 16 * 1024;
/** Bytes that attempts must bring on average, so that no server can keep a transfer going with a few bytes each. */
const meanBytes = 64 * 1024;
/** Attempts that are exempt from that average, for each attempt that may bring nothing. */
const freeAttempts = 16;

/** Counts the failed attempts of one transfer. Each attempt continues where the last one ended. */
export class Attempts {
  readonly #limit: number;
  #inVain = 0;
  #all = 0;
  #bytes = 0;

  /** `limit`: attempts in a row that may bring nothing, at least 1 */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** An attempt ended early and brought `bytes` new ones. */
  note(bytes: number): void {
    this.#all += 1;
    this.#bytes += bytes;
    this.#inVain = bytes >= progressBytes ? 0 : this.#inVain + 1;
  }

  /** Number of the next retry, counted from the last progress: 1, 2, … */
  get repetition(): number {
    return Math.max(this.#inVain, 1);
  }

  get exhausted(): boolean {
    return this.#inVain >= this.#limit || this.#all >= this.#limit * freeAttempts + this.#bytes / meanBytes;
  }
}

/** Waits before retry `n` (1, 2, …), longer each time. Rejects with the signal's reason. */
export async function pauseBefore(n: number, timeouts: Timeouts, signal: AbortSignal | undefined): Promise<void> {
  const ms = timeouts.retryDelayMs * 2 ** Math.min(n - 1, 5);
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}

/** Retries failures that may pass, up to `timeouts.attempts` attempts in all. */
export async function withRetries<T>(
  timeouts: Timeouts,
  signal: AbortSignal | undefined,
  action: () => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await action();
    } catch (error) {
      if (!isRetryable(error) || attempts >= timeouts.attempts) throw error;
      await pauseBefore(attempts, timeouts, signal);
    }
  }
}

export function tooLarge(maxBytes: number): ReelmendError {
  const limit = maxBytes.toLocaleString('en-US');
  return new ReelmendError('video_too_large', `The video's file is larger than the limit of ${limit} bytes.`);
}

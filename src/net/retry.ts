/** Repetitions and pauses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReelmendError } from '../domain/errors.ts';
import { NetFailure } from './failure.ts';
import type { Timeouts } from './timeouts.ts';

export function isRetryable(error: unknown): error is NetFailure {
  return error instanceof NetFailure && error.retryable;
}

/**
 * New bytes that make a try count as progress. Few, because what is kept of a try says little about what was sent:
 * a reset throws away what had not left the server's side yet and what lay unread on this one.
 */
const progressBytes = 16 * 1024;
/** What many tries must bring on the average, bytes each: no server may feed us in crumbs for ever. */
const meanBytes = 64 * 1024;
/** Tries that are free of that average, for each one that may be in vain. */
const freeTries = 16;

/** Counts the failed tries of one transfer that is continued where it ended. */
export class Tries {
  readonly #limit: number;
  #inVain = 0;
  #all = 0;
  #bytes = 0;

  /** `limit`: tries in a row that may bring nothing, at least 1 */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** One try has ended early, with `bytes` that were not there before. */
  note(bytes: number): void {
    this.#all += 1;
    this.#bytes += bytes;
    this.#inVain = bytes >= progressBytes ? 0 : this.#inVain + 1;
  }

  /** Number of the repetition that comes next, since the last progress: 1, 2, … */
  get repetition(): number {
    return Math.max(this.#inVain, 1);
  }

  get exhausted(): boolean {
    return this.#inVain >= this.#limit || this.#all >= this.#limit * freeTries + this.#bytes / meanBytes;
  }
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

export function tooLarge(maxBytes: number): ReelmendError {
  const limit = maxBytes.toLocaleString('en-US');
  return new ReelmendError('video_too_large', `The video's file is larger than the limit of ${limit} bytes.`);
}

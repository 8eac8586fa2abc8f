/** Time limits and pauses that an AbortSignal ends. */

/** What timers can hold (32 bits); beyond it they fire at once. */
const longestMs = 2 ** 31 - 1;

/** Resolves after `ms`; rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      },
      Math.min(ms, longestMs),
    );
    signal?.addEventListener('abort', abort, { once: true });
  });
}

export interface TimeLimit {
  /** ms; undefined for none */
  ms: number | undefined;
  signal: AbortSignal | undefined;
  /** what it rejects with when the time is over */
  error: () => Error;
}

/**
 * Runs `work` with a signal that is aborted by the caller's signal or at the end of the time. Rejects with the
 * signal's reason or with `error()` even when `work` does not listen.
 */
export async function withTimeLimit<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { ms, signal, error } = limit;
  signal?.throwIfAborted();
  const controller = new AbortController();
  // Not AbortSignal.any: it keeps a listener on a long-lived signal until the garbage is collected.
  const follow = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', follow, { once: true });
  const timer = ms === undefined ? undefined : setTimeout(() => controller.abort(error()), Math.min(ms, longestMs));
  const aborted = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
  }
}

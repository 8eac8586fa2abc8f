/** Delays and timeouts with AbortSignal. */

/** The longest delay of a timer (32 bits). Longer ones fire immediately. */
const longestMs = 2 ** 31 - 1;

/** Resolves after `ms`. Rejects with the signal's reason if it is aborted. */
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
  /** the timeout in ms; undefined for none */
  ms: number | undefined;
  signal: AbortSignal | undefined;
  /** creates the error for a timeout */
  error: () => Error;
}

/**
 * Runs `work` with a signal that is aborted by the caller's signal or by the timeout. Then rejects with the signal's
 * reason or with `error()`, even if `work` ignores the signal.
 */
export async function withTimeLimit<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { ms, signal, error } = limit;
  signal?.throwIfAborted();
  const controller = new AbortController();
  // AbortSignal.any would keep a listener on a long-lived signal until garbage collection.
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

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
  /** creates the error for work that the machine's sleep has interrupted; default: it goes on, and has the rest of its time */
  afterSleep?: (() => Error) | undefined;
}

const clockCheckMs = 15_000;
/** A page that is not shown may get its timers once a minute. */
const shortestSleepMs = 90_000;

/**
 * Calls `wake` when the machine has slept. Timers stand still meanwhile, so that a timeout would not notice that the connections are lost.
 * Returns what ends this.
 */
function whenWoken(wake: () => void): () => void {
  let checked = Date.now();
  const timer = setInterval(() => {
    const sleptMs = Date.now() - checked - clockCheckMs;
    checked = Date.now();
    if (sleptMs > shortestSleepMs) wake();
  }, clockCheckMs);
  return () => clearInterval(timer);
}

/**
 * Runs `work` with a signal that is aborted by the caller's signal, by the timeout or after a sleep. Then rejects with the
 * signal's reason, with `error()` or with `afterSleep()`, even if `work` ignores the signal.
 */
export async function withTimeLimit<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { ms, signal, error, afterSleep } = limit;
  signal?.throwIfAborted();
  const controller = new AbortController();
  // AbortSignal.any would keep a listener on a long-lived signal until garbage collection.
  const follow = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', follow, { once: true });
  const timer = ms === undefined ? undefined : setTimeout(() => controller.abort(error()), Math.min(ms, longestMs));
  const stopWatching = afterSleep === undefined ? undefined : whenWoken(() => controller.abort(afterSleep()));
  const aborted = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    stopWatching?.();
    signal?.removeEventListener('abort', follow);
  }
}

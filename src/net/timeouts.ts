/** Time limits of the guarded client. */
export interface Timeouts {
  /** name, TCP and TLS together, ms */
  connectMs: number;
  /** from sending a request to the end of its headers, ms, beside the connection */
  headersMs: number;
  /** longest pause between two pieces of a body, ms */
  idleMs: number;
  /** minimum speed of a body over `rateWindowMs` of waiting for it, bytes per second */
  minBytesPerSecond: number;
  rateWindowMs: number;
  /** minimum speed of a download over `downloadWindowMs` of waiting for it, bytes per second; 0: none */
  downloadBytesPerSecond: number;
  downloadWindowMs: number;
  /** one whole download with all its attempts, ms */
  totalMs: number;
  /** attempts of one transfer, the first included */
  attempts: number;
  /** pause before the first retry, ms; doubles with each */
  retryDelayMs: number;
}

export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  headersMs: 15_000,
  idleMs: 15_000,
  minBytesPerSecond: 10_000,
  rateWindowMs: 20_000,
  downloadBytesPerSecond: 64_000,
  downloadWindowMs: 30_000,
  totalMs: 3_600_000,
  attempts: 4,
  retryDelayMs: 300,
};

export interface Deadline {
  signal: AbortSignal;
  /** stops the clock; the outer signal still aborts until `release` */
  stop(): void;
  /** stops the clock and stops listening to the outer signal */
  release(): void;
}

/** A signal that aborts with the outer one, or with `reason()` after `ms`. */
export function startDeadline(outer: AbortSignal | undefined, ms: number, reason: () => Error): Deadline {
  const controller = new AbortController();
  const follow = () => controller.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener('abort', follow, { once: true });
  const timer = setTimeout(() => controller.abort(reason()), ms);
  const stop = () => clearTimeout(timer);
  return {
    signal: controller.signal,
    stop,
    release() {
      stop();
      outer?.removeEventListener('abort', follow);
    },
  };
}

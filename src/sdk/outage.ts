/** Short outages of the service, in the middle of longer work. */
import { isTransient } from './call.ts';
import { ReelmendApiError, ReelmendConnectionError } from './errors.ts';
import { pause } from './pause.ts';

const outageMs = 60_000;
const pauseMs = 2_000;

/**
 * Repeats a call that fails transiently, for up to a minute from its first failure. For work that has begun well: at its start, the
 * retries of the call are enough.
 */
export async function throughOutage<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let failedAt: number | undefined;
  for (;;) {
    try {
      return await call();
    } catch (failure) {
      signal?.throwIfAborted();
      failedAt ??= Date.now();
      if (!isTransient(failure) || Date.now() - failedAt > outageMs) throw failure;
      const asks = failure instanceof ReelmendApiError || failure instanceof ReelmendConnectionError;
      const retryAfterS = asks ? (failure.retryAfterS ?? 0) : 0;
      await pause(Math.min(outageMs, Math.max(pauseMs, retryAfterS * 1000)), signal);
    }
  }
}

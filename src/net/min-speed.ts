/** A minimum speed for transfers: without it a slow server could hold a download slot for as long as it likes. */
import { NetFailure } from './failure.ts';
import type { Timeouts } from './timeouts.ts';

export interface MinSpeed {
  bytesPerSecond: number;
  /** ms over which the speed is averaged; a slow start has the first window to catch up */
  windowMs: number;
}

export const minSpeedOf = ({ downloadBytesPerSecond, downloadWindowMs }: Timeouts): MinSpeed => ({
  bytesPerSecond: downloadBytesPerSecond,
  windowMs: downloadWindowMs,
});

/**
 * Passes the pieces on. Throws NetFailure when a window brought too few bytes. Only time spent waiting for the server
 * counts, not the time of a slow disk here.
 */
export async function* enforceMinSpeed(pieces: AsyncIterable<Buffer>, floor: MinSpeed): AsyncGenerator<Buffer> {
  let waitedMs = 0;
  let bytes = 0;
  let requestedAt = performance.now();
  for await (const piece of pieces) {
    waitedMs += performance.now() - requestedAt;
    bytes += piece.length;
    if (waitedMs >= floor.windowMs) {
      if ((bytes / waitedMs) * 1000 < floor.bytesPerSecond) throw new NetFailure('timeout', 'the server sends too slowly');
      waitedMs = bytes = 0;
    }
    yield piece;
    requestedAt = performance.now();
  }
}

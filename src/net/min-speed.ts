/** A floor under the speed of a transfer: a server that sends slowly enough would hold its place for as long as it likes. */
import { NetFailure } from './failure.ts';
import type { Timeouts } from './timeouts.ts';

export interface MinSpeed {
  bytesPerSecond: number;
  /** over which the speed is averaged; the first window is the grace of a slow start */
  windowMs: number;
}

export const minSpeedOf = ({ downloadBytesPerSecond, downloadWindowMs }: Timeouts): MinSpeed => ({
  bytesPerSecond: downloadBytesPerSecond,
  windowMs: downloadWindowMs,
});

/**
 * The same pieces; throws NetFailure once a window brought fewer bytes than the floor asks for. Only the time spent
 * waiting for the server counts, never that of a slow disk here.
 */
export async function* enforceMinSpeed(pieces: AsyncIterable<Buffer>, floor: MinSpeed): AsyncGenerator<Buffer> {
  let waitedMs = 0;
  let bytes = 0;
  let asked = performance.now();
  for await (const piece of pieces) {
    waitedMs += performance.now() - asked;
    bytes += piece.length;
    if (waitedMs >= floor.windowMs) {
      if ((bytes / waitedMs) * 1000 < floor.bytesPerSecond) throw new NetFailure('timeout', 'the server sends too slowly');
      waitedMs = bytes = 0;
    }
    yield piece;
    asked = performance.now();
  }
}

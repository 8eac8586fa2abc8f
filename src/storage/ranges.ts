/** Reads an object of the storage in ranges, for a media child that needs only parts of it. */
import { addAbortSignal } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteRange, Storage } from './types.ts';

export interface RangeSource {
  /** bytes */
  readonly size: number;
  /** Returns at most `length` bytes at `offset`; empty only at the end. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
}

export interface RangedObject {
  key: string;
  sizeBytes: number;
  /** creates the error for an object that is gone */
  gone: () => Error;
  /** pauses in ms before a failed read is repeated; none by default */
  retryDelaysMs?: readonly number[];
}

/** Rejects with the storage's last error, with `gone`, or with the signal's reason. */
export function rangesOf(storage: Pick<Storage, 'open'>, { key, sizeBytes, gone, retryDelaysMs = [] }: RangedObject): RangeSource {
  const readOnce = async (range: ByteRange, signal: AbortSignal): Promise<Uint8Array | null> => {
    const body = await storage.open(key, range);
    return body === null ? null : arrived(addAbortSignal(signal, body), signal);
  };
  return {
    size: sizeBytes,
    async read(offset, length, signal) {
      const end = Math.min(offset + length, sizeBytes) - 1;
      if (offset > end) return new Uint8Array(0);
      const bytes = await retried(() => readOnce({ start: offset, end }, signal), retryDelaysMs, signal);
      if (bytes === null) throw gone();
      return bytes;
    },
  };
}

async function retried<T>(work: () => Promise<T>, delaysMs: readonly number[], signal: AbortSignal): Promise<T> {
  for (const delayMs of delaysMs) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      // The object has become shorter.
      if (error instanceof RangeError) throw error;
      await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
  return work();
}

/** Returns the bytes received before the connection breaks; the reader requests the rest. */
async function arrived(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch (error) {
    signal.throwIfAborted();
    if (chunks.length === 0) throw error;
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

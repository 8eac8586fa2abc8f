/** Stores what a step has downloaded or made. Minutes or hours of that are worth more than a short outage of the storage. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isStorageFault } from '../storage/faults.ts';
import type { Storage, StoredObject } from '../storage/types.ts';

/** ms before each further attempt; reads of a segment are as patient */
export const storageRetryDelaysMs: readonly number[] = [500, 1500, 4000, 9000];

export interface FileToStore {
  key: string;
  path: string;
  /** default: that of a result */
  contentType?: string;
}

export async function storeFile(storage: Pick<Storage, 'putFile'>, { key, path, contentType = 'video/mp4' }: FileToStore, signal: AbortSignal): Promise<StoredObject> {
  const put = () => storage.putFile(key, path, { contentType, signal });
  for (const delayMs of storageRetryDelaysMs) {
    try {
      return await put();
    } catch (error) {
      signal.throwIfAborted();
      if (!isStorageFault(error)) throw error;
      await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
  return put();
}

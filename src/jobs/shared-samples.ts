/** The results of sandbox jobs: one stored file for each size, which all such jobs refer to. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Resolution } from '../domain/job.ts';
import { samplePrefix } from '../domain/test-mode.ts';
import type { StoredObject } from '../storage/types.ts';
import { withDiskReservation } from './disk-reservation.ts';
import type { WorkerContext } from './worker-context.ts';

/** The stored sample of that size; `path` is the one that this worker has made. */
export type SharedSamples = (path: string, resolution: Resolution) => Promise<StoredObject>;

/**
 * Stores a sample unless it is there: under a name made of its content, so that all jobs share one file, whichever
 * worker stores it. Jobs that come together share one upload, too.
 */
export function sharedSamples(worker: WorkerContext): SharedSamples {
  const { storage, stopping } = worker;
  const underWay = new Map<string, Promise<StoredObject>>();
  const store = async (path: string, stored: StoredObject) => {
    if ((await storage.stat(stored.key))?.size === stored.size) return stored;
    return withDiskReservation(worker, { jobId: null, needs: [{ folder: 'storage', bytes: stored.size }] }, () =>
      storage.putFile(stored.key, path, { contentType: 'video/mp4', signal: stopping }),
    );
  };
  return async (path, resolution) => {
    const { size, sha256 } = await fileFacts(path);
    const key = `${samplePrefix}sandbox-${resolution}-${sha256.slice(0, 16)}.mp4`;
    const stored = underWay.get(key) ?? store(path, { key, size, sha256, version: null });
    underWay.set(key, stored);
    return stored.finally(() => underWay.delete(key));
  };
}

async function fileFacts(path: string): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { size, sha256: hash.digest('hex') };
}

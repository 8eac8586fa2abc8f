/** The results of test mode: one stored file per target size, shared by all test jobs. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Resolution } from '../domain/job.ts';
import { samplePrefix } from '../domain/test-mode.ts';
import type { StoredObject } from '../storage/types.ts';
import { withDiskReservation } from './disk-reservation.ts';
import type { WorkerContext } from './worker-context.ts';

/** Returns the stored sample of a size; `path` is the file that the service has of its own. */
export type SharedSamples = (path: string, resolution: Resolution) => Promise<StoredObject>;

/**
 * Stores a sample unless it is stored already. Its key is made of its content, so that all jobs share one file, whichever
 * worker stores it. Jobs that run at the same time share one upload.
 */
export function sharedSamples(worker: WorkerContext): SharedSamples {
  const { storage, stopping } = worker;
  const uploads = new Map<string, Promise<StoredObject>>();
  const store = async (path: string, stored: StoredObject) => {
    if ((await storage.stat(stored.key))?.size === stored.size) return stored;
    return withDiskReservation(worker, { jobId: null, needs: [{ folder: 'storage', bytes: stored.size }] }, () =>
      storage.putFile(stored.key, path, { contentType: 'video/mp4', signal: stopping }),
    );
  };
  return async (path, resolution) => {
    const { size, sha256 } = await fileFacts(path);
    const key = `${samplePrefix}test-mode-${resolution}-${sha256.slice(0, 16)}.mp4`;
    const stored = uploads.get(key) ?? store(path, { key, size, sha256, version: null });
    uploads.set(key, stored);
    return stored.finally(() => uploads.delete(key));
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

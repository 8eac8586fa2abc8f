/** Destroys the stored objects that a job no longer needs, and believes only the storage's own "absent". */
import { jobIdOf } from './payload.ts';
import type { WorkerContext } from './types.ts';

/**
 * Fails, and is retried, until every object is absent. While a worker may still be writing under its lease the
 * rest waits for the end of it.
 */
export const destroyTask =
  (worker: WorkerContext) =>
  async (payload: unknown): Promise<void> => {
    const jobId = jobIdOf(payload);
    const { keys, busyForS } = await worker.store.objects.doomed(jobId);
    const results = await Promise.allSettled(keys.map((key) => destroyObject(worker, key)));
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length > 0) {
      throw new Error(`${failed.length} of ${keys.length} objects of ${jobId} are not destroyed yet`, {
        cause: failed[0]!.reason,
      });
    }
    if (busyForS > 0) await worker.store.objects.destroyLater(jobId, busyForS + 1);
  };

async function destroyObject({ storage, store }: WorkerContext, key: string): Promise<void> {
  await storage.destroy(key);
  if (!(await storage.isAbsent(key))) throw new Error(`The storage still has ${key}`);
  await store.objects.markDestroyed(key);
}

/** Faults of what surrounds a worker, the storage and the database. They say nothing about the video of the step that met them. */
import { ReelmendError } from '../domain/errors.ts';
import { isStorageFault } from '../storage/faults.ts';
import { isDatabaseFault } from '../store/index.ts';
import type { WorkerContext } from './worker-context.ts';

/**
 * Whether a step failed by such a fault. A source that cannot be reached counts as one if the storage cannot be reached either:
 * then it is this worker's own network that fails. Tells the worker's StorageHealth, so that it takes no more work.
 */
export async function isInfrastructureFault({ storageHealth }: Pick<WorkerContext, 'storageHealth'>, error: unknown): Promise<boolean> {
  if (isDatabaseFault(error)) return true;
  const isUnreachable = error instanceof ReelmendError && error.code === 'video_unreachable';
  const isStorage = isUnreachable ? !(await storageHealth.answers()) : !(error instanceof ReelmendError) && isStorageFault(error);
  if (isStorage) storageHealth.failed(error);
  return isStorage;
}

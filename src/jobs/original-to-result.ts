/** What enhancing a video and joining its pieces begin and end with: the stored original, and the result of the job. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import type { AppliedEnhancements } from '../domain/job.ts';
import { openToChild } from '../media/child-user.ts';
import { encoding } from './media-options.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import { storeFile } from './store-file.ts';
import type { StepContext } from './step.ts';
import { storePictures } from './store-pictures.ts';

/** Fetches the stored original for a media child, and makes the folder for what the child writes. */
export async function fetchOriginal({ worker, originalKey, scratch, signal }: StepContext): Promise<{ inputPath: string; outputDir: string }> {
  const inputPath = join(scratch, 'source');
  const outputDir = join(scratch, 'output');
  await mkdir(outputDir);
  const found = originalKey !== null && (await worker.storage.getFile(originalKey, inputPath, signal));
  if (!found) throw new ReelmendError('processing_failed', 'The stored original is gone.');
  await openToChild(inputPath);
  return { inputPath, outputDir };
}

interface Result {
  width: number;
  height: number;
  applied: AppliedEnhancements | null;
}

/** Stores the result with its pictures, and ends the job. */
export async function finishJob(context: StepContext, path: string, { width, height, applied }: Result): Promise<void> {
  const { worker, job, fence, signal } = context;
  const key = await retryOnDatabaseFault(signal, () => worker.store.objects.registerPendingObject(fence, 'output'));
  const stored = await storeFile(worker.storage, { key, path }, signal);
  const pictures = await storePictures(context, path);
  const output = { width, height, size_bytes: stored.size, sha256: stored.sha256, ...encoding(worker, job) };
  await retryOnDatabaseFault(signal, () => worker.store.leases.finish(fence, { stored, pictures, output, applied }));
  worker.metrics.jobDone(job);
}

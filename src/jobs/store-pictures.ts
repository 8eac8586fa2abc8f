/** The poster and the thumbnails of a result. */
import { dirname, join } from 'node:path';
import { openToChild } from '../media/child-user.ts';
import type { FinishedJob } from '../store/leases.ts';
import { storeFile } from './store-file.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import type { StepContext } from './step.ts';

/** ms; a few seconds of the video are decoded for each picture */
const timeoutMs = 300_000;

/** Takes the pictures that the job asks for, of its finished file, and stores them. */
export async function storePictures({ worker, job, fence, signal }: StepContext, videoPath: string): Promise<NonNullable<FinishedJob['pictures']>> {
  const { poster = false, thumbnails = 0 } = job.outputSettings;
  if (!poster && thumbnails === 0) return [];
  await openToChild(videoPath);
  const outputDir = dirname(videoPath);
  const taken = await worker.media.takePictures({ videoPath, outputDir, poster, thumbnails, timeoutMs, signal });
  const made: NonNullable<FinishedJob['pictures']> = [];
  for (const { file, isPoster, timeS, width, height } of taken) {
    const kind = isPoster ? ('poster' as const) : ('thumbnail' as const);
    const number = made.filter(({ picture }) => picture.kind === 'thumbnail').length + 1;
    const key = await retryOnDatabaseFault(signal, () => worker.store.objects.registerPendingObject(fence, kind === 'poster' ? kind : { thumbnail: number }));
    const stored = await storeFile(worker.storage, { key, path: join(outputDir, file), contentType: 'image/jpeg' }, signal);
    made.push({ stored, picture: { kind, key, time: timeS, width, height, size_bytes: stored.size } });
  }
  return made;
}

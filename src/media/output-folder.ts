/** The folder that one child writes into. Only the files that it should write leave it. */
import { lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { takeFromChild } from './child-user.ts';
import { misbehaved } from './failures.ts';

/** Runs the work with a new folder in `outputDir`, and deletes the folder with all that is left in it. */
export async function withOutputFolder<T>(outputDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(resolve(outputDir), '.media-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Moves a file that the child has written to `outputDir`. Throws if it is not a regular file of the size that the child reported. */
export async function moveOut(folder: string, { name, sizeBytes }: { name: string; sizeBytes: number }, outputDir: string): Promise<void> {
  const path = join(folder, name);
  const found = await lstat(path).catch((error: unknown) => {
    throw misbehaved(error);
  });
  if (!found.isFile() || found.size !== sizeBytes) throw misbehaved(new Error('the media child reported another file than it wrote'));
  await takeFromChild(path);
  await rename(path, join(outputDir, name));
}

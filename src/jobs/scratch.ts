/** Scratch folders: <dataDir>/scratch/<worker>/<job>-<attempt>/, removed when the attempt ends. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { killOrphans } from '../media/orphans.ts';
import { readDiskUsage } from '../storage/disk.ts';
import { isDiskFull } from '../storage/faults.ts';
import type { Fence, Store } from '../store/index.ts';
import { headroomBytes, InsufficientDiskSpace } from './insufficient-disk-space.ts';

export const scratchRoot = (dataDir: string): string => join(dataDir, 'scratch');

const removeTree = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Steps reserve space for their files only after they have this folder. Throws InsufficientDiskSpace if the disk is full. */
async function makeFolder(path: string, dataDir: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const { freeBytes, sizeBytes } = await readDiskUsage(scratchRoot(dataDir));
    throw new InsufficientDiskSpace({ folder: 'scratch', neededBytes: headroomBytes, freeBytes, sizeBytes, othersBytes: 0 });
  }
}

/** Runs `work` with an empty folder and removes the folder afterwards. */
export async function withScratch<T>(dataDir: string, fence: Fence, work: (path: string) => Promise<T>): Promise<T> {
  const path = join(scratchRoot(dataDir), fence.owner, `${fence.jobId}-${fence.attempt}`);
  try {
    await makeFolder(path, dataDir);
    return await work(path);
  } finally {
    await removeTree(path);
  }
}

/** The folder of this worker's warm media children. */
export const warmPoolFolder = (dataDir: string, workerId: string): string => join(scratchRoot(dataDir), workerId, 'warm-pool');

/** Removes this worker's own folder. */
export const removeWorkerScratch = (dataDir: string, workerId: string): Promise<void> =>
  removeTree(join(scratchRoot(dataDir), workerId));

/**
 * Removes the folders of workers that are no longer alive, with the media children that they left, and returns the workers' names.
 * Folders that cannot be removed, such as those of a service that ran as root, are left; it rejects in the end.
 * The database says who is alive: process ids mean nothing for workers in other containers on the same volume.
 */
export async function reapScratch(dataDir: string, ownId: string, workers: Store['workers']): Promise<string[]> {
  const names = await readdir(scratchRoot(dataDir)).catch(() => []);
  const others = names.filter((name) => name !== ownId);
  const alive = await workers.alive(others);
  const dead = others.filter((name) => !alive.has(name));
  const failures: string[] = [];
  for (const name of dead) {
    const folder = join(scratchRoot(dataDir), name);
    await killOrphans(resolve(folder));
    await removeTree(folder).catch((error: unknown) => failures.push(`${folder}: ${String(error)}`));
  }
  if (failures.length > 0) throw new Error(`Scratch folders of dead workers cannot be removed: ${failures.join('; ')}`);
  return dead;
}

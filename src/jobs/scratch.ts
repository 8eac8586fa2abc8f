/** Scratch folders: <dataDir>/scratch/<worker>/<job>-<attempt>/, gone when the attempt is over. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fence, Store } from '../store/index.ts';

export const scratchRoot = (dataDir: string): string => join(dataDir, 'scratch');

const removeTree = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Runs `work` with an empty folder that is removed afterwards, whatever happens. */
export async function withScratch<T>(dataDir: string, fence: Fence, work: (path: string) => Promise<T>): Promise<T> {
  const path = join(scratchRoot(dataDir), fence.owner, `${fence.jobId}-${fence.attempt}`);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    return await work(path);
  } finally {
    await removeTree(path);
  }
}

/** The folder of this worker's warm media children. */
export const warmPoolFolder = (dataDir: string, workerId: string): string => join(scratchRoot(dataDir), workerId, 'warm-pool');

/** Removes this worker's own folder when it ends. */
export const removeWorkerScratch = (dataDir: string, workerId: string): Promise<void> =>
  removeTree(join(scratchRoot(dataDir), workerId));

/**
 * Removes the folders of workers that the database no longer counts among the living (their processes may have
 * run in another container on the same volume, so process ids say nothing). Returns their names.
 */
export async function reapScratch(dataDir: string, ownId: string, workers: Store['workers']): Promise<string[]> {
  const names = await readdir(scratchRoot(dataDir)).catch(() => []);
  const others = names.filter((name) => name !== ownId);
  const alive = await workers.alive(others);
  const dead = others.filter((name) => !alive.has(name));
  for (const name of dead) await removeTree(join(scratchRoot(dataDir), name));
  return dead;
}

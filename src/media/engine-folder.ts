/**
 * A writable copy of the folder of engines for the child that builds them. A child that is nobody writes into a folder of its own,
 * which shows the engines that exist, and what it wrote is moved into the folder when it has ended.
 */
import { chmod, copyFile, link, lstat, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { giveToChild, takeFromChild } from './child-user.ts';
import { removeLeftOver } from './left-over.ts';

const prefix = '.compile-';
/** No compilation takes as long. What is left has the engines that a killed one had built. */
const leftOverAfterMs = 24 * 3_600_000;

export async function withEngineFolder<T>(folder: string, work: (own: string) => Promise<T>): Promise<T> {
  await removeLeftOver(folder, prefix, leftOverAfterMs);
  const own = await mkdtemp(join(folder, prefix));
  try {
    const known = await showEngines(folder, own);
    await giveToChild(own);
    // What was built before a failure is kept as well.
    return await work(own).finally(() => keepEngines(own, folder, known));
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Names ending with `.new` are those of files that are being written (engine_cache.cc). */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.new')).map(({ name }) => name);
}

const inodeOf = async (path: string): Promise<number> => (await lstat(path)).ino;

/** Returns the inodes of the files in `own`. Writers replace files, so that one with another inode is new. */
async function showEngines(folder: string, own: string): Promise<Map<string, number>> {
  const known = new Map<string, number>();
  for (const name of await filesIn(folder)) {
    const to = join(own, name);
    await link(join(folder, name), to).catch(() => copyFile(join(folder, name), to));
    known.set(name, await inodeOf(to));
  }
  return known;
}

async function keepEngines(own: string, folder: string, known: Map<string, number>): Promise<void> {
  for (const name of await filesIn(own)) {
    const built = join(own, name);
    if ((await inodeOf(built)) === known.get(name)) continue;
    await takeFromChild(built);
    await chmod(built, 0o644); // children that are nobody read it
    await rename(built, join(folder, name));
  }
}

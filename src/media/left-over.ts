/** Folders that killed processes have left. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes the folders with this prefix that nothing has been written into for `afterMs`. Those that cannot be removed are skipped. */
export async function removeLeftOver(parent: string, prefix: string, afterMs: number): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  for (const path of names.map((name) => join(parent, name))) {
    const found = await lstat(path).catch(() => null);
    if (found !== null && found.mtimeMs < Date.now() - afterMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

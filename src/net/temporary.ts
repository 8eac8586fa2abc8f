/** Temporary files of this process, in a folder of its own under the system's temporary folder. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'reelmend-net-';
const name = `${prefix}${randomUUID()}`;
/** A folder of a living process is used again when it was removed, so that age alone may decide. */
const leftOverAfterMs = 3_600_000;
let sweeping: Promise<void> | undefined;

/** An open file that has no name any more: the kernel frees it however the process ends. */
export async function namelessFile(): Promise<FileHandle> {
  const folder = join(tmpdir(), name);
  if (sweeping === undefined) {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    sweeping = removeLeftOver(tmpdir());
  }
  await sweeping;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

/** Removes what killed processes left behind. Nobody is told of what cannot be removed: it is another user's. */
async function removeLeftOver(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((one) => one.startsWith(prefix) && one !== name);
  for (const one of names) {
    const path = join(parent, one);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - leftOverAfterMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Temporary files of this process, in a folder of its own under the system's temporary folder. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'reelmend-net-';
const name = `${prefix}${randomUUID()}`;
/** Age alone decides: a process that still lives makes its folder again if it was removed. */
const leftOverAfterMs = 3_600_000;
let sweeping: Promise<void> | undefined;

/** An open file without a name: the kernel frees it however the process ends. */
export async function namelessFile(): Promise<FileHandle> {
  const folder = join(tmpdir(), name);
  if (sweeping === undefined) {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    // A failure, such as too many open files, must not fail this video and all later ones.
    sweeping = removeLeftOver(tmpdir()).catch(() => undefined);
  }
  await sweeping;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

/** Removes the folders of killed processes. Those that cannot be removed belong to other users and are skipped. */
async function removeLeftOver(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((one) => one.startsWith(prefix) && one !== name);
  for (const one of names) {
    const path = join(parent, one);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - leftOverAfterMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

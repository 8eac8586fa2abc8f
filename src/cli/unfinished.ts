/**
 * Folders for results that are unfinished. If a process is killed, a later one removes its folders.
 *
 * Note [Locks of folders]
 * A process holds a lock (flock) on a file in its folder, and the kernel releases it however the process ends. Process ids would not do:
 * the process may run in another container. A folder counts only when its lock is held, hence the two names of the file. Some network
 * file systems do not tell another machine about locks, so the file also names the boot of this machine: folders of another boot, or of
 * another machine, are removed when nothing in them has changed for longer than a video may take.
 */
import { execFile, spawn } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const lockName = 'lock';
const longestMs = 48 * 3600_000;
/** the letters that mkdtemp appends */
const suffix = /^[A-Za-z0-9]{6}$/;

export interface UnfinishedFolder {
  path: string;
  remove: () => Promise<void>;
}

/** Creates a folder whose path is `prefix` and six letters. */
export async function makeUnfinishedFolder(prefix: string): Promise<UnfinishedFolder> {
  const path = await mkdtemp(resolve(prefix));
  const held = hold(path);
  return {
    path,
    async remove() {
      const release = await held;
      await rm(path, { recursive: true, force: true }).finally(release);
    },
  };
}

/** Returns what releases the lock. Where there is no flock(1), the folder has none, and nobody else removes it. */
async function hold(folder: string): Promise<() => void> {
  try {
    const file = join(folder, `${lockName}.new`);
    await writeFile(file, await bootId(), { flag: 'wx' });
    const release = await lock(file);
    await rename(file, join(folder, lockName)).catch(() => {});
    return release;
  } catch {
    return () => {};
  }
}

function lock(file: string): Promise<() => void> {
  // In a group of its own, so that Ctrl-C does not release the lock before the folder is removed.
  const holder = spawn('flock', ['--nonblock', file, 'sh', '-c', 'echo locked; exec cat >/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  holder.stdin.on('error', () => {});
  return new Promise((done, reject) => {
    holder.once('error', reject);
    holder.once('exit', (code) => reject(new Error(`flock exited with status ${code}`)));
    holder.stdout.once('data', () => done(() => holder.stdin.end()));
  });
}

/** Removes the folders with that prefix whose processes were killed. What cannot be removed stays. */
export async function removeUnfinished(prefix: string): Promise<void> {
  const [parent, start] = [dirname(resolve(prefix)), basename(prefix)];
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(start) || !suffix.test(name.slice(start.length))) continue;
    await removeIfLeft(join(parent, name)).catch(() => {});
  }
}

async function removeIfLeft(folder: string): Promise<void> {
  const file = join(folder, lockName);
  const [folderFacts, fileFacts] = [await lstat(folder), await lstat(file)];
  if (!folderFacts.isDirectory() || folderFacts.uid !== process.getuid?.() || !fileFacts.isFile()) return;
  const isOfThisBoot = (await readFile(file, 'utf8')) === (await bootId());
  if (!isOfThisBoot && Date.now() - (await lastChangeMs(folder)) < longestMs) return;
  // Fails if the lock is held.
  await promisify(execFile)('flock', ['--nonblock', file, 'rm', '-rf', '--', folder]);
}

async function lastChangeMs(folder: string): Promise<number> {
  const paths = [folder, ...(await readdir(folder, { recursive: true })).map((name) => join(folder, name))];
  const times = await Promise.all(paths.map(async (path) => (await lstat(path)).mtimeMs));
  return Math.max(...times);
}

/** Differs after each start of the machine, and is the same in all its containers. */
const bootId = () => readFile('/proc/sys/kernel/random/boot_id', 'utf8');

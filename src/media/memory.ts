/** The memory of a child and its descendants, read from /proc. On other systems than Linux it reads as 0. */
import { readFileSync, readlinkSync, statfsSync } from 'node:fs';

const tmpfsType = 0x01021994;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process ended meanwhile
  }
}

/** The process and its descendants: bubblewrap is the parent of the media child. */
function tree(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim();
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => tree(Number(child))))];
}

const namespaceOf = (pid: number | 'self') => readlinkSync(`/proc/${pid}/ns/mnt`);

/** Memory of a file, folder or link in tmpfs beside its content: inode and name, bytes. */
const entryBytes = 1024;

/** Bytes in the process's own tmpfs; 0 if it shares the machine's mounts. */
function filesInMemoryBytes(pid: number): number {
  try {
    if (namespaceOf(pid) === namespaceOf('self')) return 0;
    return ['tmp', 'dev/shm']
      .map((path) => statfsSync(`/proc/${pid}/root/${path}`))
      .filter(({ type }) => type === tmpfsType)
      .reduce((sum, { blocks, bfree, bsize, files, ffree }) => sum + (blocks - bfree) * bsize + (files - ffree) * entryBytes, 0);
  } catch {
    return 0; // it is being started, or ended meanwhile
  }
}

/** Bytes of the processes' own memory: anonymous and shared pages, page tables, and files in tmpfs. Mapped files do not count. */
function ownMemoryBytes(pid: number): number {
  let kilobytes = 0;
  const members = tree(pid);
  for (const member of members) {
    for (const [, value] of read(`/proc/${member}/status`).matchAll(/^(?:RssAnon|RssShmem|VmPTE):\s+(\d+) kB$/gm)) {
      kilobytes += Number(value);
    }
  }
  return kilobytes * 1024 + filesInMemoryBytes(members.at(-1)!);
}

/** Calls `onExceeded` once when the memory of `pid` and its children passes `limitBytes`. Returns a function that stops the watch. */
export function watchMemory(pid: number, limitBytes: number, onExceeded: (bytes: number) => void): () => void {
  const timer = setInterval(() => {
    const bytes = ownMemoryBytes(pid);
    if (bytes <= limitBytes) return;
    clearInterval(timer);
    onExceeded(bytes);
  }, 250);
  timer.unref();
  return () => clearInterval(timer);
}

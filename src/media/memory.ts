/** The memory of a child and what runs below it, read from /proc. Linux only; elsewhere nothing is seen. */
import { readFileSync, readlinkSync, statfsSync } from 'node:fs';

const tmpfsType = 0x01021994;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process ended meanwhile
  }
}

/** The process and everything below it (bubblewrap stands above the child that it starts). */
function tree(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim();
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => tree(Number(child))))];
}

const namespaceOf = (pid: number | 'self') => readlinkSync(`/proc/${pid}/ns/mnt`);

/** Bytes in the file systems that lie in memory and are the process's own; 0 where it sees the machine's. */
function filesInMemoryBytes(pid: number): number {
  try {
    if (namespaceOf(pid) === namespaceOf('self')) return 0;
    return ['tmp', 'dev/shm']
      .map((path) => statfsSync(`/proc/${pid}/root/${path}`))
      .filter(({ type }) => type === tmpfsType)
      .reduce((sum, { blocks, bfree, bsize }) => sum + (blocks - bfree) * bsize, 0);
  } catch {
    return 0; // it is being started, or ended meanwhile
  }
}

/** Bytes of memory that are the processes' own: anonymous and shared pages, files in memory, not mapped files. */
export function ownMemoryBytes(pid: number): number {
  let kilobytes = 0;
  const members = tree(pid);
  for (const member of members) {
    for (const [, value] of read(`/proc/${member}/status`).matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)) {
      kilobytes += Number(value);
    }
  }
  return kilobytes * 1024 + filesInMemoryBytes(members.at(-1)!);
}

/** Calls `onExceeded` once when the memory of `pid` and its children passes `limitBytes`. Returns how to stop. */
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

/** The memory of a child and what runs below it, read from /proc. Linux only; elsewhere nothing is seen. */
import { readFileSync } from 'node:fs';

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

/** Bytes of memory that are the processes' own: anonymous and shared pages, not mapped files. */
export function ownMemoryBytes(pid: number): number {
  let kilobytes = 0;
  for (const member of tree(pid)) {
    for (const [, value] of read(`/proc/${member}/status`).matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)) {
      kilobytes += Number(value);
    }
  }
  return kilobytes * 1024;
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

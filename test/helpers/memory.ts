/** Memory of a process and its descendants (Linux): private pages, and its share of each shared one. */
import { readdir, readFile } from 'node:fs/promises';

/** Measures four times a second until stopped. `stop` returns the largest sum, bytes. */
export function watchMemory(pid: number): { stop(): Promise<number> } {
  let peak = 0;
  let measuring = Promise.resolve();
  const measure = async () => {
    peak = Math.max(peak, await memoryOf(pid));
  };
  const timer = setInterval(() => (measuring = measuring.then(measure)), 250);
  return {
    async stop() {
      clearInterval(timer);
      await measuring;
      return peak;
    },
  };
}

async function memoryOf(root: number): Promise<number> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
    parents.set(Number(name), Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const isWithin = (pid: number): boolean => pid === root || (pid > 1 && isWithin(parents.get(pid) ?? 0));
  const sizes = await Promise.all([...parents.keys()].filter(isWithin).map(shareOf));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** 0 if the process has ended. */
async function shareOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return 1024 * Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0);
}

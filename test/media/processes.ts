/** What tests ask of processes: alive, children, gone. Linux's /proc. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Running; a zombie does not count, see isZombie. */
export function isAlive(pid: number): boolean {
  return state(pid) !== undefined && !isZombie(pid);
}

export function isZombie(pid: number): boolean {
  return state(pid) === 'Z';
}

function state(pid: number): string | undefined {
  try {
    return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** The process and all that run below it, the deepest last. */
export function processTree(pid: number): number[] {
  let children = '';
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  } catch {
    return [];
  }
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => processTree(Number(child))))];
}

/** Kills the process and all below it. One that ends because another did is no fault. */
export function killTree(pid: number): void {
  for (const member of processTree(pid)) killIfThere(member);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Name of the program file that a process runs; undefined when the process is gone. */
export function program(pid: number | undefined): string | undefined {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return undefined;
  }
}

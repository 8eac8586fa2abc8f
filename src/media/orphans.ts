/**
 * Ends what a killed worker may leave behind. Its media children die with it, but for one moment: bubblewrap has forked and
 * waits for the worker to map its users (child-user.ts). The fork then waits for ever, because bubblewrap arms its
 * `--die-with-parent` only later.
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** Kills the processes of bubblewrap on this machine whose arguments name a file in this folder. Returns their ids. */
export async function killOrphans(folder: string): Promise<number[]> {
  const ids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const found = await Promise.all(ids.map(async (pid) => ((await isBubblewrapOf(pid, folder)) ? [pid] : [])));
  return found.flat().filter(kill);
}

async function isBubblewrapOf(pid: number, folder: string): Promise<boolean> {
  const [program = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return basename(program) === 'bwrap' && args.some((argument) => argument.startsWith(`${folder}/`));
}

/** Returns false if the process has ended meanwhile, or belongs to another user. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

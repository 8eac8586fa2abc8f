/**
 * Which user of this machine a confined child is. An ordinary user's child is that user. Root's child must not be
 * root: files of the kernel that belong to root would be its own. It becomes nobody, in a user namespace that root
 * maps for it, once bubblewrap has laid out the files. Where nobody cannot read all that the child needs, the child
 * stays mapped to root, without capabilities.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import type { Duplex } from 'node:stream';

export const nobody = 65534;

/** CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_SETFCAP */
const needed = [0, 6, 7, 8, 31].reduce((bits, capability) => bits | (1n << BigInt(capability)), 0n);

let able: boolean | undefined;

/** Whether this process can make a child nobody: root with its capabilities, where nobody exists. */
export function canMapNobody(): boolean {
  able ??= process.getuid?.() === 0 && hasCapabilities() && ['uid_map', 'gid_map'].every(coversNobody);
  return able;
}

function hasCapabilities(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${effective}`) & needed) === needed;
}

function coversNobody(map: string): boolean {
  const lines = readFileSync(`/proc/self/${map}`, 'utf8').trim().split('\n');
  return lines.some((line) => {
    const [inside, , length] = line.trim().split(/\s+/).map(Number);
    return nobody >= inside! && nobody < inside! + length!;
  });
}

/** Whether nobody can use what is mounted, whichever folders it lies in: a mount does not show them. */
export function isOpenToNobody(path: string, writable = false): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true; // bubblewrap says that it is missing
  const wanted = (found.isDirectory() ? 0o5 : 0o4) | (writable ? 0o2 : 0);
  const granted = found.uid === nobody ? found.mode >> 6 : found.mode;
  return (granted & wanted) === wanted;
}

/**
 * Lets a child that is nobody read a file of the service's own, whose folder must be closed to other users. The mode of
 * a user's own file is never changed: a child that is mapped to root reads it (confinement.ts).
 */
export async function openToChild(path: string): Promise<void> {
  if (canMapNobody()) await chmod(path, 0o604);
}

/** Whether a child that waits, and is nobody where that can be, could read this file. */
export const canBeRead = (path: string): boolean => !canMapNobody() || isOpenToNobody(path);

/** A folder of our own that the child writes to. */
export async function giveToChild(folder: string): Promise<void> {
  if (canMapNobody()) await chown(folder, nobody, nobody);
}

/** What the child made and we keep. */
export async function takeFromChild(path: string): Promise<void> {
  if (canMapNobody()) await chown(path, process.getuid!(), process.getgid!());
}

/** Root lays out the files, nobody runs the program. Each map is written at once: the kernel takes one write. */
function writeMaps(pid: string): void {
  const map = [0, nobody].map((id) => `${id} ${id} 1\n`).join('');
  for (const name of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${name}`, map);
}

/** Answers bubblewrap: it tells at `info` who waits at `block` for its users. */
export function mapUsers(info: Duplex, block: Duplex): void {
  let told = '';
  for (const stream of [info, block]) stream.on('error', () => {}); // it ended: its exit tells more
  block.resume();
  info.on('data', (chunk: Buffer) => {
    told += chunk.toString('latin1');
    const pid = /"child-pid"\s*:\s*(\d+)\b/.exec(told)?.[1];
    if (pid === undefined || block.writableEnded) return;
    try {
      writeMaps(pid);
    } catch {
      // Not mapped, it cannot lay out its files: it ends and says so.
    }
    block.end('\n');
  });
}

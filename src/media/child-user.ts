/**
 * The user of an isolated child. An ordinary user's child runs as that user. Root's child must not run as root, which
 * owns files of the kernel in /proc and /sys. It becomes nobody, in a user namespace that root
 * maps for it, once bubblewrap has laid out the files. Where nobody cannot read all that the child needs, nobody gets the
 * capability that reads what is mounted for it. Only a root that lacks the capabilities itself (of a container) stays root there,
 * without any.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import type { Duplex } from 'node:stream';

export const nobody = 65534;

/** CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_SETFCAP */
const needed = [0, 6, 7, 8, 31].reduce((bits, capability) => bits | (1n << BigInt(capability)), 0n);

let canMap: boolean | undefined;

/** Whether this process can start a child as nobody: it is root, has the capabilities, and the user nobody exists. */
export function canMapNobody(): boolean {
  canMap ??= process.getuid?.() === 0 && hasCapabilities() && ['uid_map', 'gid_map'].every(coversNobody);
  return canMap;
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

/** Whether nobody can read a mounted file or folder. The folders above it do not matter: a mount hides them. */
export function isOpenToNobody(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true; // bubblewrap will report that it is missing
  const wanted = found.isDirectory() ? 0o5 : 0o4;
  const granted = found.uid === nobody ? found.mode >> 6 : found.mode;
  return (granted & wanted) === wanted;
}

/**
 * Lets a child that is nobody read a file of the service's own, whose folder must be closed to other users. The mode of
 * a user's own file is never changed: a child with a capability reads it (isolation.ts).
 */
export async function openToChild(path: string): Promise<void> {
  if (canMapNobody()) await chmod(path, 0o604);
}

/** Whether a warm child could read this file. It is nobody without capabilities, unless this machine does not allow that. */
export const canBeRead = (path: string): boolean => !canMapNobody() || isOpenToNobody(path);

/** Makes nobody the owner of a folder of our own that the child writes to. */
export async function giveToChild(folder: string): Promise<void> {
  if (canMapNobody()) await chown(folder, nobody, nobody);
}

/** Makes this process the owner of a file that the child wrote. */
export async function takeFromChild(path: string): Promise<void> {
  if (canMapNobody()) await chown(path, process.getuid!(), process.getgid!());
}

/** Maps root, which lays out the files, and nobody, which runs the program. The kernel accepts each map in one write only. */
function writeMaps(pid: string): void {
  const map = [0, nobody].map((id) => `${id} ${id} 1\n`).join('');
  for (const name of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${name}`, map);
}

/** Serves bubblewrap's pipes: it writes its process id to `info` and waits at `block` until its users are mapped. */
export function mapUsers(info: Duplex, block: Duplex): void {
  let text = '';
  for (const stream of [info, block]) stream.on('error', () => {}); // it ended; its exit status tells why
  block.resume();
  info.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const pid = /"child-pid"\s*:\s*(\d+)\b/.exec(text)?.[1];
    if (pid === undefined || block.writableEnded) return;
    try {
      writeMaps(pid);
    } catch {
      // Without the maps bubblewrap cannot lay out the files; it ends with a message.
    }
    block.end('\n');
  });
}

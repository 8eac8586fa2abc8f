/**
 * The isolation of a media child: the command line around it. Bubblewrap gives it its own namespaces (no network, no
 * other processes), a file tree of a few read-only parts and one writable folder, an empty environment and a filter on
 * system calls. Where bubblewrap cannot run, the child is a plain process with an empty environment. In both cases
 * resource limits apply and the child dies with its parent.
 */
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { addonFile, projectRoot } from './addon.ts';
import { gpuArguments, gpuEnvironment } from './gpu.ts';
import { seccompProgram } from './seccomp.ts';
import { canMapNobody, isOpenToNobody, nobody } from './users.ts';

export type IsolationKind = 'bubblewrap' | 'none';

export interface Mount {
  /** on this machine, absolute */
  from: string;
  /** in the child, absolute */
  to: string;
  writable?: boolean;
}

export interface ResourceLimits {
  /** limit of the child's own memory; memory.ts enforces it, and RLIMIT_DATA with a margin above */
  memoryBytes: number;
  /** size of the longest file that the child may write */
  outputBytes: number;
  /** wall-clock limit; the limit of processor time follows from it */
  timeoutMs: number;
  /** threads of a child in bubblewrap; default: several for each core and library */
  threads?: number;
}

export interface ChildPlan {
  kind: IsolationKind;
  /** module to run; the media child unless a test brings its own */
  script?: string;
  mounts: Mount[];
  limits: ResourceLimits;
  /** device files of the GPU that the child may use (gpu.ts); none without it */
  gpuFiles?: readonly string[];
}

export interface ChildCommand {
  file: string;
  args: string[];
  /** of the command; bubblewrap's arguments set the child's */
  env: Record<string, string>;
  /** to be written to file descriptor `filterFd` of the command, which is then closed; undefined: no filter */
  filter: Buffer | undefined;
  /** bubblewrap writes its process id to `infoFd` and waits at `blockFd` until its users are mapped (users.ts) */
  mapsUsers: boolean;
}

export const filterFd = 4;
export const blockFd = 5;
export const infoFd = 6;
const insideRoot = '/app/';
const childModule = 'src/media/child.ts';
const insideScript = `${insideRoot}script.ts`;

/**
 * Bytes that RLIMIT_DATA allows on top of the memory limit. V8 and thread stacks reserve memory that they do not use:
 * 0.6 GB at start, 0.9 GB while enhancing to 4K (measured); the stacks grow with the number of cores. RLIMIT_AS would
 * count far more of it and cannot be set.
 */
const reservedBytes = 2 * 1024 ** 3 + availableParallelism() * 32 * 1024 ** 2;

/** Memory of the CUDA driver in the child: contexts, pinned frames, machine code. */
const driverBytes = 4 * 1024 ** 3;
/** libav, the engine, OpenVINO and the driver each start several threads for each core. */
const defaultThreads = 256 + availableParallelism() * 16;
/** Size of /tmp, and of /dev/shm, which the driver needs. Both count as the child's memory (memory.ts). */
const temporaryBytes = 64 * 1024 * 1024;
const openFiles = 256;
/** The driver opens dozens of files for each GPU. */
const openFilesWithGpu = 1024;

/** The path of the first executable of this name in PATH. */
export function findProgram(name: string, path = process.env.PATH ?? '/usr/bin:/bin'): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!folder.startsWith('/')) continue;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // not in this folder
    }
  }
  return undefined;
}

/** prlimit's part of the command line; empty if prlimit is not installed. */
function limited({ limits, gpuFiles = [] }: ChildPlan): string[] {
  const prlimit = findProgram('prlimit');
  if (prlimit === undefined) return [];
  const cpuSeconds = Math.ceil((limits.timeoutMs / 1000) * availableParallelism()) + 10;
  return [
    prlimit,
    `--data=${limits.memoryBytes + reservedBytes + (gpuFiles.length > 0 ? driverBytes : 0)}`,
    `--fsize=${limits.outputBytes}`,
    `--cpu=${cpuSeconds}`,
    `--nofile=${gpuFiles.length > 0 ? openFilesWithGpu : openFiles}`,
    '--core=0',
    '--',
  ];
}

const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=256'];

const systemFolders = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/etc/alternatives', '/etc/ld.so.cache'];

/** Mounts of the shared libraries: no programs, no configuration, no users' files. */
function systemMounts(): string[] {
  const args: string[] = [];
  for (const folder of systemFolders) {
    args.push('--ro-bind-try', folder, folder);
  }
  for (const folder of ['/lib', '/lib64']) {
    try {
      if (lstatSync(folder).isSymbolicLink()) args.push('--symlink', readlinkSync(folder), folder);
      else args.push('--ro-bind', folder, folder);
    } catch {
      // this machine has no such folder
    }
  }
  return args;
}

/** Mounts of the inference backends and their libraries. The addon finds them beside itself. */
function moduleMounts(): Mount[] {
  return ['openvino', 'tensorrt']
    .map((name) => join(dirname(addonFile), name))
    .filter((folder) => existsSync(projectRoot + folder))
    .map((folder) => ({ from: projectRoot + folder, to: insideRoot + folder }));
}

function ownMounts({ script }: ChildPlan): Mount[] {
  const own: Mount[] = [
    { from: realpathSync(process.execPath), to: `${insideRoot}node` },
    { from: `${projectRoot}package.json`, to: `${insideRoot}package.json` },
    { from: `${projectRoot}src/media`, to: `${insideRoot}src/media` },
    { from: projectRoot + addonFile, to: insideRoot + addonFile },
    ...moduleMounts(),
  ];
  return script === undefined ? own : [...own, { from: script, to: insideScript }];
}

/** A program of util-linux that runs inside, changes the process, and then starts Node in its place. */
function preparer(name: string, args: string[]): { mounts: Mount[]; args: string[] } {
  const program = findProgram(name);
  if (program === undefined) return { mounts: [], args: [] };
  return { mounts: [{ from: realpathSync(program), to: insideRoot + name }], args: [insideRoot + name, ...args, '--'] };
}

/** Limits threads. Linux counts them per user of a user namespace, so prlimit runs inside, where nothing else does. */
const threadLimit = ({ threads = defaultThreads }: ResourceLimits) => preparer('prlimit', [`--nproc=${threads}`]);

const becomeNobody = () =>
  preparer('setpriv', [
    ...[`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'],
    ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'],
  ]);

/**
 * Bubblewrap's arguments for the child's user. By itself bubblewrap maps only the user that runs it. With `mapped`, this
 * process maps root and nobody (users.ts), and root keeps the capabilities that it needs to become nobody.
 */
function users(mapped: boolean): string[] {
  const one = ['--uid', String(nobody), '--gid', String(nobody), '--cap-drop', 'ALL'];
  if (!mapped) return one;
  const kept = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((capability) => ['--cap-add', capability]);
  return ['--cap-drop', 'ALL', ...kept, '--userns-block-fd', String(blockFd), '--info-fd', String(infoFd)];
}

/** Makes the folders above the mounts, open to all users; bubblewrap would make them for its own user only. */
function folders(targets: string[]): string[] {
  const parents = targets.flatMap((target) => {
    const names = dirname(target).split('/').slice(1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(parents)].filter((folder) => folder !== '/').flatMap((folder) => ['--perms', '0755', '--dir', folder]);
}

/** /proc is read-only, because root's child could change settings of the machine there. CUDA's driver makes files in /dev/shm. */
function kernelMounts(usesGpu: boolean): string[] {
  return [
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...(usesGpu ? ['--size', String(temporaryBytes), '--perms', '1777', '--tmpfs', '/dev/shm'] : []),
    ...['--size', String(temporaryBytes), '--perms', '1777', '--tmpfs', '/tmp'],
  ];
}

/**
 * Whether the child will run as nobody, who must then own its writable folders (users.ts). Otherwise it runs as the user
 * that starts it, without capabilities.
 */
export function becomesNobody(plan: ChildPlan): boolean {
  if (plan.kind !== 'bubblewrap' || !canMapNobody() || becomeNobody().args.length === 0) return false;
  const read = [...ownMounts(plan), ...threadLimit(plan.limits).mounts, ...plan.mounts.filter(({ writable }) => writable !== true)];
  return read.every(({ from }) => isOpenToNobody(from));
}

function bubblewrapped(plan: ChildPlan, bwrap: string): { args: string[]; mapsUsers: boolean } {
  const limit = threadLimit(plan.limits);
  const user = becomeNobody();
  const needed = [...ownMounts(plan), ...limit.mounts, ...plan.mounts];
  const mapsUsers = becomesNobody(plan) && plan.mounts.every(({ from, writable }) => isOpenToNobody(from, writable));
  const mounts = mapsUsers ? [...needed, ...user.mounts] : needed;
  const args = [
    bwrap,
    ...['--unshare-all', '--unshare-user', ...users(mapsUsers)],
    ...['--hostname', 'media', '--clearenv', '--die-with-parent', '--new-session'],
    ...folders(systemFolders),
    ...systemMounts(),
    ...kernelMounts((plan.gpuFiles ?? []).length > 0),
    ...gpuArguments(plan.gpuFiles ?? []),
    ...folders(mounts.map(({ to }) => to)),
    ...mounts.flatMap(({ from, to, writable }) => [writable === true ? '--bind' : '--ro-bind', from, to]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
    ...(seccompProgram(process.arch) === undefined ? [] : ['--seccomp', String(filterFd)]),
    ...['--', ...limit.args, ...(mapsUsers ? user.args : []), `${insideRoot}node`, ...nodeFlags],
    plan.script === undefined ? insideRoot + childModule : insideScript,
  ];
  return { args, mapsUsers };
}

function plain(plan: ChildPlan): string[] {
  const setpriv = findProgram('setpriv');
  return [
    ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'KILL', '--no-new-privs', '--']),
    ...[process.execPath, ...nodeFlags, plan.script ?? projectRoot + childModule],
  ];
}

export function childCommand(plan: ChildPlan): ChildCommand {
  const bwrap = plan.kind === 'bubblewrap' ? findProgram('bwrap') : undefined;
  if (plan.kind === 'bubblewrap' && bwrap === undefined) throw new Error('bwrap is not installed');
  const inner = bwrap === undefined ? { args: plain(plan), mapsUsers: false } : bubblewrapped(plan, bwrap);
  const [file, ...args] = [...limited(plan), ...inner.args];
  const files = plan.gpuFiles ?? [];
  const isolated = bwrap !== undefined;
  const filter = isolated ? seccompProgram(process.arch, { gpu: files.length > 0 }) : undefined;
  return { file: file!, args, env: isolated ? {} : gpuEnvironment(files), filter, mapsUsers: inner.mapsUsers };
}

/**
 * Builds the command line that starts a media child in isolation.
 *
 * With bubblewrap, the child has its own namespaces (no network, no other processes), a few read-only folders and one writable
 * folder, an empty environment, and a seccomp filter. Where bubblewrap cannot run, the child is a plain process with an empty
 * environment. In both cases resource limits apply, and the child dies with its parent.
 */
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { addonFile, projectRoot } from './addon.ts';
import { builtChild, childProgram } from './child-program.ts';
import { gpuArguments, gpuEnvironment } from './gpu.ts';
import { seccompProgram } from './seccomp.ts';
import { canMapNobody, isOpenToNobody, nobody } from './child-user.ts';

export type IsolationKind = 'bubblewrap' | 'none';

export interface Mount {
  /** on this machine, absolute */
  from: string;
  /** in the child, absolute */
  to: string;
  writable?: boolean;
}

export interface ResourceLimits {
  /** limit of the child's own memory; memory.ts enforces it, and RLIMIT_DATA is set with a margin above it */
  memoryBytes: number;
  /** size of the longest file that the child may write */
  outputBytes: number;
  /** wall-clock limit; the CPU time limit follows from it */
  timeoutMs: number;
  /** maximum number of threads of a child in bubblewrap; default: several for each core and library */
  threads?: number;
}

export interface ChildPlan {
  kind: IsolationKind;
  /** module to run; the media child unless a test brings its own */
  script?: string;
  mounts: Mount[];
  limits: ResourceLimits;
  /** device files of the GPUs that the child may use (gpu.ts); default: none */
  gpuFiles?: readonly string[];
}

export interface ChildCommand {
  file: string;
  args: string[];
  /** environment of the command; with bubblewrap, the child's own environment is empty */
  env: Record<string, string>;
  /** to be written to file descriptor `filterFd` of the command, which is then closed; undefined: no filter */
  filter: Buffer | undefined;
  /** whether bubblewrap writes its process id to `infoFd` and waits at `blockFd` until its users are mapped (child-user.ts) */
  mapsUsers: boolean;
}

export const filterFd = 4;
export const blockFd = 5;
export const infoFd = 6;
const insideRoot = '/app/';
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

/** The prlimit part of the command line; empty if prlimit is not installed. */
function prlimitArguments({ limits, gpuFiles = [] }: ChildPlan): string[] {
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

/**
 * Folders of the project, of those that exist: the media module, the built child, and the inference backends with their libraries,
 * which the addon finds beside itself.
 */
function folderMounts(): Mount[] {
  const backends = ['openvino', 'tensorrt'].map((name) => join(dirname(addonFile), name));
  return ['src/media', dirname(builtChild), ...backends]
    .filter((folder) => existsSync(projectRoot + folder))
    .map((folder) => ({ from: projectRoot + folder, to: insideRoot + folder }));
}

/** Mounts of Node, the media module and the addon. */
function ownMounts({ script }: ChildPlan): Mount[] {
  const own: Mount[] = [
    { from: realpathSync(process.execPath), to: `${insideRoot}node` },
    { from: `${projectRoot}package.json`, to: `${insideRoot}package.json` },
    { from: projectRoot + addonFile, to: insideRoot + addonFile },
    ...folderMounts(),
  ];
  return script === undefined ? own : [...own, { from: script, to: insideScript }];
}

/** A program of util-linux that runs inside the isolation, changes the process, and then executes Node. Empty if it is not installed. */
function insideProgram(name: string, args: string[]): { mounts: Mount[]; args: string[] } {
  const program = findProgram(name);
  if (program === undefined) return { mounts: [], args: [] };
  return { mounts: [{ from: realpathSync(program), to: insideRoot + name }], args: [insideRoot + name, ...args, '--'] };
}

/** Limits threads. Linux counts them per user of a user namespace, so prlimit runs inside, where the user has no other threads. */
const threadLimit = ({ threads = defaultThreads }: ResourceLimits) => insideProgram('prlimit', [`--nproc=${threads}`]);

/**
 * Changes the user to nobody and drops all capabilities. `readsAll`: keeps the one that reads root's files. All that the child
 * sees is mounted for it and read-only, and the filter denies the system calls that open files by handle.
 */
const setNobody = ({ readsAll }: { readsAll: boolean }) =>
  insideProgram('setpriv', [
    ...[`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'],
    ...['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all${readsAll ? ',+dac_read_search' : ''}`),
  ]);

/**
 * Bubblewrap's arguments for the child's user. By itself, bubblewrap maps only the user that runs it. With `mapsUsers`, this
 * process maps root and nobody (child-user.ts), and root keeps the capabilities that it needs to become nobody.
 */
function userArguments({ mapsUsers, readsAll }: { mapsUsers: boolean; readsAll: boolean }): string[] {
  if (!mapsUsers) return ['--uid', String(nobody), '--gid', String(nobody), '--cap-drop', 'ALL'];
  const needed = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP', ...(readsAll ? ['CAP_DAC_READ_SEARCH'] : [])];
  const capabilities = needed.flatMap((capability) => ['--cap-add', capability]);
  return ['--cap-drop', 'ALL', ...capabilities, '--userns-block-fd', String(blockFd), '--info-fd', String(infoFd)];
}

/** Creates the parent folders of the mounts, open to all users. Bubblewrap itself would create them for its own user only. */
function parentFolders(targets: string[]): string[] {
  const parents = targets.flatMap((target) => {
    const names = dirname(target).split('/').slice(1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(parents)].filter((folder) => folder !== '/').flatMap((folder) => ['--perms', '0755', '--dir', folder]);
}

/** Parts of /proc with settings of the machine: those that runc mounts read-only by default, and others that can be written. */
const machineSettings = ['acpi', 'bus', 'driver', 'fs', 'irq', 'mtrr', 'pressure', 'sys', 'sysrq-trigger'];

/**
 * The mount of /proc. A child of root could change the machine's settings there, so it is read-only. CUDA does not start like that
 * (cudaErrorOperatingSystem, driver 580), so with a GPU only the settings are.
 */
function procMounts({ usesGpu }: { usesGpu: boolean }): string[] {
  const readOnly = machineSettings.map((name) => `/proc/${name}`).flatMap((path) => ['--ro-bind-try', path, path]);
  return ['--proc', '/proc', ...(usesGpu ? readOnly : ['--remount-ro', '/proc'])];
}

/** Mounts of /proc, /dev and /tmp. CUDA's driver creates files in /dev/shm. */
function kernelMounts({ usesGpu }: { usesGpu: boolean }): string[] {
  return [
    ...[...procMounts({ usesGpu }), '--dev', '/dev'],
    // Mapped, it is memory that nothing counts (seccomp.ts).
    ...(usesGpu ? [] : ['--dev-bind', '/dev/null', '/dev/zero']),
    ...(usesGpu ? ['--size', String(temporaryBytes), '--perms', '1777', '--tmpfs', '/dev/shm'] : []),
    ...['--size', String(temporaryBytes), '--perms', '1777', '--tmpfs', '/tmp'],
  ];
}

/**
 * Whether the child will run as nobody. Then nobody must own its writable folders (child-user.ts). Otherwise the child runs as the user
 * that starts it, without capabilities.
 */
export const becomesNobody = ({ kind }: ChildPlan): boolean => kind === 'bubblewrap' && canMapNobody() && setNobody({ readsAll: false }).args.length > 0;

function bubblewrapArguments(plan: ChildPlan, bwrap: string): { args: string[]; mapsUsers: boolean } {
  const limit = threadLimit(plan.limits);
  const needed = [...ownMounts(plan), ...limit.mounts, ...plan.mounts];
  const mapsUsers = becomesNobody(plan);
  const readsAll = mapsUsers && needed.some(({ from, writable }) => writable !== true && !isOpenToNobody(from));
  const user = setNobody({ readsAll });
  const mounts = mapsUsers ? [...needed, ...user.mounts] : needed;
  const args = [
    bwrap,
    ...['--unshare-all', '--unshare-user', ...userArguments({ mapsUsers, readsAll })],
    ...['--hostname', 'media', '--clearenv', '--die-with-parent', '--new-session'],
    ...parentFolders(systemFolders),
    ...systemMounts(),
    ...kernelMounts({ usesGpu: (plan.gpuFiles ?? []).length > 0 }),
    ...gpuArguments(plan.gpuFiles ?? []),
    ...parentFolders(mounts.map(({ to }) => to)),
    ...mounts.flatMap(({ from, to, writable }) => [writable === true ? '--bind' : '--ro-bind', from, to]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
    ...(seccompProgram(process.arch) === undefined ? [] : ['--seccomp', String(filterFd)]),
    ...['--', ...limit.args, ...(mapsUsers ? user.args : []), `${insideRoot}node`, ...nodeFlags],
    plan.script === undefined ? insideRoot + childProgram() : insideScript,
  ];
  return { args, mapsUsers };
}

function plainArguments(plan: ChildPlan): string[] {
  const setpriv = findProgram('setpriv');
  return [
    ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'KILL', '--no-new-privs', '--']),
    ...[process.execPath, ...nodeFlags, plan.script ?? projectRoot + childProgram()],
  ];
}

/** The command that starts a child of this plan. */
export function childCommand(plan: ChildPlan): ChildCommand {
  const bwrap = plan.kind === 'bubblewrap' ? findProgram('bwrap') : undefined;
  if (plan.kind === 'bubblewrap' && bwrap === undefined) throw new Error('bwrap is not installed');
  const inner = bwrap === undefined ? { args: plainArguments(plan), mapsUsers: false } : bubblewrapArguments(plan, bwrap);
  const [file, ...args] = [...prlimitArguments(plan), ...inner.args];
  const gpuFiles = plan.gpuFiles ?? [];
  const isolated = bwrap !== undefined;
  const filter = isolated ? seccompProgram(process.arch, { gpu: gpuFiles.length > 0 }) : undefined;
  return { file: file!, args, env: isolated ? {} : gpuEnvironment(gpuFiles), filter, mapsUsers: inner.mapsUsers };
}

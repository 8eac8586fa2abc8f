/**
 * How a media child is confined: the command line around it. Bubblewrap gives it namespaces of its own (no
 * network, no other processes), a file tree of a few read-only parts and one writable folder, an empty
 * environment and a filter on system calls. Where bubblewrap cannot run, the child is a plain process with
 * an empty environment. Both ways resource limits hold and the child dies with its parent.
 */
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { addonFile, projectRoot } from './addon.ts';
import { gpuArguments, gpuEnvironment } from './gpu.ts';
import { seccompProgram } from './seccomp.ts';

export type SandboxKind = 'bubblewrap' | 'none';

export interface Mount {
  /** on this machine, absolute */
  from: string;
  /** inside the sandbox, absolute */
  to: string;
  writable?: boolean;
}

export interface ResourceLimits {
  /** ceiling of the child's own memory; enforced by watching it (memory.ts), here with a margin above */
  memoryBytes: number;
  /** longest file that the child may write */
  outputBytes: number;
  /** wall-clock limit, from which the ceiling of processor time follows */
  timeoutMs: number;
}

export interface ChildPlan {
  kind: SandboxKind;
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
  /** of the command; inside of bubblewrap what its arguments set */
  env: Record<string, string>;
  /** to be written to descriptor `filterFd` of the child, then closed; undefined: no such descriptor */
  filter: Buffer | undefined;
}

export const filterFd = 4;
const insideRoot = '/app/';
const childModule = 'src/media/child.ts';

/**
 * V8 reserves address space that it never uses, so RLIMIT_AS cannot be set. RLIMIT_DATA counts less of such
 * reservations: 0.6 GB at start and 0.9 GB above the memory in use while enhancing to 4K (measured), of which
 * the stacks of threads grow with the cores. This much is left for them.
 */
const reservedBytes = 2 * 1024 ** 3 + availableParallelism() * 32 * 1024 ** 2;

/** What the driver keeps in the child's own memory beside the work: contexts, pinned frames, machine code. */
const driverBytes = 4 * 1024 ** 3;
const openFiles = 256;
/** The driver holds some dozens of files a GPU. */
const openFilesWithGpu = 1024;

/** First executable of this name on the PATH. */
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

/** prlimit's part of the command line; empty where util-linux is absent. */
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

/** Shared libraries alone: no programs, no configuration, nobody's files. */
function systemMounts(): string[] {
  const args: string[] = [];
  for (const folder of ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/etc/alternatives', '/etc/ld.so.cache']) {
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

/** The modules that networks run in, with their libraries; the addon looks for them beside itself. */
function moduleMounts(): Mount[] {
  return ['openvino', 'tensorrt']
    .map((name) => join(dirname(addonFile), name))
    .filter((folder) => existsSync(projectRoot + folder))
    .map((folder) => ({ from: projectRoot + folder, to: insideRoot + folder }));
}

function bubblewrapped(plan: ChildPlan, bwrap: string): string[] {
  const own: Mount[] = [
    { from: realpathSync(process.execPath), to: `${insideRoot}node` },
    { from: `${projectRoot}package.json`, to: `${insideRoot}package.json` },
    { from: `${projectRoot}src/media`, to: `${insideRoot}src/media` },
    { from: projectRoot + addonFile, to: insideRoot + addonFile },
    ...moduleMounts(),
  ];
  const script = plan.script === undefined ? insideRoot + childModule : `${insideRoot}script.ts`;
  if (plan.script !== undefined) own.push({ from: plan.script, to: script });
  const mounts = [...own, ...plan.mounts].flatMap((mount) => [
    mount.writable === true ? '--bind' : '--ro-bind',
    mount.from,
    mount.to,
  ]);
  return [
    bwrap,
    ...['--unshare-all', '--unshare-user', '--uid', '65534', '--gid', '65534', '--cap-drop', 'ALL'],
    ...['--hostname', 'media', '--clearenv', '--die-with-parent', '--new-session'],
    ...systemMounts(),
    ...['--proc', '/proc', '--dev', '/dev', '--size', String(64 * 1024 * 1024), '--tmpfs', '/tmp'],
    ...gpuArguments(plan.gpuFiles ?? []),
    ...mounts,
    ...['--remount-ro', '/', '--chdir', '/'],
    ...(seccompProgram(process.arch) === undefined ? [] : ['--seccomp', String(filterFd)]),
    ...['--', `${insideRoot}node`, ...nodeFlags, script],
  ];
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
  const inner = bwrap === undefined ? plain(plan) : bubblewrapped(plan, bwrap);
  const [file, ...args] = [...limited(plan), ...inner];
  const files = plan.gpuFiles ?? [];
  if (bwrap === undefined) return { file: file!, args, env: gpuEnvironment(files), filter: undefined };
  return { file: file!, args, env: {}, filter: seccompProgram(process.arch, { gpu: files.length > 0 }) };
}

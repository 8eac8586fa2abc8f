/** What media was made with, and the plans of its children that follow from it. */
import { stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import type { BlockOptions } from './blocks.ts';
import type { ChildPlan, Mount, SandboxKind } from './confinement.ts';
import type { InstalledModel } from './models.ts';

export interface MediaLogger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

export interface MediaOptions {
  /** true: refuse to start where bubblewrap cannot run */
  requireSandbox?: boolean;
  logger?: MediaLogger;
  /** ceiling of one child's own memory; default 4 GiB or three quarters of the machine's, whichever is less */
  memoryLimitMb?: number;
  /** ceiling of one output file; default 32 GiB */
  outputLimitMb?: number;
  /** networks that jobs may use (models.ts); children may read their files */
  models?: readonly InstalledModel[];
  /** folder of engines that were built for GPUs (compileModel); children that see videos can read it, no more */
  enginesDir?: string | undefined;
  /** further files or folders that children may read at the same place */
  readOnlyPaths?: string[];
  /** how remote sources are read while they are measured */
  remote?: BlockOptions;
  /** probes at once, each a process; others wait. Default: twice the cores, at least 4 */
  maxProbes?: number;
  /** device files of GPUs that children may use when no CPU is asked for; default: those of this machine */
  gpuFiles?: string[];
  /** told the process id of each child when it starts */
  onChild?: (pid: number) => void;
}

const megabyte = 1024 * 1024;
/** Where a sandboxed child finds its input, its output folder and the engines for GPUs. */
export const insideInput = '/in/source';
export const insideOutput = '/out';
export const insideEngines = '/engines';

export const silent: MediaLogger = { info() {}, warn() {} };

export function planOf(options: MediaOptions, kind: SandboxKind, mounts: Mount[], timeoutMs: number): ChildPlan {
  const memoryMb = options.memoryLimitMb ?? Math.min(4096, Math.floor((totalmem() / megabyte) * 0.75));
  const limits = {
    memoryBytes: memoryMb * megabyte,
    outputBytes: (options.outputLimitMb ?? 32 * 1024) * megabyte,
    timeoutMs,
  };
  const shared = [...(options.readOnlyPaths ?? []), ...(options.models ?? []).map((model) => model.path)].map((path) => ({ from: resolve(path), to: resolve(path) }));
  return { kind, mounts: [...shared, ...mounts], limits };
}

/** The absolute path of a regular file that a child can read, links followed. */
export async function readableFile(path: string): Promise<string> {
  const absolute = resolve(path);
  const found = await stat(absolute).catch((cause: unknown) => {
    throw new ReelmendError('unreadable_video', 'The video file does not exist or cannot be opened.', { cause });
  });
  if (!found.isFile()) throw new ReelmendError('unreadable_video', 'The video is not a regular file.');
  return absolute;
}

/** The members that are set: JSON has no `undefined`. */
export function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

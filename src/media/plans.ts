/** Options of media, and the plans of children that follow from them. */
import { stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import type { BlockOptions } from './blocks.ts';
import type { ChildPlan, Mount, IsolationKind } from './isolation.ts';
import type { InstalledModel } from './models.ts';
import type { MinSpeed } from './types.ts';

export interface MediaLogger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

export interface SpeedOptions {
  /** keeps the figures; its folder is created if it is missing */
  file: string;
  /** a short video: everything but networks is timed with it */
  sample: string;
  /** of a job */
  threads: number;
  encoder: { preset: string; crf: number };
  /** the least that `auto` should keep; it is the reason to measure before the first job */
  floor?: MinSpeed | undefined;
  /** where machines of the same kind share the results; default: nowhere */
  shared?: SharedSpeeds;
  /** default: that of media */
  logger?: MediaLogger;
}

/** Results by a key that machines of the same kind have in common. */
export interface SharedSpeeds {
  find(key: string): Promise<unknown>;
  keep(key: string, speeds: object): Promise<void>;
}

export interface MediaOptions {
  /** true: refuse to start where bubblewrap cannot run */
  requireIsolation?: boolean;
  logger?: MediaLogger;
  /** ceiling of one child's own memory; default 4 GiB or three quarters of the machine's, whichever is less */
  memoryLimitMb?: number;
  /** ceiling of one output file; default 32 GiB */
  outputLimitMb?: number;
  /** networks that jobs may use (models.ts); children can read their files */
  models?: readonly InstalledModel[];
  /** where the speed of the networks is kept; absent: it is unknown */
  speeds?: SpeedOptions;
  /** folder of engines for GPUs (compileModel); children that see videos can read it and not write to it */
  enginesDir?: string | undefined;
  /** how remote sources are read while they are measured */
  remote?: BlockOptions;
  /** probes at a time, each in a process; others wait. Default: twice the cores, at least 4 */
  maxProbes?: number;
  /** device files of GPUs for children whose device is not `cpu`; default: those of this machine */
  gpuFiles?: string[];
  /** called with the process id of each child that starts */
  onChild?: (pid: number) => void;
}

const megabyte = 1024 * 1024;
/** ceiling of one output file: enough for ten minutes in 4K with 120 frames a second */
export const defaultOutputLimitMb = 32 * 1024;
/** Paths in an isolated child: its input, its output folder, and the engines for GPUs. */
export const insideInput = '/in/source';
export const insidePieces = '/in/pieces';
export const insideOutput = '/out';
export const insideEngines = '/engines';

export const silent: MediaLogger = { info() {}, warn() {} };

export function planOf(options: MediaOptions, kind: IsolationKind, mounts: Mount[], timeoutMs: number): ChildPlan {
  const memoryMb = options.memoryLimitMb ?? Math.min(4096, Math.floor((totalmem() / megabyte) * 0.75));
  const limits = {
    memoryBytes: memoryMb * megabyte,
    outputBytes: (options.outputLimitMb ?? defaultOutputLimitMb) * megabyte,
    timeoutMs,
  };
  const shared = (options.models ?? []).map(({ path }) => ({ from: resolve(path), to: resolve(path) }));
  return { kind, mounts: [...shared, ...mounts], limits };
}

/** The absolute path of a file; throws `unreadable_video` unless it is regular. Symbolic links are followed. */
export async function readableFile(path: string): Promise<string> {
  const absolute = resolve(path);
  const found = await stat(absolute).catch((cause: unknown) => {
    throw new ReelmendError('unreadable_video', 'The video file does not exist or cannot be opened.', { cause });
  });
  if (!found.isFile()) throw new ReelmendError('unreadable_video', 'The video is not a regular file.');
  return absolute;
}

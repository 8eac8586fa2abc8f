/** Probing and enhancing videos in confined child processes; the manual is in types.ts. */
import { access, lstat, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { FrameliftError } from '../domain/errors.ts';
import { addonFile, projectRoot } from './addon.ts';
import { BlockReader, type BlockOptions } from './blocks.ts';
import type { ChildPlan, Mount, SandboxKind } from './confinement.ts';
import { misbehaved, timedOut } from './failures.ts';
import { Gate } from './gate.ts';
import { findGpuFiles, onAnyDevice } from './gpu.ts';
import { compiledEngines, deviceList, enhancePlan, enhanceResult, modelReport, probeResult } from './messages.ts';
import { type InstalledModel, toModelFile } from './models.ts';
import { runChild } from './session.ts';
import type {
  CheckModelRequest,
  CompiledEngine,
  CompileModelRequest,
  EnhancePlan,
  EnhanceRequest,
  EnhanceResult,
  Media,
  ModelReport,
  PlanRequest,
  ProbeRequest,
  ProbeResult,
} from './types.ts';

export type * from './types.ts';

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

const helloTimeoutMs = 20_000;
const devicesTimeoutMs = 30_000;
const megabyte = 1024 * 1024;
/** Where a sandboxed child finds its input and its output folder. */
const insideInput = '/in/source';
const insideOutput = '/out';
const insideModel = '/in/model.onnx';
const insideEngines = '/engines';

const silent: MediaLogger = { info() {}, warn() {} };

/** Tries the sandbox by running it. Rejects when it is required and cannot run, or when the addon is not built. */
export async function createMedia(options: MediaOptions = {}): Promise<Media> {
  const logger = options.logger ?? silent;
  await access(projectRoot + addonFile).catch(() => {
    throw new Error(`The addon ${addonFile} is not built; run scripts/build-native.`);
  });
  if (options.enginesDir !== undefined) await mkdir(options.enginesDir, { recursive: true });
  const sandbox = await chooseSandbox(options);
  if (sandbox.kind === 'bubblewrap') logger.info({ sandbox }, 'media children run in bubblewrap');
  else logger.warn({ sandbox }, 'media children run WITHOUT a sandbox: an empty environment and limits are all');
  return new ChildMedia(options, sandbox);
}

async function chooseSandbox(options: MediaOptions): Promise<Media['sandbox']> {
  const hello = (kind: SandboxKind) => {
    const plan = planOf(options, kind, [], helloTimeoutMs);
    return runChild({ plan, message: { op: 'hello' }, result: z.literal('hello') });
  };
  try {
    await hello('bubblewrap');
    return { kind: 'bubblewrap', reason: '' };
  } catch (error) {
    const reason = reasonOf(error);
    if (options.requireSandbox === true) {
      throw new Error(`The sandbox is required but bubblewrap cannot run here: ${reason}`, { cause: error });
    }
    // Only where a bare child runs is the sandbox to blame.
    await hello('none').catch((cause: unknown) => {
      throw new Error(`Media children cannot run here: ${reasonOf(cause)}`, { cause });
    });
    return { kind: 'none', reason };
  }
}

/** The innermost cause says what happened; the public sentence does not. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

function planOf(options: MediaOptions, kind: SandboxKind, mounts: Mount[], timeoutMs: number): ChildPlan {
  const memoryMb = options.memoryLimitMb ?? Math.min(4096, Math.floor((totalmem() / megabyte) * 0.75));
  const limits = {
    memoryBytes: memoryMb * megabyte,
    outputBytes: (options.outputLimitMb ?? 32 * 1024) * megabyte,
    timeoutMs,
  };
  const shared = [...(options.readOnlyPaths ?? []), ...(options.models ?? []).map((model) => model.path)].map((path) => ({ from: resolve(path), to: resolve(path) }));
  return { kind, mounts: [...shared, ...mounts], limits };
}

async function readableFile(path: string): Promise<string> {
  const absolute = resolve(path);
  const found = await stat(absolute).catch((cause: unknown) => {
    throw new FrameliftError('unreadable_video', 'The video file does not exist or cannot be opened.', { cause });
  });
  if (!found.isFile()) throw new FrameliftError('unreadable_video', 'The video is not a regular file.');
  return absolute;
}

class ChildMedia implements Media {
  readonly sandbox: Media['sandbox'];
  readonly #options: MediaOptions;
  readonly #probes: Gate;
  readonly #gpuFiles: string[];
  readonly #logger: MediaLogger;

  constructor(options: MediaOptions, sandbox: Media['sandbox']) {
    this.#options = options;
    this.#logger = options.logger ?? silent;
    this.#gpuFiles = options.gpuFiles ?? findGpuFiles();
    this.#probes = new Gate(options.maxProbes ?? Math.max(4, 2 * availableParallelism()));
    this.sandbox = sandbox;
  }

  /** Waiting for a place counts towards the time limit, which is what a client waits for. */
  async probe(request: ProbeRequest): Promise<ProbeResult> {
    const late = AbortSignal.timeout(request.timeoutMs);
    const began = performance.now();
    const signal = request.signal === undefined ? late : AbortSignal.any([request.signal, late]);
    const work = () => this.#probe(request, Math.max(1, Math.ceil(request.timeoutMs - (performance.now() - began))));
    return this.#probes.run(work, signal).catch((error: unknown) => {
      throw error === late.reason ? timedOut(request.timeoutMs) : error;
    });
  }

  async #probe(request: ProbeRequest, timeoutMs: number): Promise<ProbeResult> {
    const { source, limits, walkPackets, signal } = request;
    const mounts: Mount[] = [];
    let told: { path: string } | { size: number };
    let served: BlockReader | undefined;
    if ('path' in source) {
      told = { path: this.#input(await readableFile(source.path), mounts) };
    } else {
      told = { size: source.size };
      served = new BlockReader(source, this.#options.remote);
    }
    return runChild({
      plan: this.#plan(mounts, timeoutMs),
      message: { op: 'probe', source: told, ...given({ limits, walkPackets }) },
      result: probeResult,
      source: served,
      signal,
      onStart: this.#options.onChild,
    });
  }

  async enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    const { outputName } = request;
    if (outputName !== basename(outputName) || ['', '.', '..'].includes(outputName)) {
      throw new TypeError(`Expected a bare file name for outputName but received '${outputName}'`);
    }
    request.signal?.throwIfAborted();
    const input = await readableFile(request.inputPath);
    // The child gets a folder of its own and the file is taken out of it afterwards: whatever happens, and
    // whatever it writes, nothing else appears in the output folder.
    const folder = await mkdtemp(join(resolve(request.outputDir), '.media-'));
    try {
      const result = await this.#enhanceOnAnyDevice(folder, input, request);
      const made = await lstat(join(folder, outputName)).catch((error: unknown) => {
        throw misbehaved(error);
      });
      if (!made.isFile() || made.size !== result.sizeBytes) {
        throw misbehaved(new Error('the media child told another file than it wrote'));
      }
      await rename(join(folder, outputName), join(request.outputDir, outputName));
      return result;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async plan(request: PlanRequest): Promise<EnhancePlan> {
    const mounts: Mount[] = [];
    const input = this.#input(await readableFile(request.inputPath), mounts);
    const models = (this.#options.models ?? []).map(toModelFile);
    const gpuFiles = request.options.device === 'cpu' ? [] : this.#gpuFiles;
    return runChild({
      plan: { ...this.#plan(mounts, request.timeoutMs), gpuFiles },
      message: { op: 'plan', input, options: { ...request.options, models } },
      result: enhancePlan,
      signal: request.signal,
      onStart: this.#options.onChild,
    });
  }

  devices() {
    return runChild({
      plan: { ...this.#plan([], devicesTimeoutMs), gpuFiles: this.#gpuFiles },
      message: { op: 'devices' },
      result: deviceList,
      onStart: this.#options.onChild,
    });
  }

  checkModel(request: CheckModelRequest): Promise<ModelReport> {
    const mounts: Mount[] = [];
    const path = resolve(request.model.path);
    const model = { ...request.model, path: this.#confined ? insideModel : path };
    if (this.#confined) mounts.push({ from: path, to: insideModel });
    return runChild({
      plan: this.#plan(mounts, request.timeoutMs),
      message: { op: 'check-model', model, trial: request.trial ?? {} },
      result: modelReport,
      signal: request.signal,
      onStart: this.#options.onChild,
    });
  }

  async compileModel(request: CompileModelRequest): Promise<CompiledEngine[]> {
    const { width, height } = request;
    const path = resolve(request.model.path);
    const folder = resolve(request.folder);
    await mkdir(folder, { recursive: true });
    const model = { ...request.model, path: this.#confined ? insideModel : path };
    const mounts = this.#confined ? [{ from: path, to: insideModel }, { from: folder, to: insideEngines, writable: true }] : [];
    return runChild({
      plan: { ...this.#plan(mounts, request.timeoutMs), gpuFiles: this.#gpuFiles },
      message: { op: 'compile-model', model, request: { folder: this.#confined ? insideEngines : folder, width, height } },
      result: compiledEngines,
      signal: request.signal,
      onStart: this.#options.onChild,
    });
  }

  /** A second run is told as part of the same work: its progress goes on where it has caught up, its time is the rest. */
  #enhanceOnAnyDevice(folder: string, inputPath: string, request: EnhanceRequest): Promise<EnhanceResult> {
    const began = performance.now();
    let reached = 0;
    const onProgress: EnhanceRequest['onProgress'] = (progress) => {
      reached = Math.max(reached, progress.fraction);
      request.onProgress?.({ ...progress, fraction: reached });
    };
    return onAnyDevice({
      device: request.options.device ?? 'auto',
      hasGpu: this.#gpuFiles.length > 0,
      signal: request.signal,
      onFallback: (error) => this.#logger.warn({ error }, 'the GPU failed; the video is processed again on the CPU'),
      run: (device) => {
        const timeoutMs = Math.max(1, Math.ceil(request.timeoutMs - (performance.now() - began)));
        return this.#enhanceInto(folder, inputPath, { ...request, timeoutMs, onProgress, options: { ...request.options, device } });
      },
    });
  }

  #enhanceInto(folder: string, inputPath: string, request: EnhanceRequest): Promise<EnhanceResult> {
    const mounts: Mount[] = [];
    const input = this.#input(inputPath, mounts);
    let outputFolder = folder;
    if (this.#confined) {
      mounts.push({ from: folder, to: insideOutput, writable: true });
      outputFolder = insideOutput;
    }
    const output = join(outputFolder, request.outputName);
    const models = (this.#options.models ?? []).map(toModelFile);
    const gpuFiles = request.options.device === 'cpu' ? [] : this.#gpuFiles;
    const engines = gpuFiles.length > 0 ? this.#engines(mounts) : {};
    return runChild({
      plan: { ...this.#plan(mounts, request.timeoutMs), gpuFiles },
      message: { op: 'enhance', input, output, options: { ...request.options, models, ...engines } },
      result: enhanceResult,
      signal: request.signal,
      onProgress: request.onProgress,
      onStart: this.#options.onChild,
    });
  }

  get #confined(): boolean {
    return this.sandbox.kind === 'bubblewrap';
  }

  /** How the child names an input file; mounted for it when it is confined. */
  #input(path: string, mounts: Mount[]): string {
    if (!this.#confined) return path;
    mounts.push({ from: path, to: insideInput });
    return insideInput;
  }

  /** Engines for a child that sees a video: it must not leave anything there for another customer's. */
  #engines(mounts: Mount[]): { engineFolder?: string; mayWriteEngines?: boolean } {
    const folder = this.#options.enginesDir;
    if (folder === undefined) return {};
    if (this.#confined) mounts.push({ from: resolve(folder), to: insideEngines });
    return { engineFolder: this.#confined ? insideEngines : resolve(folder), mayWriteEngines: false };
  }

  #plan(mounts: Mount[], timeoutMs: number): ChildPlan {
    return planOf(this.#options, this.sandbox.kind, mounts, timeoutMs);
  }
}

/** The members that are set: JSON has no `undefined`. */
function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

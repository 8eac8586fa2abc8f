/**
 * Enhances a video, and joins the pieces of one.
 * 1. DevicePool (device-pool.ts) chooses the device.
 * 2. WarmPool (warm-pool.ts) provides a child that is ready; otherwise a new child is started.
 * 3. runChild (child-session.ts) sends the job to the child and waits for the result.
 */
import { link, realpath, rename } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { DeviceInfo, Progress } from '../../native/index.d.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { type BlockOptions, BlockReader } from './blocks.ts';
import { DevicePool } from './device-pool.ts';
import { misbehaved } from './failures.ts';
import { becomesNobody, type ChildPlan, type IsolationKind, type Mount } from './isolation.ts';
import { enhanceResult, joinResult } from './messages.ts';
import { moveOut, withOutputFolder } from './output-folder.ts';
import { insideEngines, insideInput, insideOutput, insidePieces, type MediaLogger, type MediaOptions, planOf, readableFile, silent } from './plans.ts';
import { NotBegun, runChild } from './child-session.ts';
import type { ByteSource, EngineResult, EnhanceRequest, EnhanceResult, JobOptions, JoinRequest, JoinResult, LostDevice, WarmPoolHandle, WarmPoolRequest } from './types.ts';
import type { Speeds } from './speeds.ts';
import { canBeRead, giveToChild } from './child-user.ts';
import { onSameFileSystem, type WarmChild, WarmPool } from './warm-pool.ts';
import { warmUpProfile } from './warm-up-profile.ts';
import type { AddonOptions, ToChild } from './wire.ts';

export interface EnhancerParts {
  options: MediaOptions;
  kind: IsolationKind;
  gpuFiles: string[];
  devices: () => Promise<DeviceInfo[]>;
  speeds: Speeds;
}

/** One attempt at a job: on the device of its options, from `input` into `folder`. */
interface Attempt extends Omit<EnhanceRequest, 'input'> {
  input: string | BlockReader;
  folder: string;
  onBegun: () => void;
}

/** No limits, because a job may read all of a long video. The job's timeout ends it. */
const unlimitedReads: BlockOptions = { maxTotalBytes: Infinity, maxRanges: Infinity };

const notBegun: Progress = { fraction: 0, framesDone: 0, framesPerSecond: 0, etaS: -1 };

/** Timeout in the plan of a warm child, whose job is not known yet. The job then sets its own limits. */
const warmChildTimeoutMs = 7 * 24 * 3_600_000;

function assertFileName(argument: string, name: string): void {
  if (name === basename(name) && !['', '.', '..'].includes(name)) return;
  throw new TypeError(`Expected a bare file name for ${argument} but received '${name}'`);
}

/** Runs the work with a new folder for the child's output, and keeps nothing of it but the result. */
const intoOutputFolder = <T extends { sizeBytes: number }>({ outputDir, outputName }: Pick<EnhanceRequest, 'outputDir' | 'outputName'>, work: (folder: string) => Promise<T>): Promise<T> =>
  withOutputFolder(outputDir, async (folder) => {
    const result = await work(folder);
    await moveOut(folder, { name: outputName, sizeBytes: result.sizeBytes }, outputDir);
    return result;
  });

export class Enhancer {
  readonly #parts: EnhancerParts;
  readonly #logger: MediaLogger;
  #warm: { pool: WarmPool; usesGpus: boolean } | undefined;
  /** by the value of the option `device`; a process uses one or two of them */
  readonly #devicePools = new Map<string, DevicePool>();

  constructor(parts: EnhancerParts) {
    this.#parts = parts;
    this.#logger = parts.options.logger ?? silent;
  }

  startWarmPool({ options, ...poolOptions }: WarmPoolRequest): WarmPoolHandle {
    const gpuFiles = this.#gpuFilesFor(options.device);
    const plan = (mounts: Mount[]) => this.#plan(this.#isolated ? mounts : [], warmChildTimeoutMs, gpuFiles);
    const pool = new WarmPool({ ...poolOptions, plan, logger: this.#logger });
    this.#warm = { pool, usesGpus: gpuFiles.length > 0 };
    void this.#prepareFor({ ...options }, undefined);
    return {
      get pids() {
        return pool.pids;
      },
      get ready() {
        return pool.idleProfileKeys.filter((key) => key !== '' && key === pool.profileKey).length;
      },
      close: () => {
        if (this.#warm?.pool === pool) this.#warm = undefined;
        return pool.close();
      },
    };
  }

  async enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    assertFileName('outputName', request.outputName);
    request.signal?.throwIfAborted();
    const input = await this.#input(request.input);
    await this.#parts.speeds.settle(request.options, request.signal);
    request.signal?.throwIfAborted();
    const result = await intoOutputFolder(request, (folder) => this.#runOnDevice({ ...request, input }, folder));
    await this.#prepareFor(request.options, result);
    return result;
  }

  #input(input: string | ByteSource): Promise<string> | BlockReader {
    if (typeof input === 'string') return readableFile(input);
    return new BlockReader(input, { ...this.#parts.options.remote, ...unlimitedReads });
  }

  async join(request: JoinRequest): Promise<JoinResult> {
    const { plan, pieces, piecesDir, timeoutMs, outputName, limits, signal } = request;
    for (const name of [outputName, ...pieces]) assertFileName('outputName and pieces', name);
    signal?.throwIfAborted();
    const source = await readableFile(request.sourcePath);
    const from = resolve(piecesDir);
    const isolated = this.#isolated;
    return intoOutputFolder(request, async (folder) => {
      const mounts: Mount[] = [
        { from: source, to: insideInput },
        { from, to: insidePieces },
        { from: folder, to: insideOutput, writable: true },
      ];
      const child = this.#plan(isolated ? mounts : [], timeoutMs, []);
      if (becomesNobody(child)) await giveToChild(folder);
      const message: ToChild = {
        op: 'join',
        source: isolated ? insideInput : source,
        plan,
        pieces: pieces.map((name) => join(isolated ? insidePieces : from, name)),
        output: join(isolated ? insideOutput : folder, outputName),
        options: omitUndefined({ limits }),
      };
      return runChild({ plan: child, message, result: joinResult, signal, onStart: this.#parts.options.onChild });
    });
  }

  /** The device that a job with this option would run on now. */
  nextDevice(device = 'auto'): Promise<string> {
    return this.#devicePool(device).next();
  }

  isUsable(device: string): Promise<boolean> {
    return this.#devicePool(device).isUsable();
  }

  lostDevices(device: string): LostDevice[] {
    return this.#devicePool(device).lost;
  }

  #devicePool(device = 'auto'): DevicePool {
    const known = this.#devicePools.get(device);
    if (known !== undefined) return known;
    const warn: MediaLogger['warn'] = (details, message) => this.#logger.warn(details, message);
    const hasGpu = this.#parts.gpuFiles.length > 0;
    const pool = new DevicePool({ device, hasGpu, poll: this.#parts.devices, warn });
    this.#devicePools.set(device, pool);
    return pool;
  }

  /** Runs the job on a device, and again on another one if a GPU fails. All runs share the job's timeout. The progress is that of the last run: what an earlier one did is lost. */
  #runOnDevice(request: Omit<Attempt, 'folder' | 'onBegun'>, folder: string): Promise<EnhanceResult> {
    const began = performance.now();
    let runs = 0;
    const attempt = async (device: string): Promise<EnhanceResult> => {
      if (++runs > 1) request.onProgress?.(notBegun);
      const timeoutMs = Math.max(1, Math.ceil(request.timeoutMs - (performance.now() - began)));
      let begunAt = began;
      const onBegun = () => (begunAt = performance.now());
      const options = { ...request.options, device };
      const { result, wasReady } = await this.#runInChild({ ...request, options, timeoutMs, onBegun, folder });
      return { ...result, wasReady, startMs: begunAt - began + result.startSeconds * 1000 };
    };
    // A piece from the CPU would not fit together with those from GPUs.
    const onGpusOnly = request.options.piece !== undefined;
    return this.#devicePool(request.options.device).run(attempt, request.signal, { onGpusOnly });
  }

  /** Runs the attempt in a warm child if one is ready, otherwise in a new one. */
  async #runInChild(attempt: Attempt): Promise<{ result: EngineResult; wasReady: boolean }> {
    const warm = this.#warm;
    const child = warm === undefined ? undefined : await this.#acquireFor(warm, attempt);
    if (warm !== undefined && child !== undefined) {
      try {
        return { result: await this.#runInWarmChild(child, attempt), wasReady: true };
      } catch (error) {
        if (!(error instanceof NotBegun)) throw error;
        this.#logger.warn({ stderrTail: error.message }, 'a warm media child ended before it began its job; a new one does it');
      } finally {
        await warm.pool.release(child);
      }
    }
    return { result: await this.#runInNewChild(attempt), wasReady: false };
  }

  /**
   * Acquires a warm child. If the input is a file, the child gets a hard link to it in its folder. Returns undefined:
   * - if no child is ready,
   * - if the job uses GPUs and the pool does not, or the other way round,
   * - if the folders are on different file systems, or the file system has no hard links,
   * - if the child could not read the input.
   */
  async #acquireFor({ pool, usesGpus }: { pool: WarmPool; usesGpus: boolean }, attempt: Attempt): Promise<WarmChild | undefined> {
    if (usesGpus !== this.#gpuFilesFor(attempt.options.device).length > 0) return undefined;
    if (!this.#isolated) return pool.acquire(pool.profileKey);
    const path = typeof attempt.input === 'string' ? attempt.input : undefined;
    if ((path !== undefined && !canBeRead(path)) || !(await onSameFileSystem(pool.folder, attempt.folder))) return undefined;
    const child = pool.acquire(pool.profileKey);
    if (child === undefined || path === undefined) return child;
    try {
      await link(await realpath(path), join(child.folder, 'in', basename(insideInput)));
      return child;
    } catch {
      // The input is on another file system, or its file system has no hard links.
      await pool.release(child);
      return undefined;
    }
  }

  async #runInWarmChild(child: WarmChild, attempt: Attempt): Promise<EngineResult> {
    const { outputName, timeoutMs, folder } = attempt;
    const { plan } = child.process;
    const cpuSeconds = Math.ceil((timeoutMs / 1000) * availableParallelism()) + 10;
    const result = await runChild({
      plan: { ...plan, limits: { ...plan.limits, timeoutMs } },
      waiting: child.process,
      ...this.#childCall(attempt, { cpuSeconds }),
    });
    if (this.#isolated) {
      await rename(join(child.folder, 'out', outputName), join(folder, outputName)).catch((error: unknown) => {
        throw misbehaved(error);
      });
    }
    return result;
  }

  async #runInNewChild(attempt: Attempt): Promise<EngineResult> {
    const { input, folder, timeoutMs, options } = attempt;
    const mounts: Mount[] = [{ from: folder, to: insideOutput, writable: true }];
    if (typeof input === 'string') mounts.push({ from: input, to: insideInput });
    const plan = this.#plan(this.#isolated ? mounts : [], timeoutMs, this.#gpuFilesFor(options.device));
    if (becomesNobody(plan)) await giveToChild(folder);
    return runChild({ plan, ...this.#childCall(attempt) });
  }

  /** The arguments of runChild that are the same for warm and new children. */
  #childCall({ input, folder, outputName, options, signal, onProgress, onBegun }: Attempt, limits: { cpuSeconds?: number } = {}) {
    const path = (outside: string) => (this.#isolated ? insideInput : outside);
    const childInput = typeof input === 'string' ? path(input) : { size: input.size };
    const source = typeof input === 'string' ? undefined : input;
    const output = join(this.#isolated ? insideOutput : folder, outputName);
    const message: ToChild = { op: 'enhance', input: childInput, output, options: this.#addonOptions(options), ...limits };
    return { message, result: enhanceResult, source, signal, onProgress, onBegun, onStart: this.#parts.options.onChild };
  }

  /** Prepares the warm children for a job with these options. `result` is that of the previous job. */
  async #prepareFor(options: JobOptions, result: EngineResult | undefined): Promise<void> {
    if (this.#warm === undefined) return;
    try {
      const device = await this.nextDevice(options.device);
      await this.#parts.speeds.load();
      this.#warm?.pool.prepareFor(warmUpProfile(this.#addonOptions({ ...options, device }), result));
    } catch (error) {
      this.#logger.warn({ err: error }, 'warm media children cannot be prepared');
    }
  }

  get #isolated(): boolean {
    return this.#parts.kind === 'bubblewrap';
  }

  #gpuFilesFor(device: string | undefined): string[] {
    return device === 'cpu' ? [] : this.#parts.gpuFiles;
  }

  /** Options for the addon. A child that sees a video may read engines but not write them, since other customers' jobs would load what it wrote. */
  #addonOptions(options: JobOptions): AddonOptions {
    const measured = { models: this.#parts.speeds.models(), machine: this.#parts.speeds.machine() };
    if (this.#gpuFilesFor(options.device).length === 0) return { ...options, ...measured };
    const folder = this.#parts.options.enginesDir;
    const engines = folder === undefined ? {} : { engineFolder: this.#isolated ? insideEngines : resolve(folder) };
    return { ...options, ...measured, ...engines, mayWriteEngines: false };
  }

  #plan(mounts: Mount[], timeoutMs: number, gpuFiles: string[]): ChildPlan {
    const { options, kind } = this.#parts;
    const engines = gpuFiles.length > 0 && this.#isolated && options.enginesDir !== undefined;
    const all = engines ? [...mounts, { from: resolve(options.enginesDir!), to: insideEngines }] : mounts;
    return { ...planOf(options, kind, all, timeoutMs), gpuFiles };
  }
}

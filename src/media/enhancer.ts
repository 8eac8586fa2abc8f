/** Enhancing: in a child that waited or a new one, on the device that is asked for or another. */
import { link, lstat, mkdtemp, realpath, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { DeviceInfo } from '../../native/index.d.ts';
import { becomesNobody, type ChildPlan, type Mount, type SandboxKind } from './confinement.ts';
import { isNoEngine, misbehaved } from './failures.ts';
import { forecastOf } from './forecast.ts';
import { onAnyDevice } from './gpu.ts';
import { enhanceResult } from './messages.ts';
import { toModelFile } from './models.ts';
import { DevicePlaces, isPlaced } from './places.ts';
import { insideEngines, insideInput, insideOutput, type MediaLogger, type MediaOptions, planOf, readableFile, silent } from './plans.ts';
import { NotBegun, runChild } from './session.ts';
import { onOneFileSystem, type Spare, Spares } from './spares.ts';
import type { EngineResult, EnhanceRequest, EnhanceResult, JobOptions, StandBy, StandByOptions } from './types.ts';
import { canBeRead, giveToChild, takeFromChild } from './users.ts';
import type { ToChild } from './wire.ts';

export interface EnhancerParts {
  options: MediaOptions;
  kind: SandboxKind;
  gpuFiles: string[];
  devices: () => Promise<DeviceInfo[]>;
}

type AddonOptions = Extract<ToChild, { op: 'prepare' }>['options'];
type Begun = { onBegun: () => void };

/** Longest that a spare's own ceiling of processor time lets a job be; each job's own is set when it begins. */
const longestJobMs = 7 * 24 * 3_600_000;

export class Enhancer {
  readonly #parts: EnhancerParts;
  readonly #logger: MediaLogger;
  #spares: { spares: Spares; usesGpus: boolean } | undefined;
  #places: { device: string; places: DevicePlaces } | undefined;

  constructor(parts: EnhancerParts) {
    this.#parts = parts;
    this.#logger = parts.options.logger ?? silent;
  }

  standBy({ options, ...how }: StandByOptions): StandBy {
    const gpuFiles = this.#gpuFilesFor(options.device);
    const plan = (mounts: Mount[]) => this.#plan(this.#confined ? mounts : [], longestJobMs, gpuFiles);
    const spares = new Spares({ ...how, plan, logger: this.#logger });
    this.#spares = { spares, usesGpus: gpuFiles.length > 0 };
    void this.#expect({ ...options }, undefined);
    return {
      get pids() {
        return spares.pids;
      },
      get ready() {
        return spares.readyFor.filter((key) => key !== '' && key === spares.lastKey).length;
      },
      close: () => {
        if (this.#spares?.spares === spares) this.#spares = undefined;
        return spares.close();
      },
    };
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
      const result = await this.#onAnyDevice(folder, input, request);
      const made = await lstat(join(folder, outputName)).catch((error: unknown) => {
        throw misbehaved(error);
      });
      if (!made.isFile() || made.size !== result.sizeBytes) {
        throw misbehaved(new Error('the media child told another file than it wrote'));
      }
      await takeFromChild(join(folder, outputName));
      await rename(join(folder, outputName), join(request.outputDir, outputName));
      await this.#expect(request.options, result);
      return result;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** The device that a job which names several would run on now. */
  async placed(device = 'auto'): Promise<string> {
    return isPlaced(device) ? ((await this.#placesOf(device).next()) ?? 'auto') : device;
  }

  #placesOf(device: string): DevicePlaces {
    if (this.#places?.device !== device) {
      const note = (details: object, message: string) => this.#logger.warn(details, message);
      this.#places = { device, places: new DevicePlaces({ device, look: this.#parts.devices, note }) };
    }
    return this.#places.places;
  }

  /** A second run is told as part of the same work: its progress goes on where it has caught up, its time is the rest. */
  #onAnyDevice(folder: string, inputPath: string, request: EnhanceRequest): Promise<EnhanceResult> {
    const began = performance.now();
    let reached = 0;
    const onProgress: EnhanceRequest['onProgress'] = (progress) => {
      reached = Math.max(reached, progress.fraction);
      request.onProgress?.({ ...progress, fraction: reached });
    };
    const run = async (device: string): Promise<EnhanceResult> => {
      const timeoutMs = Math.max(1, Math.ceil(request.timeoutMs - (performance.now() - began)));
      let begunAt = began;
      const onBegun = () => (begunAt = performance.now());
      const again = { ...request, timeoutMs, onProgress, onBegun, options: { ...request.options, device } };
      const { result, wasReady } = await this.#inAnyChild(folder, inputPath, again);
      return { ...result, wasReady, startMs: begunAt - began + result.startSeconds * 1000 };
    };
    return this.#onChosenDevice(run, request).catch((error: unknown) => {
      if (!isNoEngine(error) || request.signal?.aborted === true) throw error;
      this.#logger.warn({ error }, 'the GPU has no engine of the network; the video is processed on the CPU. Build it: reelmend models compile');
      return run('cpu');
    });
  }

  #onChosenDevice(run: (device: string) => Promise<EnhanceResult>, request: EnhanceRequest): Promise<EnhanceResult> {
    const device = request.options.device ?? 'auto';
    if (isPlaced(device)) return this.#placesOf(device).run(run, request.signal);
    return onAnyDevice({
      device,
      hasGpu: this.#parts.gpuFiles.length > 0,
      signal: request.signal,
      onFallback: (error) => this.#logger.warn({ error }, 'the GPU failed; the video is processed again on the CPU'),
      run,
    });
  }

  async #inAnyChild(folder: string, inputPath: string, request: EnhanceRequest & Begun): Promise<{ result: EngineResult; wasReady: boolean }> {
    const spare = await this.#spareFor(folder, inputPath, request);
    if (spare !== undefined) {
      try {
        return { result: await this.#inSpare(spare, folder, inputPath, request), wasReady: true };
      } catch (error) {
        if (!(error instanceof NotBegun)) throw error;
        this.#logger.warn({ said: error.message }, 'a spare media child ended as its job came; a new one does the job');
      } finally {
        await rm(spare.folder, { recursive: true, force: true });
      }
    }
    return { result: await this.#inNewChild(folder, inputPath, request), wasReady: false };
  }

  /**
   * A spare that sees the input: linked into its folder, not copied. None where that cannot be, where it could not read
   * the input, or where the device that is asked for is not one that spares may use.
   */
  async #spareFor(folder: string, inputPath: string, { options }: EnhanceRequest): Promise<Spare | undefined> {
    const kept = this.#spares;
    if (kept === undefined || kept.usesGpus !== this.#gpuFilesFor(options.device).length > 0) return undefined;
    if (this.#confined && !((await onOneFileSystem(kept.spares.folder, folder)) && canBeRead(inputPath))) return undefined;
    const spare = kept.spares.take(kept.spares.lastKey);
    if (spare === undefined || !this.#confined || (await this.#linked(spare, inputPath))) return spare;
    spare.process.kill();
    await rm(spare.folder, { recursive: true, force: true });
    return undefined;
  }

  async #linked(spare: Spare, inputPath: string): Promise<boolean> {
    try {
      await link(await realpath(inputPath), join(spare.folder, 'in', basename(insideInput)));
      return true;
    } catch {
      return false; // another file system, or one without links
    }
  }

  async #inSpare(spare: Spare, folder: string, inputPath: string, request: EnhanceRequest & Begun): Promise<EngineResult> {
    const { outputName, timeoutMs } = request;
    const plan = spare.process.plan;
    const result = await runChild({
      plan: { ...plan, limits: { ...plan.limits, timeoutMs } },
      waiting: spare.process,
      message: {
        op: 'enhance',
        input: this.#confined ? insideInput : inputPath,
        output: join(this.#confined ? insideOutput : folder, outputName),
        options: this.#addonOptions(request.options),
        cpuSeconds: Math.ceil((timeoutMs / 1000) * availableParallelism()) + 10,
      },
      ...this.#watching(request),
    });
    if (this.#confined) {
      await rename(join(spare.folder, 'out', outputName), join(folder, outputName)).catch((error: unknown) => {
        throw misbehaved(error);
      });
    }
    return result;
  }

  async #inNewChild(folder: string, inputPath: string, request: EnhanceRequest & Begun): Promise<EngineResult> {
    const mounts: Mount[] = [
      { from: inputPath, to: insideInput },
      { from: folder, to: insideOutput, writable: true },
    ];
    const plan = this.#plan(this.#confined ? mounts : [], request.timeoutMs, this.#gpuFilesFor(request.options.device));
    if (becomesNobody(plan)) await giveToChild(folder);
    return runChild({
      plan,
      message: {
        op: 'enhance',
        input: this.#confined ? insideInput : inputPath,
        output: join(this.#confined ? insideOutput : folder, request.outputName),
        options: this.#addonOptions(request.options),
      },
      ...this.#watching(request),
    });
  }

  #watching({ signal, onProgress, onBegun }: EnhanceRequest & Begun) {
    return { result: enhanceResult, signal, onProgress, onBegun, onStart: this.#parts.options.onChild };
  }

  /** What spares are made ready for: a job like the one that was just done. */
  async #expect(options: JobOptions, result: EngineResult | undefined): Promise<void> {
    if (this.#spares === undefined) return;
    try {
      const device = await this.placed(options.device);
      this.#spares?.spares.expect(forecastOf(this.#addonOptions({ ...options, device }), result));
    } catch (error) {
      this.#logger.warn({ err: error }, 'spare media children are not made ready');
    }
  }

  get #confined(): boolean {
    return this.#parts.kind === 'bubblewrap';
  }

  #gpuFilesFor(device: string | undefined): string[] {
    return device === 'cpu' ? [] : this.#parts.gpuFiles;
  }

  /** Engines are read and never written by a child that sees a video: it must not leave anything for another customer's. */
  #addonOptions(options: JobOptions): AddonOptions {
    const models = (this.#parts.options.models ?? []).map(toModelFile);
    if (this.#gpuFilesFor(options.device).length === 0) return { ...options, models };
    const folder = this.#parts.options.enginesDir;
    const engines = folder === undefined ? {} : { engineFolder: this.#confined ? insideEngines : resolve(folder) };
    return { ...options, models, ...engines, mayWriteEngines: false };
  }

  #plan(mounts: Mount[], timeoutMs: number, gpuFiles: string[]): ChildPlan {
    const { options, kind } = this.#parts;
    const engines = gpuFiles.length > 0 && this.#confined && options.enginesDir !== undefined;
    const all = engines ? [...mounts, { from: resolve(options.enginesDir!), to: insideEngines }] : mounts;
    return { ...planOf(options, kind, all, timeoutMs), gpuFiles };
  }
}

/** Probes and enhances videos in isolated child processes. The interface is described in types.ts. */
import { access, mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { FairSemaphore } from '../domain/fair-semaphore.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { addonFile, projectRoot } from './addon.ts';
import { BlockReader } from './blocks.ts';
import { withEngineFolder } from './engine-folder.ts';
import { becomesNobody, type ChildPlan, type IsolationKind, type Mount } from './isolation.ts';
import { Enhancer } from './enhancer.ts';
import { timedOut } from './failures.ts';
import { findGpuFiles } from './gpu.ts';
import { compiledEngines, deviceList, engineVersion, enhancePlan, modelReport, probeResult, segmentPlan } from './messages.ts';
import { insideEngines, insideInput, type MediaOptions, planOf, readableFile, silent } from './plans.ts';
import { takePictures } from './pictures.ts';
import { runChild } from './child-session.ts';
import { Speeds } from './speeds.ts';
import type {
  CheckModelRequest,
  CompiledEngine,
  CompileModelRequest,
  EnhancePlan,
  EnhanceRequest,
  EnhanceResult,
  JoinRequest,
  JoinResult,
  MachineSpeeds,
  MeasureOptions,
  Media,
  ModelFile,
  ModelReport,
  Picture,
  PicturesRequest,
  PlanRequest,
  PlanSegmentsRequest,
  ProbeRequest,
  ProbeResult,
  SegmentPlan,
  WarmPoolHandle,
  WarmPoolRequest,
} from './types.ts';

export type * from './types.ts';

export type { MediaLogger, MediaOptions } from './plans.ts';

const helloTimeoutMs = 20_000;
const devicesTimeoutMs = 30_000;
const insideModel = '/in/model.onnx';

/** Tries the isolation by running a child. Rejects when it is required and impossible, or when the addon is not built. */
export async function createMedia(options: MediaOptions = {}): Promise<Media> {
  const logger = options.logger ?? silent;
  await access(projectRoot + addonFile).catch(() => {
    throw new Error(`The addon ${addonFile} is not built; run scripts/build-native.`);
  });
  if (options.enginesDir !== undefined) await mkdir(options.enginesDir, { recursive: true });
  const isolation = await chooseIsolation(options);
  if (isolation.kind === 'bubblewrap') logger.info({ isolation }, 'media children run in bubblewrap');
  else logger.warn({ isolation }, 'media children run WITHOUT isolation: they have only an empty environment and resource limits');
  return new ChildMedia(options, { isolation, engine: await readVersion(options, isolation.kind) });
}

function readVersion(options: MediaOptions, kind: IsolationKind): Promise<string> {
  const plan = planOf(options, kind, [], helloTimeoutMs);
  return runChild({ plan, message: { op: 'version' }, result: engineVersion }).catch((error: unknown) => {
    throw new Error(`The engine cannot be loaded: ${reasonOf(error)}`, { cause: error });
  });
}

async function chooseIsolation(options: MediaOptions): Promise<Media['isolation']> {
  const hello = (kind: IsolationKind) => {
    const plan = planOf(options, kind, [], helloTimeoutMs);
    return runChild({ plan, message: { op: 'hello' }, result: z.literal('hello') });
  };
  try {
    await hello('bubblewrap');
    return { kind: 'bubblewrap', reason: '' };
  } catch (error) {
    const reason = reasonOf(error);
    if (options.requireIsolation === true) {
      throw new Error(`Isolation is required but bubblewrap cannot run here: ${reason}`, { cause: error });
    }
    // If a plain child cannot run either, bubblewrap is not the reason.
    await hello('none').catch((cause: unknown) => {
      throw new Error(`Media children cannot run here: ${reasonOf(cause)}`, { cause });
    });
    return { kind: 'none', reason };
  }
}

/** The innermost cause tells what happened; the public sentence does not. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

class ChildMedia implements Media {
  readonly isolation: Media['isolation'];
  readonly engine: string;
  readonly #options: MediaOptions;
  /** Limits the children that probe. Accounts have slots of their own before (`measureSlots` in app/measure.ts). */
  readonly #probes: FairSemaphore;
  readonly #gpuFiles: string[];
  readonly #enhancer: Enhancer;
  readonly #speeds: Speeds;

  constructor(options: MediaOptions, { isolation, engine }: Pick<Media, 'isolation' | 'engine'>) {
    this.#options = options;
    this.#gpuFiles = options.gpuFiles ?? findGpuFiles();
    this.#speeds = new Speeds({
      options: options.speeds,
      models: options.models ?? [],
      checkModel: (request) => this.checkModel(request),
      enhance: (request) => this.enhance(request),
      logger: options.logger ?? silent,
      hasGpu: this.hasGpu,
    });
    this.#enhancer = new Enhancer({ options, kind: isolation.kind, gpuFiles: this.#gpuFiles, devices: () => this.devices(), speeds: this.#speeds });
    this.#probes = new FairSemaphore({ total: options.maxProbes ?? Math.max(4, 2 * availableParallelism()) });
    this.isolation = isolation;
    this.engine = engine;
  }

  /** The time limit includes the wait for a slot, as the client waits for both. */
  async probe(request: ProbeRequest): Promise<ProbeResult> {
    const late = AbortSignal.timeout(request.timeoutMs);
    const began = performance.now();
    const signal = request.signal === undefined ? late : AbortSignal.any([request.signal, late]);
    const work = () => this.#probe(request, Math.max(1, Math.ceil(request.timeoutMs - (performance.now() - began))));
    return this.#probes.run('probe', work, signal).catch((error: unknown) => {
      throw error === late.reason ? timedOut(request.timeoutMs) : error;
    });
  }

  async #probe(request: ProbeRequest, timeoutMs: number): Promise<ProbeResult> {
    const { source, limits, walkPackets, decodingThreads, signal } = request;
    const mounts: Mount[] = [];
    let childSource: { path: string } | { size: number };
    let served: BlockReader | undefined;
    if ('path' in source) {
      childSource = { path: this.#input(await readableFile(source.path), mounts) };
    } else {
      childSource = { size: source.size };
      served = new BlockReader(source, this.#options.remote);
    }
    return runChild({
      plan: this.#plan(mounts, timeoutMs),
      message: { op: 'probe', source: childSource, ...omitUndefined({ limits, walkPackets, decodingThreads }) },
      result: probeResult,
      source: served,
      signal,
      onStart: this.#options.onChild,
    });
  }

  enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    return this.#enhancer.enhance(request);
  }

  startWarmPool(request: WarmPoolRequest): WarmPoolHandle {
    return this.#enhancer.startWarmPool(request);
  }

  async plan(request: PlanRequest): Promise<EnhancePlan> {
    const { call, input, options } = await this.#planning(request);
    return runChild({ ...call, message: { op: 'plan', input, options }, result: enhancePlan });
  }

  async planSegments({ lengths, ...request }: PlanSegmentsRequest): Promise<SegmentPlan> {
    const { call, input, options } = await this.#planning(request);
    const message = { op: 'plan-segments' as const, input, options: { ...options, ...omitUndefined({ lengths }) } };
    return runChild({ ...call, message, result: segmentPlan });
  }

  /** What both kinds of plan have in common. */
  async #planning(request: PlanRequest) {
    const mounts: Mount[] = [];
    const input = this.#input(await readableFile(request.inputPath), mounts);
    await this.#speeds.settle(request.options, request.signal);
    const known = { models: this.#speeds.models(), machine: this.#speeds.machine() };
    const device = await this.#enhancer.nextDevice(request.options.device);
    const gpuFiles = device === 'cpu' ? [] : this.#gpuFiles;
    const plan = { ...this.#plan(mounts, request.timeoutMs), gpuFiles };
    const call = { plan, signal: request.signal, onStart: this.#options.onChild };
    return { call, input, options: { ...request.options, device, ...known } };
  }

  join(request: JoinRequest): Promise<JoinResult> {
    return this.#enhancer.join(request);
  }

  takePictures(request: PicturesRequest): Promise<Picture[]> {
    const plan = (mounts: Mount[], timeoutMs: number) => this.#plan(mounts, timeoutMs);
    return takePictures({ isolated: this.#isolated, plan, onStart: this.#options.onChild }, request);
  }

  isUsable(device: string) {
    return this.#enhancer.isUsable(device);
  }

  lostDevices(device: string) {
    return this.#enhancer.lostDevices(device);
  }

  get hasGpu() {
    return this.#gpuFiles.length > 0;
  }

  devices() {
    return runChild({
      plan: { ...this.#plan([], devicesTimeoutMs), gpuFiles: this.#gpuFiles },
      message: { op: 'devices' },
      result: deviceList,
      onStart: this.#options.onChild,
    });
  }

  speeds(options?: MeasureOptions): Promise<MachineSpeeds | undefined> {
    return this.#speeds.measure(options);
  }

  checkModel(request: CheckModelRequest): Promise<ModelReport> {
    const mounts: Mount[] = [];
    const model = this.#model(request.model, mounts);
    return runChild({
      plan: this.#plan(mounts, request.timeoutMs),
      message: { op: 'check-model', model, trial: request.trial ?? {} },
      result: modelReport,
      signal: request.signal,
      onStart: this.#options.onChild,
    });
  }

  async compileModel(request: CompileModelRequest): Promise<CompiledEngine[]> {
    const folder = resolve(request.folder);
    await mkdir(folder, { recursive: true });
    const compile = (into: string) => this.#compileInto(into, request);
    return becomesNobody(this.#plan([], request.timeoutMs)) ? withEngineFolder(folder, compile) : compile(folder);
  }

  #compileInto(folder: string, { model: file, width, height, timeoutMs, signal }: CompileModelRequest): Promise<CompiledEngine[]> {
    const mounts: Mount[] = this.#isolated ? [{ from: folder, to: insideEngines, writable: true }] : [];
    const model = this.#model(file, mounts);
    return runChild({
      plan: { ...this.#plan(mounts, timeoutMs), gpuFiles: this.#gpuFiles },
      message: { op: 'compile-model', model, request: { folder: this.#isolated ? insideEngines : folder, width, height } },
      result: compiledEngines,
      signal,
      onStart: this.#options.onChild,
    });
  }

  get #isolated(): boolean {
    return this.isolation.kind === 'bubblewrap';
  }

  /** The path of an input file in the child; an isolated child gets a mount of it. */
  #input(path: string, mounts: Mount[], inside = insideInput): string {
    if (!this.#isolated) return path;
    mounts.push({ from: path, to: inside });
    return inside;
  }

  /** The same for a network. */
  #model(model: ModelFile, mounts: Mount[]): ModelFile {
    return { ...model, path: this.#input(resolve(model.path), mounts, insideModel) };
  }

  #plan(mounts: Mount[], timeoutMs: number): ChildPlan {
    return planOf(this.#options, this.isolation.kind, mounts, timeoutMs);
  }
}

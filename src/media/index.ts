/** Probing and enhancing videos in confined child processes; the manual is in types.ts. */
import { access, mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { FairSemaphore } from '../domain/fair-semaphore.ts';
import { addonFile, projectRoot } from './addon.ts';
import { BlockReader } from './blocks.ts';
import type { ChildPlan, Mount, SandboxKind } from './confinement.ts';
import { Enhancer } from './enhancer.ts';
import { timedOut } from './failures.ts';
import { findGpuFiles } from './gpu.ts';
import { compiledEngines, deviceList, enhancePlan, modelReport, probeResult } from './messages.ts';
import { toModelFile } from './models.ts';
import { given, insideEngines, insideInput, type MediaOptions, planOf, readableFile, silent } from './plans.ts';
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
  StandBy,
  StandByOptions,
} from './types.ts';

export type * from './types.ts';

export type { MediaLogger, MediaOptions } from './plans.ts';

const helloTimeoutMs = 20_000;
const devicesTimeoutMs = 30_000;
const insideModel = '/in/model.onnx';

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

class ChildMedia implements Media {
  readonly sandbox: Media['sandbox'];
  readonly #options: MediaOptions;
  readonly #probes: FairSemaphore;
  readonly #gpuFiles: string[];
  readonly #enhancer: Enhancer;

  constructor(options: MediaOptions, sandbox: Media['sandbox']) {
    this.#options = options;
    this.#gpuFiles = options.gpuFiles ?? findGpuFiles();
    this.#enhancer = new Enhancer({ options, kind: sandbox.kind, gpuFiles: this.#gpuFiles, devices: () => this.devices() });
    this.#probes = new FairSemaphore({ total: options.maxProbes ?? Math.max(4, 2 * availableParallelism()) });
    this.sandbox = sandbox;
  }

  /** Waiting for a slot counts towards the time limit, which is what a client waits for. */
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

  enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    return this.#enhancer.enhance(request);
  }

  standBy(options: StandByOptions): StandBy {
    return this.#enhancer.standBy(options);
  }

  async plan(request: PlanRequest): Promise<EnhancePlan> {
    const mounts: Mount[] = [];
    const input = this.#input(await readableFile(request.inputPath), mounts);
    const models = (this.#options.models ?? []).map(toModelFile);
    const device = await this.#enhancer.placed(request.options.device);
    const gpuFiles = device === 'cpu' ? [] : this.#gpuFiles;
    return runChild({
      plan: { ...this.#plan(mounts, request.timeoutMs), gpuFiles },
      message: { op: 'plan', input, options: { ...request.options, device, models } },
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

  get #confined(): boolean {
    return this.sandbox.kind === 'bubblewrap';
  }

  /** How the child names an input file; mounted for it when it is confined. */
  #input(path: string, mounts: Mount[]): string {
    if (!this.#confined) return path;
    mounts.push({ from: path, to: insideInput });
    return insideInput;
  }

  #plan(mounts: Mount[], timeoutMs: number): ChildPlan {
    return planOf(this.#options, this.sandbox.kind, mounts, timeoutMs);
  }
}

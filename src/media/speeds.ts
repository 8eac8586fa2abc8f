/**
 * Measures how fast this machine's CPU runs the networks that `auto` chooses among. The results are measured once, stored in a
 * file, and shared with machines of the same kind. Each job gets them with its networks, so that the engine's choice depends on
 * them alone; the engine measures nothing itself.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { EnhanceOptions, ModelFile } from '../../native/index.d.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { addonFile, projectRoot } from './addon.ts';
import { removeLeftOver } from './left-over.ts';
import { type InstalledModel, tolerableLossDb, toModelFile } from './models.ts';
import type { MediaLogger, SpeedOptions } from './plans.ts';
import type { CheckModelRequest, EnhanceRequest, EnhanceResult, JobOptions, MachineSpeeds, MeasureOptions, ModelReport } from './types.ts';

interface Processor {
  name: string;
  /** vendors give many generations the same name */
  generation: string;
  features: string[];
}

export interface SpeedParts {
  options: SpeedOptions | undefined;
  models: readonly InstalledModel[];
  checkModel: (request: CheckModelRequest) => Promise<ModelReport>;
  enhance: (request: EnhanceRequest) => Promise<EnhanceResult>;
  logger: MediaLogger;
  hasGpu: boolean;
  /** identifies the processor; default: reads /proc/cpuinfo */
  processor?: () => Promise<Processor>;
  /** the addon's file; default: the installed one */
  engine?: string;
}

/** The networks that the engine's automatic choice knows (plan/speed_choice.cc). */
const automatic = new Set(['detail-best', 'detail-large', 'detail', 'quality', 'fast']);
const trial = { width: 480, height: 270, frames: 3, rounds: 20 };
const trialTimeoutMs = 5 * 60_000;
const folderPrefix = 'reelmend-speed-';
/** Flags of /proc/cpuinfo that decide how fast networks run. */
const features = ['avx2', 'avx512f', 'avx_vnni', 'avx512_vnni', 'avx512_bf16', 'amx_bf16', 'amx_int8'];

const positive = z.number().positive().max(1e9);
const storedSpeeds = z.object({
  version: z.literal(1),
  key: z.string(),
  measuredAt: z.string(),
  processor: z.string(),
  threads: z.number().int().min(1),
  otherMsPerMegapixel: positive,
  networks: z
    .array(
      z.object({
        name: z.string(),
        scale: z.number().int(),
        file: z.string(),
        precision: z.string(),
        msPerMegapixel: positive,
        sha256: z.string(),
      }),
    )
    .min(1),
});
type StoredSpeeds = z.infer<typeof storedSpeeds>;

/** Whether jobs for this device (`auto`, `cpu`, `cuda:N` …) run on the CPU. */
export const runsOnCpu = (device: string, hasGpu: boolean): boolean => device === 'cpu' || (device === 'auto' && !hasGpu);

/** One measurement for all that wait for it. */
interface Measurement {
  done: Promise<void>;
  waiting: number;
  abort: AbortController;
}

export class Speeds {
  readonly #parts: SpeedParts;
  readonly #checksums = new Map<string, string>();
  #loading: Promise<void> | undefined;
  #measurement: Measurement | undefined;
  /** the results for this machine and these networks, once they are loaded or measured */
  #speeds: StoredSpeeds | undefined;

  constructor(parts: SpeedParts) {
    this.#parts = { ...parts, logger: parts.options?.logger ?? parts.logger };
  }

  /** The installed networks for the addon, with their measured times if there are any. */
  models(): ModelFile[] {
    return this.#parts.models.map((model) => {
      const sha256 = this.#checksums.get(model.path);
      const measured = this.#speeds?.networks.find((network) => network.sha256 === sha256);
      return { ...toModelFile(model), ...omitUndefined({ msPerMegapixel: measured?.msPerMegapixel }) };
    });
  }

  /** The measured time of everything but the network, if there is one, and the minimum speed (REELMEND_MIN_SPEED). */
  machine(): NonNullable<EnhanceOptions['machine']> {
    const floor = this.#parts.options?.floor;
    return omitUndefined({
      otherMsPerMegapixel: this.#speeds?.otherMsPerMegapixel,
      minFramesPerSecond: floor?.framesPerSecond,
      minTimesLength: floor?.timesLength,
    });
  }

  /** To be awaited before a job. Loads the stored results; if the choice of the job's network depends on them and there are none, measures. */
  async settle({ model = 'auto', device = 'auto', piece }: Pick<JobOptions, 'model' | 'device' | 'piece'>, signal?: AbortSignal): Promise<void> {
    await this.load();
    const choosesBySpeed = model === 'auto' && piece === undefined && runsOnCpu(device, this.#parts.hasGpu);
    if (this.#parts.options?.floor !== undefined && choosesBySpeed) await this.measure({ signal });
  }

  /** Loads the stored results, once. Does not reject. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'what is known of the speed of the networks cannot be read');
    });
    return this.#loading;
  }

  /**
   * Returns the results. Measures now if none are stored for this machine and these networks, or `again`; undefined if that is impossible.
   * If the repeated measurement fails, the earlier results stay.
   */
  async measure({ signal, again = false }: MeasureOptions = {}): Promise<MachineSpeeds | undefined> {
    await this.load();
    // What is known was measured before, so no measurement is under way that another would disturb.
    if (again && this.#speeds !== undefined) this.#measurement = undefined;
    if ((again || this.#speeds === undefined) && this.#parts.options !== undefined) {
      await this.#waitForMeasurement(this.#parts.options, signal);
    }
    if (this.#speeds === undefined) return undefined;
    const { measuredAt, processor, threads, otherMsPerMegapixel, networks } = this.#speeds;
    return { measuredAt, processor, threads, otherMsPerMegapixel, networks: networks.map(({ sha256: _, ...network }) => network) };
  }

  /** A measurement ends early when all that wait for it are aborted. */
  async #waitForMeasurement(options: SpeedOptions, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const measurement = (this.#measurement ??= this.#beginMeasurement(options));
    measurement.waiting += 1;
    const aborted = Promise.withResolvers<never>();
    const leave = () => {
      aborted.reject(signal?.reason);
      if (--measurement.waiting > 0) return;
      measurement.abort.abort(signal?.reason);
      this.#measurement = undefined;
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await Promise.race([measurement.done, aborted.promise]);
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #beginMeasurement(options: SpeedOptions): Measurement {
    const abort = new AbortController();
    const done = this.#measureAll(options, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) this.#parts.logger.warn({ err: error }, 'the speed of the networks cannot be measured; auto chooses without it');
    });
    return { done, waiting: 0, abort };
  }

  /** The networks that `auto` may choose here. An int8 file that loses too much quality is not one of them. */
  get #candidates(): InstalledModel[] {
    return this.#parts.models.filter((model) => automatic.has(model.name) && model.layout !== 'face' && (model.lossDb ?? 0) <= tolerableLossDb);
  }

  async #load(): Promise<void> {
    const { options } = this.#parts;
    if (options === undefined) return;
    // Here, not in #measureAll: a process that measures again at once finds the folder too young, and later ones measure nothing.
    await removeLeftOver(tmpdir(), folderPrefix, 2 * trialTimeoutMs).catch(() => {});
    for (const { path, sha256 } of this.#candidates) {
      this.#checksums.set(path, sha256 ?? (await checksum(path)));
    }
    const key = await this.#key(options);
    const stored = parse(await readFile(options.file, 'utf8').catch(() => ''));
    if (stored?.key === key) {
      this.#speeds = stored;
      return;
    }
    const shared = storedSpeeds.safeParse(await options.shared?.find(key)).data;
    if (shared?.key !== key) return;
    this.#speeds = shared;
    await this.#write(options.file, shared);
  }

  async #processor() {
    return (this.#parts.processor ?? readProcessor)();
  }

  /** A hash of everything that the results depend on. Stored results with another key are ignored. */
  async #key({ threads, encoder }: SpeedOptions): Promise<string> {
    // By content: each machine that builds the addon has a file of another time.
    const engine = await checksum(this.#parts.engine ?? projectRoot + addonFile);
    const networks = this.#candidates.map(({ path, allowBf16 }) => [this.#checksums.get(path), allowBf16]).toSorted();
    const facts = { processor: await this.#processor(), threads, encoder, engine, networks, trial };
    return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  }

  async #measureAll(options: SpeedOptions, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    this.#parts.logger.info({}, 'measures the speed of the networks on this machine, once; this takes up to a minute');
    const networks: StoredSpeeds['networks'] = [];
    for (const model of this.#candidates) {
      const sha256 = this.#checksums.get(model.path)!;
      const same = networks.find((network) => network.sha256 === sha256);
      const measured = same ?? (await this.#measureOne(model, options.threads, signal));
      if (measured === undefined) continue;
      networks.push({ name: model.name, scale: model.scale, file: model.precision, precision: measured.precision, msPerMegapixel: measured.msPerMegapixel, sha256 });
    }
    if (networks.length === 0) return;
    const otherMsPerMegapixel = await this.#measureOther(options, signal);
    const { name: processor } = await this.#processor();
    const key = await this.#key(options);
    this.#speeds = { version: 1, key, measuredAt: new Date().toISOString(), processor, threads: options.threads, otherMsPerMegapixel, networks };
    const seconds = Math.round((performance.now() - began) / 1000);
    this.#parts.logger.info({ processor, threads: options.threads, networks: networks.length, seconds }, 'the speed of the networks was measured');
    await this.#write(options.file, this.#speeds);
    await options.shared?.keep(key, this.#speeds).catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'the measured speed of the networks cannot be shared; machines of this kind measure it again');
    });
  }

  /** Returns undefined for a network that cannot run here. It then gets no result; a job that names it reports the error. */
  async #measureOne(model: InstalledModel, threads: number, signal: AbortSignal) {
    try {
      const report = await this.#parts.checkModel({ model: toModelFile(model), trial: { ...trial, threads }, timeoutMs: trialTimeoutMs, signal });
      return { precision: report.precision, msPerMegapixel: round(report.msPerFrame / megapixels(trial)) };
    } catch (error) {
      signal.throwIfAborted();
      this.#parts.logger.warn({ err: error, model: model.name, file: model.path }, 'the speed of a network cannot be measured');
      return undefined;
    }
  }

  /**
   * Measures one second of the sample without a network: ms for decoding, filters and encoding of a frame, per megapixel of output.
   * Face restoration is off, because its time depends on the number of faces in a video.
   */
  async #measureOther({ sample, threads, encoder }: SpeedOptions, signal: AbortSignal): Promise<number> {
    const outputDir = await mkdtemp(join(tmpdir(), folderPrefix));
    try {
      const plain = { model: 'none', faceRestoration: 'off' as const, device: 'cpu', segment: { startS: 0, endS: 1 } };
      const options = { target: '1080p' as const, ...plain, threads, encoder };
      const result = await this.#parts.enhance({ input: sample, outputDir, outputName: 'out.mp4', options, timeoutMs: trialTimeoutMs, signal });
      const frameMs = (1000 * Math.max(0, result.wallSeconds - result.startSeconds)) / Math.max(1, result.frames);
      return round(frameMs / megapixels(result));
    } finally {
      await rm(outputDir, { recursive: true, force: true });
    }
  }

  /** Writes the file atomically, so that a reader in another process never sees an incomplete one. */
  async #write(file: string, speeds: StoredSpeeds): Promise<void> {
    const temporary = `${file}.${randomUUID()}`;
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(temporary, `${JSON.stringify(speeds, null, 2)}\n`);
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      this.#parts.logger.warn({ err: error, file }, 'the measured speed of the networks cannot be kept; each process measures it again');
    }
  }
}

const checksum = async (path: string) => createHash('sha256').update(await readFile(path)).digest('hex');

function parse(text: string): StoredSpeeds | undefined {
  try {
    return storedSpeeds.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const megapixels = ({ width, height }: { width: number; height: number }) => (width * height) / 1e6;
/** Rounds to three decimals. Never returns 0, because 0 means that nothing was measured. */
const round = (value: number) => Math.max(0.001, Math.round(value * 1000) / 1000);

async function readProcessor(): Promise<Processor> {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  const read = (name: string) => new RegExp(String.raw`^${name}\s*:(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  const flags = new Set(read('flags').split(' '));
  const generation = ['cpu family', 'model', 'stepping'].map(read).join('/');
  return { name: cpus()[0]?.model ?? 'processor', generation, features: features.filter((name) => flags.has(name)) };
}

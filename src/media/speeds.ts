/**
 * What this machine's CPU makes of the networks that `auto` chooses among. It is measured once and kept in a file; a job gets
 * the figures with its networks, so that the engine's choice depends on them alone and times nothing itself.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { EnhanceOptions, ModelFile } from '../../native/index.d.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { addonFile, projectRoot } from './addon.ts';
import { type InstalledModel, tolerableLossDb, toModelFile } from './models.ts';
import type { MediaLogger, SpeedOptions } from './plans.ts';
import type { CheckModelRequest, EnhanceRequest, EnhanceResult, JobOptions, MachineSpeeds, ModelReport } from './types.ts';

export interface SpeedParts {
  options: SpeedOptions | undefined;
  models: readonly InstalledModel[];
  checkModel: (request: CheckModelRequest) => Promise<ModelReport>;
  enhance: (request: EnhanceRequest) => Promise<EnhanceResult>;
  logger: MediaLogger;
  /** what tells one processor from another */
  processor?: () => Promise<{ name: string; features: string[] }>;
}

/** The networks that the engine's automatic choice knows (plan/speed_choice.cc). */
const automatic = new Set(['detail-large', 'detail', 'quality', 'fast']);
const trial = { width: 480, height: 270, frames: 3, rounds: 20 };
const trialTimeoutMs = 5 * 60_000;
/** What the processor has for networks. */
const features = ['avx2', 'avx512f', 'avx_vnni', 'avx512_vnni', 'avx512_bf16', 'amx_bf16', 'amx_int8'];

const positive = z.number().positive().max(1e9);
const keptFile = z.object({
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
type Kept = z.infer<typeof keptFile>;

export class Speeds {
  readonly #parts: SpeedParts;
  readonly #checksums = new Map<string, string>();
  #read: Promise<void> | undefined;
  #measuring: Promise<void> | undefined;
  #known: Kept | undefined;

  constructor(parts: SpeedParts) {
    this.#parts = { ...parts, logger: parts.options?.logger ?? parts.logger };
  }

  /** The installed networks for the addon, with figures as far as they are known. */
  models(): ModelFile[] {
    return this.#parts.models.map((model) => {
      const sha256 = this.#checksums.get(model.path);
      const known = this.#known?.networks.find((network) => network.sha256 === sha256);
      return { ...toModelFile(model), ...omitUndefined({ msPerMegapixel: known?.msPerMegapixel }) };
    });
  }

  machine(): NonNullable<EnhanceOptions['machine']> {
    const floor = this.#parts.options?.floor;
    return omitUndefined({
      otherMsPerMegapixel: this.#known?.otherMsPerMegapixel,
      minFramesPerSecond: floor?.framesPerSecond,
      minTimesLength: floor?.timesLength,
    });
  }

  /** Before a job: reads what is kept, and measures first where the job's network depends on it. */
  async settle({ model = 'auto', device = 'auto', piece }: Pick<JobOptions, 'model' | 'device' | 'piece'>): Promise<void> {
    await this.load();
    const isOpen = model === 'auto' && piece === undefined && !device.startsWith('cuda');
    if (this.#parts.options?.floor !== undefined && isOpen) await this.measure();
  }

  /** Reads what is kept. */
  load(): Promise<void> {
    this.#read ??= this.#load().catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'what is known of the speed of the networks cannot be read');
    });
    return this.#read;
  }

  /** The figures, measured now if none are kept for this machine and these networks; undefined where that is impossible. */
  async measure(): Promise<MachineSpeeds | undefined> {
    await this.load();
    if (this.#known === undefined && this.#parts.options !== undefined) {
      this.#measuring ??= this.#measureAll(this.#parts.options).catch((error: unknown) => {
        this.#parts.logger.warn({ err: error }, 'the speed of the networks cannot be measured; auto chooses without it');
      });
      await this.#measuring;
    }
    if (this.#known === undefined) return undefined;
    const { measuredAt, processor, threads, otherMsPerMegapixel, networks } = this.#known;
    return { measuredAt, processor, threads, otherMsPerMegapixel, networks: networks.map(({ sha256: _, ...network }) => network) };
  }

  /** Those that `auto` may run here: an int8 network that loses too much is none of them. */
  get #candidates(): InstalledModel[] {
    return this.#parts.models.filter((model) => automatic.has(model.name) && model.layout !== 'face' && (model.lossDb ?? 0) <= tolerableLossDb);
  }

  async #load(): Promise<void> {
    const { options } = this.#parts;
    if (options === undefined) return;
    for (const { path, sha256 } of this.#candidates) {
      this.#checksums.set(path, sha256 ?? createHash('sha256').update(await readFile(path)).digest('hex'));
    }
    const text = await readFile(options.file, 'utf8').catch(() => '');
    const found = parse(text);
    if (found !== undefined && found.key === (await this.#key(options))) this.#known = found;
  }

  async #processor() {
    return (this.#parts.processor ?? readProcessor)();
  }

  /** Other figures than those of this key are of no use. */
  async #key({ threads, encoder }: SpeedOptions): Promise<string> {
    const addon = await stat(projectRoot + addonFile);
    const engine = [addon.size, Math.floor(addon.mtimeMs)];
    const networks = this.#candidates.map(({ path, allowBf16 }) => [this.#checksums.get(path), allowBf16]).toSorted();
    const facts = { processor: await this.#processor(), threads, encoder, engine, networks, trial };
    return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  }

  async #measureAll(options: SpeedOptions): Promise<void> {
    const began = performance.now();
    const networks: Kept['networks'] = [];
    for (const model of this.#candidates) {
      const sha256 = this.#checksums.get(model.path)!;
      const same = networks.find((network) => network.sha256 === sha256);
      const measured = same ?? (await this.#measureOne(model, options.threads));
      if (measured === undefined) continue;
      networks.push({ name: model.name, scale: model.scale, file: model.precision, precision: measured.precision, msPerMegapixel: measured.msPerMegapixel, sha256 });
    }
    if (networks.length === 0) return;
    const otherMsPerMegapixel = await this.#measureOther(options);
    const { name: processor } = await this.#processor();
    const key = await this.#key(options);
    this.#known = { version: 1, key, measuredAt: new Date().toISOString(), processor, threads: options.threads, otherMsPerMegapixel, networks };
    const seconds = Math.round((performance.now() - began) / 1000);
    this.#parts.logger.info({ processor, threads: options.threads, networks: networks.length, seconds }, 'the speed of the networks was measured');
    await this.#keep(options.file, this.#known);
  }

  /** A network that cannot run here is none to choose; jobs say what is wrong with it. */
  async #measureOne(model: InstalledModel, threads: number) {
    try {
      const report = await this.#parts.checkModel({ model: toModelFile(model), trial: { ...trial, threads }, timeoutMs: trialTimeoutMs });
      return { precision: report.precision, msPerMegapixel: round(report.msPerFrame / megapixels(trial)) };
    } catch (error) {
      this.#parts.logger.warn({ err: error, model: model.name, file: model.path }, 'the speed of a network cannot be measured');
      return undefined;
    }
  }

  /**
   * One second of the sample without a network: decoding, filters and encoding of a frame, by the size of the output. What faces
   * take depends on how many a video has, so they are left out.
   */
  async #measureOther({ sample, threads, encoder }: SpeedOptions): Promise<number> {
    const outputDir = await mkdtemp(join(tmpdir(), 'reelmend-speed-'));
    try {
      const plain = { model: 'none', faceRestoration: 'off' as const, device: 'cpu', segment: { startS: 0, endS: 1 } };
      const options = { target: '1080p' as const, ...plain, threads, encoder };
      const result = await this.#parts.enhance({ input: sample, outputDir, outputName: 'out.mp4', options, timeoutMs: trialTimeoutMs });
      const frameMs = (1000 * Math.max(0, result.wallSeconds - result.startSeconds)) / Math.max(1, result.frames);
      return round(frameMs / megapixels(result));
    } finally {
      await rm(outputDir, { recursive: true, force: true });
    }
  }

  /** Complete or not at all: a reader in another process never sees half a file. */
  async #keep(file: string, known: Kept): Promise<void> {
    const draft = `${file}.${randomUUID()}`;
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(draft, `${JSON.stringify(known, null, 2)}\n`);
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      this.#parts.logger.warn({ err: error, file }, 'the measured speed of the networks cannot be kept; each process measures it again');
    }
  }
}

function parse(text: string): Kept | undefined {
  try {
    return keptFile.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const megapixels = ({ width, height }: { width: number; height: number }) => (width * height) / 1e6;
/** Three digits behind the point, and never 0, which means that nothing was measured. */
const round = (value: number) => Math.max(0.001, Math.round(value * 1000) / 1000);

async function readProcessor() {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  const flags = new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.split(' ') ?? []);
  return { name: cpus()[0]?.model ?? 'processor', features: features.filter((name) => flags.has(name)) };
}

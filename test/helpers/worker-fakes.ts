/** Fakes of media, net and storage. Tests can make them fail and hang, and can count their calls. */
import { createHash, randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { createEvidence } from '../../src/evidence/index.ts';
import { createWorker, type Tuning, type Worker, type WorkerConfig, type WorkerDeps } from '../../src/jobs/index.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import type {
  ByteSource,
  EnhancePlan,
  EnhanceRequest,
  EnhanceResult,
  JoinRequest,
  JoinResult,
  Media,
  ModelReport,
  PlanRequest,
  PlanSegmentsRequest,
  Picture,
  PicturesRequest,
  ProbeRequest,
  ProbeResult,
  SegmentPlan,
  WarmPoolHandle,
  WarmPoolRequest,
  DeviceInfo,
  LostDevice,
} from '../../src/media/types.ts';
import type { NetClient, PostOptions, PostResponse } from '../../src/net/types.ts';
import type { ByteRange, MultipartUpload, Storage, StoredObject, StoredPart } from '../../src/storage/types.ts';
import { MemoryMultipart } from './memory-multipart.ts';
import { hangMs } from './wait.ts';
import { runScheduledTasksOften, testCipher, type World } from './worker-world.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export const probeResult: ProbeResult = {
  container: 'mp4',
  videoCodec: 'h264',
  pixelFormat: 'yuv420p',
  codedWidth: 960,
  codedHeight: 540,
  width: 960,
  height: 540,
  rotationDegrees: 0,
  frameRate: 25,
  durationS: 9.6,
  durationIsExact: true,
  sizeBytes: 123_456,
  audio: [{ codec: 'aac', channels: 2, sampleRateHz: 48_000, language: '' }],
};

export const enhanceResult: EnhanceResult = {
  source: probeResult,
  width: 1920,
  height: 1080,
  frames: 240,
  undecodableFrames: 0,
  durationS: 9.6,
  sizeBytes: 14,
  device: 'cpu',
  applied: { denoise: 0.2, sharpen: 0.3, adaptiveContrast: 0.1, faceRestoration: 0, model: 'lanczos' },
  plan: [{ name: 'denoise', strength: 0.2, why: 'the source has noise of 3.5 and no compression error (RMS, 8-bit levels)' }],
  condition: 'compressed, enlarged before from about 360p',
  faces: 0,
  wallSeconds: 1,
  startSeconds: 0.1,
  startMs: 200,
  wasReady: false,
  stages: [],
};

/** Never resolves; rejects when aborted. */
export const hang = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted === true) reject(signal.reason as Error);
    else signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

/** The class of the device that the engine would use on a machine with or without a GPU. */
const classOf = (device: string | undefined, hasGpu: boolean) => ((device ?? 'auto') === 'auto' ? (hasGpu ? 'cuda' : 'cpu') : device === 'cpu' ? 'cpu' : 'cuda');

const readInput = (input: string | ByteSource) => (typeof input === 'string' ? readFile(input) : input.read(0, input.size, new AbortController().signal));

export class FakeMedia implements Media {
  readonly isolation = { kind: 'none', reason: 'a fake' } as const;
  engine = 'an engine';
  /** replaced by tests */
  onProbe: (request: ProbeRequest) => Promise<ProbeResult> = async () => probeResult;
  onEnhance: (request: EnhanceRequest) => Promise<EnhanceResult> = async () => enhanceResult;
  enhancements: EnhanceRequest[] = [];
  /** number of running children */
  running = 0;

  probe(request: ProbeRequest): Promise<ProbeResult> {
    return this.onProbe(request);
  }

  async enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    this.enhancements.push(request);
    this.running++;
    try {
      await readInput(request.input);
      this.#refuseOtherClass(request);
      const result = await this.onEnhance(request);
      const { target, piece } = request.options;
      await writeFile(join(request.outputDir, request.outputName), piece === undefined ? `enhanced ${target}` : `piece ${piece.index}`);
      return result;
    } finally {
      this.running--;
    }
  }

  hasGpu = false;

  /** The engine's name of the device for a plan with these options. */
  deviceFor({ device }: { device?: string }): string {
    return classOf(device, this.hasGpu) === 'cpu' ? 'cpu' : 'cuda:0 (a GPU)';
  }

  /** Rejects a plan for another device class, like the engine. Here, a plan without a class is for the CPU. */
  #refuseOtherClass({ options }: EnhanceRequest): void {
    if (options.piece === undefined) return;
    const planned = options.piece.plan.endsWith('for cuda') ? 'cuda' : 'cpu';
    if (planned === classOf(options.device, this.hasGpu)) return;
    throw failureFromChild({ code: 'segment_mismatch', message: 'The segments were planned for another device class.' });
  }

  /** whether jobs can run */
  usable = true;

  async isUsable() {
    return this.usable;
  }

  found: DeviceInfo[] = [];
  lost: LostDevice[] = [];

  lostDevices() {
    return this.lost;
  }

  async devices() {
    return this.found;
  }

  async speeds() {
    return undefined;
  }

  /** requested warm pools, and the number of those that are open */
  warmPools: WarmPoolRequest[] = [];
  openWarmPools = 0;

  startWarmPool(options: WarmPoolRequest): WarmPoolHandle {
    this.warmPools.push(options);
    this.openWarmPools++;
    const close = async () => void this.openWarmPools--;
    return { pids: [], ready: 0, close };
  }

  /** replaced by tests */
  onTakePictures: (request: PicturesRequest) => Promise<void> = async () => {};

  async takePictures(request: PicturesRequest): Promise<Picture[]> {
    const { videoPath, outputDir, poster, thumbnails } = request;
    await readFile(videoPath);
    await this.onTakePictures(request);
    const names = [...(poster ? ['poster.jpg'] : []), ...Array.from({ length: thumbnails }, (_, index) => `thumbnail-${index + 1}.jpg`)];
    return Promise.all(
      names.map(async (file, index) => {
        await writeFile(join(outputDir, file), `the ${file}`);
        return { file, isPoster: file === 'poster.jpg', timeS: index, width: 32, height: 18, sizeBytes: file.length + 4 };
      }),
    );
  }

  onPlan: (request: PlanRequest) => Promise<EnhancePlan> = () => Promise.reject(new Error('nothing is planned here'));

  plan(request: PlanRequest): Promise<EnhancePlan> {
    return this.onPlan(request);
  }

  onPlanSegments: (request: PlanSegmentsRequest) => Promise<SegmentPlan> = () => Promise.reject(new Error('no segments are planned here'));

  planSegments(request: PlanSegmentsRequest): Promise<SegmentPlan> {
    return this.onPlanSegments(request);
  }

  onJoin: (request: JoinRequest) => Promise<JoinResult> = () => Promise.reject(new Error('nothing is joined here'));

  join(request: JoinRequest): Promise<JoinResult> {
    return this.onJoin(request);
  }

  checkModel(): Promise<ModelReport> {
    return Promise.reject(new Error('no model runs here'));
  }

  compileModel(): Promise<never> {
    return Promise.reject(new Error('no engine is built here'));
  }
}

export class FakeNet implements NetClient {
  bytes: Buffer = Buffer.from('a real film');
  /** ETag of the download */
  etag: string | null = null;
  downloads = 0;
  onDownload: (url: string, signal?: AbortSignal) => Promise<void> = async () => {};

  async download(url: string, path: string, { signal }: { maxBytes: number; signal?: AbortSignal }) {
    this.downloads++;
    await this.onDownload(url, signal);
    await writeFile(path, this.bytes, { mode: 0o600 });
    return { bytes: this.bytes.length, sha256: sha256(this.bytes), etag: this.etag };
  }

  posts: { url: string; options: PostOptions }[] = [];
  onPost: (url: string, options: PostOptions) => Promise<Partial<PostResponse>> = async () => ({});

  async post(url: string, options: PostOptions): Promise<PostResponse> {
    this.posts.push({ url, options });
    return { status: 204, headers: {}, body: new Uint8Array(), ...(await this.onPost(url, options)) };
  }

  openVideo(): Promise<never> {
    throw new Error('Jobs download; only http measures over the network');
  }

  async close() {}
}

export class FakeStorage implements Storage {
  readonly kind = 'filesystem';
  readonly objects = new Map<string, Buffer>();
  /** when set, every call throws it */
  fault: Error | undefined;
  /** awaited before a put becomes visible */
  beforePut: (key: string, signal?: AbortSignal) => Promise<void> = async () => {};

  #check() {
    if (this.fault) throw this.fault;
  }

  async putFile(
    key: string,
    path: string,
    options: { contentType: string; signal?: AbortSignal },
  ): Promise<StoredObject> {
    this.#check();
    const bytes = await readFile(path);
    await this.beforePut(key, options.signal);
    this.objects.set(key, bytes);
    return { key, size: bytes.length, sha256: sha256(bytes), version: null };
  }

  async getFile(key: string, path: string): Promise<boolean> {
    this.#check();
    const bytes = this.objects.get(key);
    if (bytes) await writeFile(path, bytes, { mode: 0o600 });
    return bytes !== undefined;
  }

  async stat(key: string) {
    this.#check();
    const bytes = this.objects.get(key);
    return bytes ? { size: bytes.length } : null;
  }

  /** arguments of each call of `open` */
  readonly opened: { key: string; range: ByteRange | undefined }[] = [];

  async open(key: string, range?: ByteRange) {
    this.#check();
    this.opened.push({ key, range });
    const bytes = this.objects.get(key);
    return bytes ? Readable.from(range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)) : null;
  }

  async destroy(key: string) {
    this.#check();
    this.objects.delete(key);
    this.multipart.destroy(key);
  }

  async isAbsent(key: string) {
    this.#check();
    return !this.objects.has(key) && !this.multipart.has(key);
  }

  /** multipart uploads */
  readonly multipart = new MemoryMultipart(this.objects);

  async createMultipart(key: string) {
    this.#check();
    return this.multipart.create(key);
  }

  async linkPart({ key }: MultipartUpload, { number }: StoredPart) {
    return { url: `https://links.example.com/${key}?number=${number}`, expiresInS: 3600 };
  }

  async listParts(upload: MultipartUpload) {
    this.#check();
    return this.multipart.list(upload);
  }

  async completeMultipart(upload: MultipartUpload, whole: { count: number; size: number }) {
    this.#check();
    return this.multipart.complete(upload, whole);
  }

  async *list(prefix: string) {
    this.#check();
    for (const key of [...this.objects.keys()]) if (key.startsWith(prefix)) yield key;
  }

  async link(key: string) {
    return { url: `https://links.example.com/${key}`, expiresInS: 3600 };
  }
}

/** Lease in seconds that does not expire on a busy machine. A test of expired leases sets its own, or changes the times. */
export const leaseBeyondHanging = (10 * hangMs) / 1000;

export interface Workshop {
  media: FakeMedia;
  net: FakeNet;
  storage: FakeStorage;
  dataDir: string;
  /** what workers logged as errors */
  errors: string[];
  /** what workers logged as warnings or errors */
  warnings: string[];
  worker(change?: { config?: Partial<WorkerConfig>; tuning?: Partial<Tuning>; deps?: Partial<WorkerDeps> }): Worker;
  /** stops every worker that was made here and removes the folder */
  close(): Promise<void>;
}

/** `scheduled: false`: the scheduled tasks run once a minute, as in the service */
export async function createWorkshop(world: World, options: { scheduled?: boolean } = {}): Promise<Workshop> {
  const dataDir = await mkdtemp(join(tmpdir(), 'reelmend-jobs-'));
  const sample = join(dataDir, 'sample.mp4');
  await writeFile(sample, 'a sample');
  const parts = { media: new FakeMedia(), net: new FakeNet(), storage: new FakeStorage() };
  const evidence = createEvidence({ keys: world.store.signingKeys, cipher: testCipher });
  const made: Worker[] = [];
  const scheduled = options.scheduled === false ? undefined : runScheduledTasksOften(world.url);
  const errors: string[] = [];
  const warnings: string[] = [];
  const write = (line: string) => {
    warnings.push(line);
    if ((JSON.parse(line) as { level: number }).level >= pino.levels.values['error']!) errors.push(line);
  };
  const logger = pino({ level: 'warn' }, { write });
  return {
    ...parts,
    dataDir,
    errors,
    warnings,
    worker({ config, tuning, deps } = {}) {
      const worker = createWorker({
        databaseUrl: world.url,
        store: world.store,
        ...parts,
        evidence,
        logger,
        config: {
          dataDir,
          workerConcurrency: 2,
          downloadConcurrency: 4,
          threads: 1,
          device: 'cpu',
          encoder: { preset: 'veryfast', crf: 18 },
          leaseSeconds: leaseBeyondHanging,
          testModeDelayMs: 100,
          ...config,
        },
        async testModeSample(resolution) {
          const path = join(dataDir, `sample-${resolution}.mp4`);
          // Written atomically, like the service's own samples, because concurrent jobs read it.
          const draft = `${path}.${randomUUID()}`;
          await copyFile(sample, draft);
          await rename(draft, path);
          return path;
        },
        tuning: {
          pollIntervalMs: 500,
          // One heartbeat a second, so that steps soon notice that their job was deleted.
          heartbeatsPerLease: leaseBeyondHanging,
          retryDelaysS: [0.05, 0.05, 0.05, 0.05],
          stopGraceMs: 3000,
          periodicMs: { scratch: 250, describe: 500, fleet: 500, schedule: 5000 },
          destroyOverdueS: 1,
          ...tuning,
        },
        ...deps,
      });
      made.push(worker);
      return worker;
    },
    async close() {
      await scheduled?.stop();
      await Promise.all(made.map((worker) => worker.stop()));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const pause = (ms: number): Promise<void> => sleep(ms);

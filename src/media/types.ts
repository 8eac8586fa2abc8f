/** The interface of src/media, the only module that imports the addon. */
import type {
  CompiledEngine,
  EnhanceOptions,
  EnhancePlan,
  EnhanceResult as EngineResult,
  JoinResult,
  ModelFile,
  ModelReport,
  ModelTrial,
  Picture,
  ProbeResult,
  Progress,
  SegmentLengths,
  SegmentPlan,
  SourceLimits,
  DeviceInfo,
} from '../../native/index.d.ts';

export type { CompiledEngine, EnhancePlan, EngineResult, JoinResult, ModelFile, ModelReport, ModelTrial, Picture, ProbeResult, Progress, SegmentLengths, SegmentPlan, SourceLimits, DeviceInfo };

/** Random access to a source's bytes, served to the child by the parent; the child has no network. */
export interface ByteSource {
  /** total length in bytes */
  readonly size: number;
  /** at most `length` bytes at `offset`; empty only at the end. Rejections with a ReelmendError survive the child. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
}

export interface ProbeRequest {
  source: ByteSource | { path: string };
  limits?: SourceLimits;
  /** walk every packet for an exact duration (local files) */
  walkPackets?: boolean;
  /** also decode all frames, with so many threads, and refuse a video if one is damaged */
  decodingThreads?: number;
  /** wall-clock limit of the child, ms */
  timeoutMs: number;
  signal?: AbortSignal;
}

/** `device` may also name several GPUs, `cuda:all` or a list such as `cuda:0,cuda:1`: the one with the fewest jobs is used. */
export type JobOptions = Omit<EnhanceOptions, 'signal' | 'onProgress' | 'models' | 'machine' | 'engineFolder' | 'mayWriteEngines'>;

export interface EnhanceResult extends EngineResult {
  /** ms from the call until the first frame was in the stages */
  startMs: number;
  /** whether a warm child did the job */
  wasReady: boolean;
}

export interface WarmPoolRequest {
  /** children in the pool */
  count: number;
  /** of this process alone, on the file system of the jobs' folders; made here and removed by `close` */
  folder: string;
  /** options of the jobs to come, as far as they are known */
  options: JobOptions;
  /** prepared children are replaced by unprepared ones after so many ms without a job; ten minutes when absent */
  idleMs?: number;
}

export interface WarmPoolHandle {
  /** process ids of the children in the pool */
  readonly pids: readonly number[];
  /** children that are prepared for the next job */
  readonly ready: number;
  /** Ends the children; resolves when they are gone. */
  close(): Promise<void>;
}

export interface EnhanceRequest {
  /** the path of a file, or bytes that this process reads for the child: only those that the job needs */
  input: string | ByteSource;
  /** created in `outputDir`, the only folder that the child may write */
  outputDir: string;
  outputName: string;
  /** `model` names one of the models that media was made with */
  options: JobOptions;
  timeoutMs: number;
  signal?: AbortSignal;
  /** The fraction falls to 0 when a GPU has failed and another device begins anew. */
  onProgress?: (progress: Progress) => void;
}

export interface PlanRequest extends Pick<EnhanceRequest, 'options' | 'timeoutMs'> {
  inputPath: string;
  signal?: AbortSignal;
}

export interface PlanSegmentsRequest extends PlanRequest {
  lengths?: SegmentLengths;
}

export interface JoinRequest {
  sourcePath: string;
  /** SegmentPlan.text */
  plan: string;
  /** folder of the pieces; nothing else should be in it */
  piecesDir: string;
  /** file names in that folder, in the order of the segments */
  pieces: string[];
  /** created in `outputDir`, the only folder that the child may write */
  outputDir: string;
  outputName: string;
  limits?: SourceLimits;
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface PicturesRequest {
  /** a result of `enhance` */
  videoPath: string;
  /** the pictures appear here under their names */
  outputDir: string;
  poster: boolean;
  thumbnails: number;
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface CheckModelRequest {
  model: ModelFile;
  trial?: ModelTrial;
  timeoutMs: number;
  signal?: AbortSignal;
}

/** The least that an operator wants of `auto` on a CPU; of two floors, the higher one counts. */
export interface MinSpeed {
  framesPerSecond?: number;
  /** in times of the video's length: 1 is as fast as it plays */
  timesLength?: number;
}

export interface NetworkSpeed {
  name: string;
  scale: number;
  /** fp32 or int8 */
  file: string;
  /** that it runs in here: fp32, bf16 or int8 */
  precision: string;
  /** milliseconds for a frame over the megapixels of its input */
  msPerMegapixel: number;
}

export interface MeasureOptions {
  signal?: AbortSignal | undefined;
  /** measures also if there are results; default: false */
  again?: boolean;
}

/** Measured once on this machine's CPU, with the threads of a job. */
export interface MachineSpeeds {
  measuredAt: string;
  processor: string;
  threads: number;
  /** milliseconds for everything but the network, over the megapixels of the output */
  otherMsPerMegapixel: number;
  networks: NetworkSpeed[];
}

export interface CompileModelRequest {
  model: ModelFile;
  /** made if missing; engines of other models and sizes in it stay */
  folder: string;
  /** of the network's input frames */
  width: number;
  height: number;
  timeoutMs: number;
  signal?: AbortSignal;
}

/** A GPU that gets no jobs at the moment. */
export interface LostDevice {
  /** `cuda:N` */
  id: string;
  reason: string;
}

/**
 * Media work in isolated child processes, one for each call. Rejects with ReelmendError:
 * `unreadable_video`, `video_too_long`, `processing_failed` (crash, memory), `processing_timeout`,
 * or whatever the byte source rejected with. An aborted signal rejects with its reason.
 */
export interface Media {
  probe(request: ProbeRequest): Promise<ProbeResult>;
  enhance(request: EnhanceRequest): Promise<EnhanceResult>;
  /**
   * Starts children before `enhance` needs them. Each is used for one job, is isolated as any other, and is prepared for
   * a job like the last one. A process has one pool at a time.
   */
  startWarmPool(request: WarmPoolRequest): WarmPoolHandle;
  /** What `enhance` would do with these options, and why. */
  plan(request: PlanRequest): Promise<EnhancePlan>;
  /**
   * Decides everything that is decided for the whole video, and where it is cut. `enhance` with `options.piece` makes the
   * piece of one segment. It fails with the cause SegmentMismatch (isSegmentMismatch) when the video cannot be made that way.
   */
  planSegments(request: PlanSegmentsRequest): Promise<SegmentPlan>;
  /** Joins the pieces of all segments without encoding, with everything but the video from the source. */
  join(request: JoinRequest): Promise<JoinResult>;
  /** Takes the poster and the thumbnails of a result, in this order. */
  takePictures(request: PicturesRequest): Promise<Picture[]>;
  devices(): Promise<DeviceInfo[]>;
  /** Whether jobs with this option `device` can run now: false if all GPUs that it names are lost, and none responds again. */
  isUsable(device: string): Promise<boolean>;
  /** The GPUs of this option `device` that get no jobs, because they failed and have not responded since. */
  lostDevices(device: string): LostDevice[];
  /** version of the engine, with those of FFmpeg's libraries; pieces of two versions are never joined */
  readonly engine: string;
  /** Measures the networks unless that was done before, or again if the options say so; undefined where it is impossible. */
  speeds(options?: MeasureOptions): Promise<MachineSpeeds | undefined>;
  /** whether this machine has a GPU that jobs could use; its driver may still refuse */
  readonly hasGpu: boolean;
  /** Loads a model in a child and runs it there. The engine's own sentence says what is wrong with it. */
  checkModel(request: CheckModelRequest): Promise<ModelReport>;
  /** Builds engines of a model for GPUs in a child, which can write into that folder alone and sees no video. */
  compileModel(request: CompileModelRequest): Promise<CompiledEngine[]>;
  /** how children are isolated on this machine; `reason` says why `none` */
  readonly isolation: { kind: 'bubblewrap' | 'none'; reason: string };
}

/** What the rest of the service may ask of media; src/media is the only importer of the addon. */
import type {
  CompiledEngine,
  EnhanceOptions,
  EnhancePlan,
  EnhanceResult as EngineResult,
  ModelFile,
  ModelReport,
  ModelTrial,
  ProbeResult,
  Progress,
  SourceLimits,
  DeviceInfo,
} from '../../native/index.d.ts';

export type { CompiledEngine, EnhancePlan, EngineResult, ModelFile, ModelReport, ModelTrial, ProbeResult, Progress, SourceLimits, DeviceInfo };

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
  /** wall-clock limit of the child, ms */
  timeoutMs: number;
  signal?: AbortSignal;
}

/** `device` may also be `cuda:all` or a list such as `cuda:0,cuda:1`: the GPU with the fewest jobs of this process. */
export type JobOptions = Omit<EnhanceOptions, 'signal' | 'onProgress' | 'models' | 'engineFolder' | 'mayWriteEngines'>;

export interface EnhanceResult extends EngineResult {
  /** ms from the call until the first frame was in the stages */
  startMs: number;
  /** whether a child did it that was ready before the call */
  wasReady: boolean;
}

export interface StandByOptions {
  /** children that wait */
  count: number;
  /** of this process alone, on the file system of the jobs' folders; made, and removed by `close` */
  folder: string;
  /** what the jobs will be asked for, as far as it is known */
  options: JobOptions;
  /** ms without a job after which what was made ready is given back; ten minutes when absent */
  idleMs?: number;
}

/** Children that wait for `enhance`. */
export interface StandBy {
  /** process ids of those that wait */
  readonly pids: readonly number[];
  /** how many have the engine loaded and all that is expected made ready */
  readonly ready: number;
  /** Ends them; resolves when they are gone. */
  close(): Promise<void>;
}

export interface EnhanceRequest {
  inputPath: string;
  /** created in `outputDir`, the only folder that the child may write */
  outputDir: string;
  outputName: string;
  /** `model` names one of the models that media was made with */
  options: JobOptions;
  timeoutMs: number;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

export interface PlanRequest extends Pick<EnhanceRequest, 'inputPath' | 'options' | 'timeoutMs'> {
  signal?: AbortSignal;
}

export interface CheckModelRequest {
  model: ModelFile;
  trial?: ModelTrial;
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface CompileModelRequest {
  model: ModelFile;
  /** made when it is not there; engines of other models and sizes in it stay */
  folder: string;
  /** of the pictures that go in */
  width: number;
  height: number;
  timeoutMs: number;
  signal?: AbortSignal;
}

/**
 * Media work in a sandboxed child process, one child a call. Rejects with ReelmendError:
 * `unreadable_video`, `video_too_long`, `processing_failed` (crash, memory), `processing_timeout`,
 * or whatever the byte source rejected with. An aborted signal rejects with its reason.
 */
export interface Media {
  probe(request: ProbeRequest): Promise<ProbeResult>;
  enhance(request: EnhanceRequest): Promise<EnhanceResult>;
  /**
   * Keeps children waiting that `enhance` then need not start: each is used for one job, is confined as any other, and
   * is made ready for a job like the last one. One such set at a time.
   */
  standBy(options: StandByOptions): StandBy;
  /** What `enhance` would do with these options, and why. */
  plan(request: PlanRequest): Promise<EnhancePlan>;
  devices(): Promise<DeviceInfo[]>;
  /** Loads a model in a child and runs it there. The engine's own sentence says what is wrong with it. */
  checkModel(request: CheckModelRequest): Promise<ModelReport>;
  /** Builds engines of a model for GPUs in a child, which can write into that folder alone and sees no video. */
  compileModel(request: CompileModelRequest): Promise<CompiledEngine[]>;
  /** how children are confined on this machine */
  readonly sandbox: { kind: 'bubblewrap' | 'none'; reason: string };
}

// The addon's interface: plain data in, plain data out. Loaded only inside the media child process.

export type Strength = 'auto' | 'off' | number;

export interface SourceLimits {
  /** coded width × height of one frame */
  maxPixels?: number;
  maxStreams?: number;
  /** presentation duration in seconds; 0 = no limit */
  maxDurationS?: number;
  /** frames per second of the duration, rounded up; 0 = no limit */
  maxFrameRate?: number;
}

export interface AudioStreamInfo {
  codec: string;
  channels: number;
  sampleRateHz: number;
  language: string;
}

export interface ProbeResult {
  container: string;
  videoCodec: string;
  pixelFormat: string;
  codedWidth: number;
  codedHeight: number;
  /** as displayed: rotation applied, square pixels */
  width: number;
  height: number;
  rotationDegrees: 0 | 90 | 180 | 270;
  /** average frames per second; 0 when unknown */
  frameRate: number;
  /** presentation duration of the video stream in seconds, unrounded */
  durationS: number;
  durationIsExact: boolean;
  sizeBytes: number;
  audio: AudioStreamInfo[];
  /** number of frames of the video; only with `decodingThreads` */
  decodedFrames?: number | undefined;
}

/** Random access to bytes; `read` resolves to at most `length` bytes, empty only at the end. */
export interface ByteSource {
  size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface ProbeOptions {
  limits?: SourceLimits;
  /** reads every packet for an exact duration (local files) */
  walkPackets?: boolean;
  /** also decodes all frames with this many threads, and rejects a video with a damaged frame; default: 0, decodes none */
  decodingThreads?: number;
  signal?: AbortSignal;
}

export interface EnhanceOptions {
  target: '1080p' | '4k' | 'source';
  denoise?: Strength;
  sharpen?: Strength;
  adaptiveContrast?: Strength;
  faceRestoration?: Strength;
  /** name of one of `models`, 'auto', or 'none' (resizes with a filter) */
  model?: string;
  /** all files of the installed networks */
  models?: ModelFile[];
  device?: string;
  /** folder of compiled networks for GPUs (compileModel); absent: each run builds its own */
  engineFolder?: string;
  /** false: reads engines from the folder and adds none */
  mayWriteEngines?: boolean;
  threads?: number;
  /** measured speed of this machine and the minimum speed that its operator wants; the model 'auto' uses them on CPUs */
  machine?: {
    /** time per frame without the network, per megapixel of output */
    otherMsPerMegapixel?: number;
    /** minimum; 0: none */
    minFramesPerSecond?: number;
    /** minimum, as a multiple of real time (1: as fast as the video plays); 0: none */
    minTimesLength?: number;
  };
  /** `maxBitrate`: bits per second, 0 = no limit */
  encoder?: { preset?: string; crf?: number; maxBitrate?: number };
  limits?: SourceLimits;
  segment?: { startS: number; endS: number; warmUpFrames?: number };
  /** makes the piece of one segment of a plan (planSegments); not together with `segment` */
  piece?: { plan: string; index: number };
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

/** One ONNX file of a network; see engine/include/reelmend/model.h. */
export interface ModelFile {
  name: string;
  path: string;
  layout: 'luma+strength' | 'ycbcr+strength' | 'rgb' | 'face';
  precision: 'fp32' | 'int8';
  /** enlargement of each side, 1…8; 2 when absent */
  scale?: number;
  /** width and height of the input must be multiples of it */
  multiple?: number;
  /** receptive field: input pixels around a sample that its output depends on */
  halo?: number;
  input?: string;
  output?: string;
  /** 64 hexadecimal digits; checked when given */
  sha256?: string;
  /** PSNR lost against the fp32 file of the same network, in dB */
  lossDb?: number;
  /** largest strength of restoration it was trained for; 0: it only enlarges. 1 when absent */
  maxStrength?: number;
  /** the network recognises damage by itself; the strength sets how much it restores */
  blind?: boolean;
  /** of a blind network: `auto` multiplies the strength that the damage calls for by it, up to 1; 0.1 to 10, 1 when absent */
  strengthGain?: number;
  /** layout face: largest change of a sample, in 8-bit levels; 255 when absent */
  maxChange?: number;
  allowBf16?: boolean;
  /**
   * milliseconds per frame and per megapixel of input on this machine's CPU, measured by checkModel; absent: not
   * measured
   */
  msPerMegapixel?: number;
}

/** The test frame of checkModel. */
export interface ModelTrial {
  width?: number;
  height?: number;
  /** timed frames of a round; the mean of the fastest round counts */
  frames?: number;
  /** no further one begins after 0.8 s */
  rounds?: number;
  threads?: number;
}

export interface ModelReport {
  backend: string;
  /** precision of the inference: fp32, bf16, int8 */
  precision: string;
  inputWidth: number;
  inputHeight: number;
  outputWidth: number;
  outputHeight: number;
  tiles: number;
  workingBytes: number;
  loadMs: number;
  msPerFrame: number;
}

/** Builds engines ahead of time, for one size of input. */
export interface CompileRequest {
  folder: string;
  width?: number;
  height?: number;
}

export interface CompiledEngine {
  backend: string;
  /** compute capability, "8.9" */
  target: string;
  /** name of the GPU if the engine runs on that model only, else empty */
  device: string;
  precision: string;
  /** file name in the folder; empty if it could not be built */
  file: string;
  width: number;
  height: number;
  /** 0: it existed already */
  buildMs: number;
  /** best number of concurrent contexts, measured on this machine's GPU; 0: not measured */
  contexts: number;
  /** best number of frames in a context */
  batch: number;
  /** one sentence if the GPU has too little memory to build it, else empty */
  notBuilt: string;
  /** one sentence if the GPU is in this machine and could not be measured, else empty */
  notMeasured: string;
}

export interface Progress {
  /** 0…1, never falls */
  fraction: number;
  framesDone: number;
  framesPerSecond: number;
  /** seconds left; negative while unknown */
  etaS: number;
}

export interface EnhanceResult {
  source: ProbeResult;
  width: number;
  height: number;
  frames: number;
  undecodableFrames: number;
  durationS: number;
  sizeBytes: number;
  device: string;
  applied: {
    denoise: number;
    sharpen: number;
    adaptiveContrast: number;
    faceRestoration: number;
    model: string;
  };
  /** the plan made before the first frame */
  plan: PlannedStage[];
  /** known defects of the source, in words; empty if none are known */
  condition: string;
  /** restored faces, summed over all frames */
  faces: number;
  wallSeconds: number;
  /** seconds of wallSeconds before the first frame was processed */
  startSeconds: number;
  stages: { name: string; cpuSeconds: number }[];
}

/** The expected next job. Without sizes, only the device is opened. */
export interface Expectation {
  /** stored size, after rotation */
  width?: number;
  height?: number;
  outputWidth?: number;
  outputHeight?: number;
  /** the network that will run; 'none' when absent */
  model?: string;
  restoresFaces?: boolean;
}

export interface PicturesOptions {
  /** the most detailed of a few frames, at most 1280 pixels wide and high */
  poster?: boolean;
  /** 0…50, evenly spaced, at most 320 pixels wide and high */
  thumbnails?: number;
  limits?: SourceLimits;
  signal?: AbortSignal;
}

export interface Picture {
  /** name in the folder */
  file: string;
  isPoster: boolean;
  /** presentation time, from the first frame */
  timeS: number;
  width: number;
  height: number;
  sizeBytes: number;
}

/** One planned stage, and the measurements that decided it. */
export interface PlannedStage {
  /** denoise, model, face_restoration, sharpen, adaptive_contrast */
  name: string;
  /** 0…1 */
  strength: number;
  why: string;
}

export interface EnhancePlan {
  source: ProbeResult;
  width: number;
  height: number;
  device: string;
  model: string;
  stages: PlannedStage[];
  /** known defects of the source, in words; empty if none are known */
  condition: string;
}

/** Lengths of segments in seconds; 10, 20 and 60 when absent. */
export interface SegmentLengths {
  shortestS?: number;
  wantedS?: number;
  longestS?: number;
}

export interface PlannedSegment {
  /** seconds from the first displayed frame */
  startS: number;
  endS: number;
  /** number of frames of its piece */
  frames: number;
}

export interface SegmentPlan {
  plan: EnhancePlan;
  /** at least one */
  segments: PlannedSegment[];
  /** for `EnhanceOptions.piece` and `joinSegments`; empty for a single segment */
  text: string;
  /** reason (one clause) if there is only one segment, else empty */
  whyWhole: string;
}

export interface JoinOptions {
  limits?: SourceLimits;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

export interface JoinResult {
  width: number;
  height: number;
  frames: number;
  durationS: number;
  sizeBytes: number;
}

export interface DeviceInfo {
  id: string;
  name: string;
  usable: boolean;
  reason: string;
  threads: number;
  simd: string;
  encoder: string;
  inference: string[];
}

/**
 * Rejections are `Error` objects whose `code` is one of `invalid_argument`, `unreadable_video`, `limit_exceeded`, `io`,
 * `cancelled`, `unavailable`, `no_engine`, `segment_mismatch`, `internal`. Wrong arguments throw synchronously: a TypeError
 * `Expected X for Y but received Z`.
 */
export function probe(source: string | ByteSource, options?: ProbeOptions): Promise<ProbeResult>;
/** Enhances a video from a file or a byte source. Reads only the bytes that it needs; a `piece` needs few. */
export function enhance(source: string | ByteSource, outputPath: string, options: EnhanceOptions): Promise<EnhanceResult>;
/**
 * Warms up for the next `enhance` of this process: opens the device and its libraries, and loads the networks for the
 * expected video. If a part fails, `enhance` does that part itself.
 */
export function prepare(options: EnhanceOptions, expectation: Expectation): Promise<void>;
/**
 * Writes JPEG files of an SDR video without rotation, such as a result of `enhance`, into `folder`. Resolves to the poster,
 * then the thumbnails in order of time.
 */
export function takePictures(videoPath: string, folder: string, options: PicturesOptions): Promise<Picture[]>;
/** Limits the CPU time that this process may still use, summed over its threads. The kernel kills it at the limit. */
export function limitProcessorTime(seconds: number): void;
/** Resolves to the plan that `enhance` would make. Decodes a few frames. */
export function plan(inputPath: string, options: EnhanceOptions): Promise<EnhancePlan>;
/** Plans the whole video and chooses where to cut it. Reads all packets. */
export function planSegments(inputPath: string, options: EnhanceOptions & { lengths?: SegmentLengths }): Promise<SegmentPlan>;
/** Joins the pieces of all segments, in order, without encoding. Everything except the video stream comes from the source. */
export function joinSegments(
  sourcePath: string,
  plan: string,
  pieces: string[],
  outputPath: string,
  options?: JoinOptions,
): Promise<JoinResult>;
/** Loads a model and runs it on a synthetic frame. */
export function checkModel(model: ModelFile, trial?: ModelTrial): Promise<ModelReport>;
/** Builds engines of a model for GPUs, one file each in the folder. The GPUs need not be in this machine. */
export function compileModel(model: ModelFile, request: CompileRequest): Promise<CompiledEngine[]>;
export function devices(): DeviceInfo[];
export function version(): string;

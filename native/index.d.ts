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
  /** with `decodingThreads`: all frames of the video */
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
  /** also decodes all frames, with so many threads, and refuses a video of which one is damaged; default: 0 */
  decodingThreads?: number;
  signal?: AbortSignal;
}

export interface EnhanceOptions {
  target: '1080p' | '4k' | 'source';
  denoise?: Strength;
  sharpen?: Strength;
  adaptiveContrast?: Strength;
  faceRestoration?: Strength;
  /** one of `models`, 'auto', or 'none' for the plain filter */
  model?: string;
  /** installed networks: all files of all names */
  models?: ModelFile[];
  device?: string;
  /** folder of compiled networks for GPUs (compileModel); absent: each run builds its own */
  engineFolder?: string;
  /** false: engines are read from the folder; missing ones are not added */
  mayWriteEngines?: boolean;
  threads?: number;
  /** measured speed of this machine, and the speed that its operator wants at least; 'auto' uses them on CPUs */
  machine?: {
    /** time of a frame without its network, over the megapixels of the output */
    otherMsPerMegapixel?: number;
    /** floors; 0: none */
    minFramesPerSecond?: number;
    /** as a multiple of real time: 1 is as fast as the video plays */
    minTimesLength?: number;
  };
  /** `maxBitrate`: bits per second, 0 = no limit */
  encoder?: { preset?: string; crf?: number; maxBitrate?: number };
  limits?: SourceLimits;
  segment?: { startS: number; endS: number; warmUpFrames?: number };
  /** makes the piece of one segment of a plan (planSegments); excludes `segment` */
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
  /** both sides of the input must be divisible by it */
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
  /** layout face: largest change of a sample, in 8-bit levels; 255 when absent */
  maxChange?: number;
  allowBf16?: boolean;
  /**
   * milliseconds for a frame and a megapixel of its input on this machine's CPU, measured by checkModel; absent: not
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
  /** at most two if a round takes longer than 0.8 s */
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
  /** its name in the folder; empty if it could not be built */
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
  /** what is wrong with the source, in words; empty when nothing is known */
  condition: string;
  /** restored faces, summed over all frames */
  faces: number;
  wallSeconds: number;
  /** seconds of wallSeconds before the first frame was processed */
  startSeconds: number;
  stages: { name: string; cpuSeconds: number }[];
}

/** The expected next job; without sizes only the device is opened. */
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

/** One planned stage and the figures that decided. */
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
  /** what is wrong with the source, in words; empty when nothing is known */
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
  /** of its piece */
  frames: number;
}

export interface SegmentPlan {
  plan: EnhancePlan;
  /** at least one */
  segments: PlannedSegment[];
  /** for `EnhanceOptions.piece` and `joinSegments`; empty for a single segment */
  text: string;
  /** why there is only one segment: one clause; else empty */
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
 * Rejections are `Error` objects whose `code` is one of `invalid_argument`, `unreadable_video`,
 * `limit_exceeded`, `io`, `cancelled`, `unavailable`, `no_engine`, `segment_mismatch`, `internal`. A wrong argument throws a TypeError
 * `Expected X for Y but received Z` at once.
 */
export function probe(source: string | ByteSource, options?: ProbeOptions): Promise<ProbeResult>;
/** From a file, or from bytes. Reads only the bytes that it needs: few for a `piece`. */
export function enhance(source: string | ByteSource, outputPath: string, options: EnhanceOptions): Promise<EnhanceResult>;
/**
 * Does ahead of time what the next `enhance` of this process would do before its first frame, for a video like the expected
 * one: opens the device and its libraries, loads the networks. `enhance` does the rest if a part fails.
 */
export function prepare(options: EnhanceOptions, expectation: Expectation): Promise<void>;
/** JPEG files of an upright SDR video, such as a result of `enhance`, in `folder`: the poster, then the thumbnails by time. */
export function takePictures(videoPath: string, folder: string, options: PicturesOptions): Promise<Picture[]>;
/**
 * Limits the processor time that this process may still use, for all its threads together. The kernel ends it at the limit.
 */
export function limitProcessorTime(seconds: number): void;
/** The plan that `enhance` would make; decodes a few frames. */
export function plan(inputPath: string, options: EnhanceOptions): Promise<EnhancePlan>;
/** Makes the plan of the whole video and chooses where it is cut. Reads all packets. */
export function planSegments(inputPath: string, options: EnhanceOptions & { lengths?: SegmentLengths }): Promise<SegmentPlan>;
/** Joins the pieces of all segments, in order, without encoding; everything but the video comes from the source. */
export function joinSegments(
  sourcePath: string,
  plan: string,
  pieces: string[],
  outputPath: string,
  options?: JoinOptions,
): Promise<JoinResult>;
/** Loads a model and runs it on a synthetic frame. */
export function checkModel(model: ModelFile, trial?: ModelTrial): Promise<ModelReport>;
/** Builds engines of a model for GPUs, in this machine or not; one file each in the folder. */
export function compileModel(model: ModelFile, request: CompileRequest): Promise<CompiledEngine[]>;
export function devices(): DeviceInfo[];
export function version(): string;

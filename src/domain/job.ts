/** A job within the service. The store reads and writes it; src/http converts it to the shape of the API. */
import type { JobErrorCode } from './errors.ts';

export type Mode = 'test' | 'live';
export type Tier = 'standard' | 'secure';
export type Resolution = '1080p' | '4k';
export type JobStatus = 'queued' | 'running' | 'done' | 'error';
export type Strength = 'auto' | 'off' | number;

/** Options of the customer beyond the resolution; a missing one means auto. */
export interface Enhancements {
  denoise?: Strength;
  sharpen?: Strength;
  face_restoration?: Strength;
  adaptive_contrast?: Strength;
}

/** `standard` is the installation's own setting; a number is x264's constant rate factor (CRF). */
export type Quality = 'standard' | 'high' | number;

/** Encoding options of the customer; missing ones use the installation's settings. */
export interface OutputSettings {
  quality?: Quality;
  /** bits per second of the video stream */
  max_bitrate?: number;
  poster?: boolean;
  /** number of thumbnails */
  thumbnails?: number;
}

/** A stored picture of a result. */
export interface JobPicture {
  kind: 'poster' | 'thumbnail';
  /** key of its object */
  key: string;
  /** seconds from the first frame */
  time: number;
  width: number;
  height: number;
  size_bytes: number;
}

/** Facts of the source, measured by the service. */
export interface SourceFacts {
  container: string;
  video_codec: string;
  audio_codec: string | null;
  width: number;
  height: number;
  frame_rate: number;
  /** seconds, unrounded */
  duration: number;
  size_bytes: number;
}

/** Facts of the source that were measured at creation. */
export interface MeasuredSource extends SourceFacts {
  /** the server's strong ETag if it sent one; internal, to notice when the file is replaced */
  etag?: string;
}

export interface OutputFacts {
  width: number;
  height: number;
  size_bytes: number;
  /** lower-case hex */
  sha256: string;
  /** the CRF that it was encoded with; absent in test mode */
  quality?: number;
  /** bits per second; null without a limit; absent if `quality` is */
  max_bitrate?: number | null;
}

export interface PlannedStage {
  stage: string;
  /** 0…1 */
  strength: number;
  reason: string;
}

/** Applied settings; strengths 0…1. */
export interface AppliedEnhancements {
  denoise: number;
  sharpen: number;
  face_restoration: number;
  adaptive_contrast: number;
  model: string;
  /** `cpu` or `cuda:N (name)`; several are separated by commas */
  device: string;
  /** decisions before the first frame, with their reasons */
  plan: PlannedStage[];
  /** damage of the source, in words; absent if nothing is known */
  condition?: string;
}

/** One way to enhance the video, with the names of a job's body. */
export interface PreviewSetting {
  resolution: Resolution;
  model?: string;
  enhancements?: Enhancements;
  output?: OutputSettings;
}

export type StretchReason = 'face' | 'hardest_to_encode' | 'most_damaged' | 'evenly_spaced';

/** Seconds from the first frame, and seconds. */
export interface Stretch {
  start: number;
  duration: number;
  reason: StretchReason;
}

/** A stored clip of a preview. */
export interface PreviewClip {
  /** key of its object */
  key: string;
  /** index of its stretch */
  stretch: number;
  /** index of its setting; null: the untouched stretch */
  setting: number | null;
  width: number;
  height: number;
  size_bytes: number;
}

/** Additional data of a preview. `stretches` and `clips` exist once it is done. */
export interface PreviewFacts {
  settings: PreviewSetting[];
  stretches?: Stretch[];
  clips?: PreviewClip[];
}

export interface JobRecord {
  id: string;
  accountId: string;
  mode: Mode;
  tier: Tier;
  status: JobStatus;
  resolution: Resolution;
  /** null for a job from an upload */
  videoUrl: string | null;
  /** null for a job with a URL */
  uploadId: string | null;
  /** of the upload */
  fileName: string | null;
  webhookUrl: string | null;
  model: string | null;
  enhancements: Enhancements;
  outputSettings: OutputSettings;
  metadata: Record<string, string>;
  /** whole seconds, billed */
  durationSeconds: number;
  creditsCharged: number;
  creditsRefunded: number;
  /** 0…1; never falls */
  progress: number;
  etaSeconds: number | null;
  source: MeasuredSource | null;
  output: OutputFacts | null;
  applied: AppliedEnhancements | null;
  error: { code: JobErrorCode; message: string } | null;
  /** null for a job that is no preview */
  preview: PreviewFacts | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  expiresAt: Date;
}

/** The length of the video in seconds: as it was measured, otherwise as it is billed. */
export const videoSeconds = ({ source, durationSeconds }: Pick<JobRecord, 'source' | 'durationSeconds'>): number => source?.duration ?? durationSeconds;

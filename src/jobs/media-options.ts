/** The engine's options for a job. */
import { type JobRecord, videoSeconds } from '../domain/job.ts';
import { defaultVideoLimits, engineLimits, measurementToleranceS } from '../domain/limits.ts';
import { crfOf } from '../domain/output-size.ts';
import type { EnhanceRequest, SourceLimits } from '../media/types.ts';
import type { DeviceClass } from '../store/index.ts';
import type { WorkerContext } from './worker-context.ts';

export function mediaOptions(worker: WorkerContext, job: JobRecord): EnhanceRequest['options'] {
  const { denoise, sharpen, face_restoration, adaptive_contrast } = job.enhancements;
  return {
    target: job.resolution,
    denoise: denoise ?? 'auto',
    sharpen: sharpen ?? 'auto',
    faceRestoration: face_restoration ?? 'auto',
    adaptiveContrast: adaptive_contrast ?? 'auto',
    ...(job.model === null ? {} : { model: job.model }),
    ...engineOptions(worker.config),
    encoder: encoderOptions(worker, job),
    limits: limitsOf(worker, job),
  };
}

/** The engine's limits for the video of a job. Its measured length was allowed, whatever the limit is now. */
export const limitsOf = ({ config }: WorkerContext, job: JobRecord): SourceLimits =>
  ({ ...engineLimits(config.limits ?? defaultVideoLimits), maxDurationS: videoSeconds(job) + measurementToleranceS });

/** The settings of the job's encoder, as its record states them. */
export function encoding({ config }: WorkerContext, { outputSettings }: JobRecord) {
  return { quality: crfOf(outputSettings.quality, config.encoder.crf), max_bitrate: outputSettings.max_bitrate ?? null };
}

function encoderOptions(worker: WorkerContext, job: JobRecord) {
  const { quality: crf, max_bitrate: maxBitrate } = encoding(worker, job);
  return { ...worker.config.encoder, crf, maxBitrate: maxBitrate ?? 0 };
}

/**
 * The device for work that belongs to one device class; null: any. `auto` would turn to the CPU where a GPU fails, and pieces of
 * two classes do not fit together.
 */
export function deviceOfClass({ device }: Pick<WorkerContext['config'], 'device'>, deviceClass: DeviceClass | null): string {
  if (deviceClass === 'cpu') return 'cpu';
  return deviceClass === 'cuda' && device === 'auto' ? 'cuda:all' : device;
}

/** The options that all jobs of a worker share. */
export function engineOptions({ device, threads, encoder }: WorkerContext['config']) {
  return { device, threads, encoder };
}

/** Step 2 of a job: enhances the stored original in a media child and stores the result. Of a long video, it only plans the segments. */
import { join } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import type { AppliedEnhancements } from '../domain/job.ts';
import type { EnhanceRequest, EnhanceResult, WarmPoolHandle } from '../media/types.ts';
import { assertSameDuration } from './ingest-step.ts';
import { bytesOf, isCut } from './disk-needs.ts';
import { type DiskNeed, withDiskReservation } from './disk-reservation.ts';
import { deviceOfClass, engineOptions, mediaOptions } from './media-options.ts';
import { planSegments } from './plan-segments.ts';
import { fetchOriginal, finishJob } from './original-to-result.ts';
import { makePreview } from './preview-step.ts';
import { warmPoolFolder } from './scratch.ts';
import { runStep, type StepContext } from './step.ts';
import type { WorkerContext } from './worker-context.ts';

export const enhanceJob = (worker: WorkerContext, jobId: string): Promise<void> => runStep(worker, 'enhance', jobId, enhance);

export const outputName = 'output.mp4';

/** Starts the warm pool of media children for this worker's jobs. Returns undefined if each job starts its own child. */
export function startWarmPool({ media, config, id }: WorkerContext): WarmPoolHandle | undefined {
  const count = config.workerConcurrency === 0 ? 0 : (config.warmChildren ?? 0);
  if (count === 0) return undefined;
  return media.startWarmPool({ count, folder: warmPoolFolder(config.dataDir, id), options: { target: '1080p', ...engineOptions(config) } });
}

/** Reserves the disk space. For a job in segments, that includes the space for joining them: otherwise they would be made in vain. */
function enhance(context: StepContext): Promise<void> {
  const { worker, job, inOnePiece } = context;
  const inSegments = !inOnePiece && isCut(worker.config, job);
  const { source, results } = bytesOf(job, { crf: worker.config.encoder.crf, inSegments });
  const needs: DiskNeed[] = [
    { folder: 'scratch', bytes: source + results },
    { folder: 'storage', bytes: results },
  ];
  return withDiskReservation(worker, { jobId: job.id, needs }, () => enhanceOriginal(context));
}

async function enhanceOriginal(context: StepContext): Promise<void> {
  const { worker, job, signal } = context;
  const { inputPath, outputDir } = await fetchOriginal(context);
  if (job.preview !== null) return makePreview(context, job.preview, { inputPath, outputDir });
  const options = { ...mediaOptions(worker, job), device: deviceOfClass(worker.config, context.deviceClass) };
  if (await planSegments(context, inputPath, options)) return;
  const result = await enhanceInOnePiece(context, { input: inputPath, outputDir, outputName, options });
  assertSameDuration(job, result.durationS);
  worker.metrics.enhanced(result);
  context.span.setAttributes(spanAttributes(result));
  context.logger.info({ plan: result.plan, faces: result.faces, model: result.applied.model, device: result.device }, 'video enhanced');
  signal.throwIfAborted();
  await finishJob(context, join(outputDir, outputName), { ...result, applied: appliedEnhancements(result) });
}

/** Attributes of the trace span: the engine's own measurements, with the CPU seconds of each stage. */
function spanAttributes({ device, frames, stages, width, height, startMs, wasReady }: EnhanceResult) {
  const stageSeconds = stages.map(({ name, cpuSeconds }) => [`reelmend.stage.${name}.cpu_seconds`, cpuSeconds] as const);
  return {
    'reelmend.device': device,
    'reelmend.frames': frames,
    'reelmend.size': `${width}x${height}`,
    'reelmend.start_ms': Math.round(startMs),
    'reelmend.child_was_ready': wasReady,
    ...Object.fromEntries(stageSeconds),
  };
}

type EnhanceFiles = Pick<EnhanceRequest, 'input' | 'outputDir' | 'outputName' | 'options'>;

async function enhanceInOnePiece(context: StepContext, files: EnhanceFiles): Promise<EnhanceResult> {
  const { worker, job, signal } = context;
  const { base, perSecond } = worker.tuning.enhanceTimeoutMs;
  try {
    return await worker.media.enhance({
      ...files,
      timeoutMs: base + perSecond * job.durationSeconds,
      signal,
      onProgress: ({ fraction, etaS }) => context.progress(fraction, etaS < 0 ? null : etaS),
    });
  } catch (error) {
    // The measured duration was within the limit. Only decoding shows that the video is longer than the file states.
    if (error instanceof ReelmendError && error.code === 'video_too_long') {
      throw new ReelmendError('source_changed', 'The video is longer than its measurement says.', { cause: error });
    }
    throw error;
  }
}

export function appliedEnhancements({ applied, device, plan, condition }: EnhanceResult): AppliedEnhancements {
  return {
    plan: plan.map(({ name, strength, why }) => ({ stage: name, strength, reason: why })),
    denoise: applied.denoise,
    sharpen: applied.sharpen,
    face_restoration: applied.faceRestoration,
    adaptive_contrast: applied.adaptiveContrast,
    model: applied.model,
    device,
    ...(condition === '' ? {} : { condition }),
  };
}

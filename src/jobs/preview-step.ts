/**
 * The enhancement of a preview: chooses the most informative stretches of the stored original, and makes each of them once
 * without enhancement and once with each setting. Each clip is a segment. The engine decides by the whole video, so a clip
 * shows what the job would make.
 */
import { join } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import { videoSeconds } from '../domain/job.ts';
import { candidateStarts, chooseStretches, type PreviewClip, type PreviewFacts, type Stretch, type StretchSample, stretchesOf, untouchedCrf } from '../domain/previews.ts';
import { isEmptySegment } from '../media/failures.ts';
import type { EnhanceRequest, EnhanceResult } from '../media/types.ts';
import { openToChild } from '../media/child-user.ts';
import type { StoredFile } from '../store/index.ts';
import { mediaOptions } from './media-options.ts';
import { storeFile } from './store-file.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import type { StepContext } from './step.ts';

interface Files {
  inputPath: string;
  outputDir: string;
}

type Options = EnhanceRequest['options'];
type Span = Pick<Stretch, 'start' | 'duration'>;

export async function makePreview(context: StepContext, facts: PreviewFacts, files: Files): Promise<void> {
  const report = progressReporter(context, facts);
  const stretches = await findStretches(context, files, report);
  context.logger.info({ stretches }, 'stretches chosen');
  const clips: PreviewClip[] = [];
  const stored: StoredFile[] = [];
  for (const [stretch, span] of stretches.entries()) {
    for (const setting of [null, ...facts.settings.keys()]) {
      const made = await storeClip(context, files, { number: clips.length + 1, span, options: optionsOf(context, facts, setting) });
      stored.push(made.stored);
      clips.push({ ...made.facts, stretch, setting });
      report();
    }
  }
  const { worker, job, fence, signal } = context;
  await retryOnDatabaseFault(signal, () => worker.store.leases.finishPreview(fence, { stretches, clips, stored }));
  worker.metrics.jobDone(job);
}

/** Counts what is done: samples and clips weigh the same. */
function progressReporter({ progress, job }: StepContext, { settings }: PreviewFacts): () => void {
  const durationS = videoSeconds(job);
  const all = candidateStarts(durationS).length + stretchesOf(durationS).count * (1 + settings.length);
  const start = performance.now();
  let done = 0;
  return () => {
    done += 1;
    const perPiece = (performance.now() - start) / 1000 / done;
    progress(done / all, perPiece * (all - done));
  };
}

/** Samples the candidates one after the other, because one job already uses all the worker's cores. */
async function findStretches(context: StepContext, files: Files, report: () => void): Promise<Stretch[]> {
  const durationS = videoSeconds(context.job);
  const samples: StretchSample[] = [];
  for (const start of candidateStarts(durationS)) {
    const found = await sample(context, files, start).catch((error: unknown) => {
      if (isEmptySegment(error)) return null;
      throw error;
    });
    if (found !== null) samples.push(found);
    report();
  }
  const stretches = chooseStretches(samples, durationS);
  // A preview with missing clips fails and is refunded.
  if (stretches.length === stretchesOf(durationS).count) return stretches;
  throw new ReelmendError('processing_failed', 'The frames of the video are too far apart for a preview.');
}

/** Long enough to include movement; a candidate lasts 2 s. */
const sampleSeconds = 1;
/** Finds faces and hardly changes them, so that they do not count as hard to encode. */
const barelyRestored = 0.01;
const untouched = { target: 'source', model: 'none', denoise: 'off', sharpen: 'off', adaptiveContrast: 'off', faceRestoration: 'off' } as const;

/**
 * Encodes the middle of a candidate at one quality, with nothing but the search for faces, and plans the restoration of the
 * encoded sample, because a plan of the original covers the whole video. Runs on the CPU, because faces are found only there.
 */
async function sample(context: StepContext, files: Files, start: number): Promise<StretchSample> {
  const { worker, job, signal } = context;
  const { seconds } = stretchesOf(videoSeconds(job));
  const duration = Math.min(sampleSeconds, seconds);
  const span = { start: start + (seconds - duration) / 2, duration };
  const outputName = `sample-${start.toFixed(3)}.mp4`;
  const base = mediaOptions(worker, job);
  const encoder = { ...worker.config.encoder, crf: 18, maxBitrate: 0 };
  const options: Options = { ...base, ...untouched, faceRestoration: barelyRestored, device: 'cpu', encoder };
  const result = await enhanceSpan(context, files, { span, outputName, options });
  const inputPath = join(files.outputDir, outputName);
  await openToChild(inputPath);
  const plan = await worker.media.plan({ inputPath, options: { ...base, target: '1080p', device: 'cpu' }, timeoutMs: worker.tuning.enhanceTimeoutMs.base, signal });
  return {
    start,
    facesPerFrame: result.faces / result.frames,
    bytesPerSecond: result.sizeBytes / Math.max(result.durationS, 0.001),
    damage: plan.stages.reduce((sum, { name, strength }) => (restorationStages.has(name) ? sum + strength : sum), 0),
  };
}

/** The stages whose strength follows from the damage of the source. */
const restorationStages: ReadonlySet<string> = new Set(['denoise', 'model', 'face_restoration']);

/** The options of a job with that setting; null: those of the untouched stretch. */
function optionsOf({ worker, job }: StepContext, { settings }: PreviewFacts, setting: number | null): Options {
  if (setting === null) {
    return { ...mediaOptions(worker, job), ...untouched, encoder: { ...worker.config.encoder, crf: untouchedCrf, maxBitrate: 0 } };
  }
  const { resolution, model = null, enhancements = {}, output: outputSettings = {} } = settings[setting]!;
  return mediaOptions(worker, { ...job, resolution, model, enhancements, outputSettings });
}

interface NewClip {
  /** 1, 2, 3 … */
  number: number;
  span: Span;
  options: Options;
}

async function storeClip(context: StepContext, files: Files, { number, span, options }: NewClip) {
  const { worker, fence, signal } = context;
  const outputName = `clip-${number}.mp4`;
  const result = await enhanceSpan(context, files, { span, outputName, options });
  worker.metrics.enhanced(result);
  signal.throwIfAborted();
  const key = await retryOnDatabaseFault(signal, () => worker.store.objects.registerPendingObject(fence, { clip: number }));
  const stored = await storeFile(worker.storage, { key, path: join(files.outputDir, outputName) }, signal);
  return { stored, facts: { key, width: result.width, height: result.height, size_bytes: stored.size } };
}

function enhanceSpan({ worker, signal }: StepContext, { inputPath, outputDir }: Files, { span, outputName, options }: { span: Span; outputName: string; options: Options }): Promise<EnhanceResult> {
  const { base, perSecond } = worker.tuning.enhanceTimeoutMs;
  return worker.media.enhance({
    ...{ input: inputPath, outputDir, outputName, signal },
    options: { ...options, segment: { startS: span.start, endS: span.start + span.duration } },
    timeoutMs: Math.ceil(base + perSecond * span.duration),
  });
}

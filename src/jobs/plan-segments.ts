/** Cuts a long video into segments. Each is a task of its own. */
import { videoSeconds } from '../domain/job.ts';
import type { EnhanceRequest } from '../media/types.ts';
import type { DeviceClass } from '../store/index.ts';
import { copyTimeoutMs } from './copy-timeout.ts';
import { isCut } from './disk-needs.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import type { StepContext } from './step.ts';
import type { WorkerConfig } from './worker-context.ts';

type EngineOptions = EnhanceRequest['options'];

/** Segments of a long video are longer, so that their number stays small. */
const wantedSeconds = (durationS: number) => Math.min(40, Math.max(20, durationS / 500));

/**
 * True when the video was cut: then its segments are queued, and this step is over. False when it is enhanced in one piece: it
 * is short, segments are not enabled, or the engine cannot cut it exactly.
 */
export async function planSegments(context: StepContext, inputPath: string, options: EngineOptions): Promise<boolean> {
  const { worker, job, fence, inOnePiece, signal, logger } = context;
  if (inOnePiece || !isCut(worker.config, job)) return false;
  const { text, segments, plan, whyWhole } = await worker.media.planSegments({
    inputPath,
    options,
    lengths: { shortestS: 10, wantedS: wantedSeconds(videoSeconds(job)), longestS: 60 },
    timeoutMs: copyTimeoutMs(context, job.source?.size_bytes ?? 0),
    signal,
  });
  logger.info({ segments: segments.length, ...(whyWhole === '' ? {} : { whyWhole }) }, 'segments planned');
  if (segments.length < 2) return false;
  const spans = segments.map(({ startS, endS, frames }) => ({ startSeconds: startS, endSeconds: endS, frames }));
  const planned = { text, deviceClass: classOf(plan.device), engine: worker.engine, segments: spans, atOnce: segmentsAtOnce(worker) };
  await retryOnDatabaseFault(signal, () => worker.store.segments.planned(fence, planned));
  return true;
}

/** Enough for a large fleet. Further segments are queued as these end, so the queue stays short. */
const defaultSegmentsAtOnce = 64;

export const segmentsAtOnce = ({ config }: { config: Pick<WorkerConfig, 'segmentsAtOnce'> }): number => config.segmentsAtOnce ?? defaultSegmentsAtOnce;

const classOf = (device: string): DeviceClass => (device.startsWith('cuda') ? 'cuda' : 'cpu');

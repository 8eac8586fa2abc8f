/** The task `job_enhance`: enhances a video, one segment of it, or joins the segments. */
import { enhanceJob } from './enhance-step.ts';
import { joinJob } from './join-step.ts';
import { enhancementOf } from './payload.ts';
import { runSegment } from './segment-step.ts';
import type { WorkerContext } from './worker-context.ts';

export const enhanceTask = (worker: WorkerContext) => (payload: unknown): Promise<void> => {
  const { jobId, segment, isJoin } = enhancementOf(payload);
  if (segment !== null) return runSegment(worker, jobId, segment);
  return isJoin ? joinJob(worker, jobId) : enhanceJob(worker, jobId);
};

/** The tasks that use the slots for enhancements: whole videos and segments for the classes of devices that this worker has, and joins. */
import { type DeviceClass, taskOfSegment, taskOfWhole } from '../store/index.ts';
import { enhanceJob } from './enhance-step.ts';
import { joinJob } from './join-step.ts';
import { jobIdOf, segmentOf } from './payload.ts';
import { runSegment } from './segment-step.ts';
import type { WorkerContext, WorkerDeps } from './worker-context.ts';

type RunTask = (payload: unknown) => Promise<void>;

export function enhancementTasks(worker: WorkerContext): Record<string, RunTask> & { job_enhance: RunTask } {
  const segment: RunTask = (payload) => runSegment(worker, segmentOf(payload));
  const whole: RunTask = (payload) => enhanceJob(worker, jobIdOf(payload));
  return {
    job_enhance: whole,
    job_join: (payload) => joinJob(worker, jobIdOf(payload)),
    ...Object.fromEntries(worker.deviceClasses.flatMap((each) => [[taskOfSegment(each), segment], [taskOfWhole(each), whole]] as const)),
  };
}

/** `auto` uses the CPU, too: for videos whose segments failed on a GPU. */
export function deviceClassesOf({ media, config }: Pick<WorkerDeps, 'media' | 'config'>): DeviceClass[] {
  if (config.device !== 'auto') return [config.device.startsWith('cuda') ? 'cuda' : 'cpu'];
  return media.hasGpu ? ['cuda', 'cpu'] : ['cpu'];
}

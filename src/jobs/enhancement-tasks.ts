/** The tasks that use the slots for enhancements: whole videos and segments for the device classes that this worker has, and joins. */
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

/**
 * For `work --once`: the same tasks, but each goes on with its job to the end, as far as other workers do not have it. Leases
 * make the remaining queue rows harmless.
 */
export function wholeJobTasks(worker: WorkerContext): ReturnType<typeof enhancementTasks> {
  const tasks = enhancementTasks(worker);
  const toTheEnd = (task: RunTask): RunTask => async (payload) => {
    await task(payload);
    await runRest(worker, jobIdOf(payload));
  };
  const all = Object.entries(tasks).map(([name, task]) => [name, toTheEnd(task)] as const);
  return { ...Object.fromEntries(all), job_enhance: toTheEnd(tasks.job_enhance) };
}

async function runRest(worker: WorkerContext, jobId: string): Promise<void> {
  const tried = new Set<number>();
  while (!worker.stopping.aborted) {
    const waiting = await worker.store.segments.waiting(jobId, worker.deviceClasses);
    // One that failed is retried later, by any worker.
    if (waiting.some(({ number }) => tried.has(number))) return;
    const number = waiting.find(({ isDelayed }) => !isDelayed)?.number;
    if (number === undefined) return joinJob(worker, jobId);
    tried.add(number);
    await runSegment(worker, { jobId, number });
  }
}

/** `auto` uses the CPU, too: for videos whose segments failed on a GPU. */
export function deviceClassesOf({ media, config }: Pick<WorkerDeps, 'media' | 'config'>): DeviceClass[] {
  if (config.device !== 'auto') return [config.device.startsWith('cuda') ? 'cuda' : 'cpu'];
  return media.hasGpu ? ['cuda', 'cpu'] : ['cpu'];
}

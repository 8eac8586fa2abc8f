/**
 * The tasks that use the slots for enhancements. A worker takes whole videos for its device classes, segments for its device classes
 * and its engine, and joins for its engine.
 */
import { createHash } from 'node:crypto';
import { type DeviceClass, taskOfJoin, taskOfSegment, taskOfWhole } from '../store/index.ts';
import { enhanceJob } from './enhance-step.ts';
import { joinJob } from './join-step.ts';
import { jobIdOf, segmentOf } from './payload.ts';
import { runSegment } from './segment-step.ts';
import type { WorkerContext, WorkerDeps } from './worker-context.ts';

type RunTask = (payload: unknown) => Promise<void>;

export function enhancementTasks(worker: WorkerContext): Record<string, RunTask> & { job_enhance: RunTask } {
  const segment: RunTask = (payload) => runSegment(worker, segmentOf(payload));
  const join: RunTask = (payload) => joinJob(worker, jobIdOf(payload));
  const whole: RunTask = (payload) => enhanceJob(worker, jobIdOf(payload));
  return {
    job_enhance: whole,
    ...Object.fromEntries(worker.deviceClasses.map((each) => [taskOfWhole(each), whole])),
    // Without an engine: rows of older versions.
    ...Object.fromEntries([worker.engine, null].flatMap((engine) => [
      [taskOfJoin(engine), join] as const,
      ...worker.deviceClasses.map((each) => [taskOfSegment(each, engine), segment] as const),
    ])),
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
    const waiting = await worker.store.segments.waiting(jobId, worker);
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

/** The id of a worker's engine in names of tasks, which have at most 128 characters: engines with the same id make and join pieces of one plan. */
export const engineOf = ({ media }: Pick<WorkerDeps, 'media'>): string => createHash('sha256').update(media.engine).digest('hex').slice(0, 16);

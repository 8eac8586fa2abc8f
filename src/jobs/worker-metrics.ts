/** Prometheus metrics of a worker's own work. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { jobErrorCodes } from '../domain/errors.ts';
import type { Mode } from '../domain/job.ts';
import type { EnhanceResult } from '../media/types.ts';
import type { Step } from '../store/index.ts';
import { type ScheduledTaskName, scheduledTaskNames } from '../store/queue.ts';

/** How one run of a step ended. */
export type StepOutcome = 'done' | 'failed' | 'retried' | 'returned';

/** seconds: from a step of test mode to ten minutes of 4K video on a CPU */
const stepBuckets = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** seconds until a job's first frame reaches the stages, with a warm media child and with a new one */
const startBuckets = [0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60];

export interface WorkerMetrics {
  stepEnded(step: Step, outcome: StepOutcome, seconds: number): void;
  jobDone(job: { mode: Mode }): void;
  jobFailed(job: { mode: Mode }, code: string): void;
  /** its segments are planned anew, because they failed on their device class, or because no worker has it or the engine */
  jobReplanned(reason: 'failed' | 'no_worker'): void;
  scheduledTaskEnded(task: ScheduledTaskName, outcome: 'done' | 'failed'): void;
  enhanced(result: Pick<EnhanceResult, 'frames' | 'device' | 'stages' | 'wallSeconds' | 'startMs' | 'wasReady'>): void;
  webhookAttempted(outcome: string): void;
  /** a step failed by a fault of the storage */
  storageFault(): void;
  /** whether the storage answers this worker */
  storageUp(isUp: boolean): void;
  /** whether a device of this machine gets jobs */
  deviceUsable(device: string, isUsable: boolean): void;
}

/**
 * Registers the metrics that docs/monitoring.md lists. Enhanced frames ÷ core seconds of a stage is the stage's speed on
 * one core.
 */
export function createWorkerMetrics(registry: Registry = new Registry()): WorkerMetrics {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `reelmend_${name}`, help, labelNames, registers: [registry] });
  const steps = counter('job_steps_total', 'Finished runs of job steps, by outcome.', ['step', 'outcome']);
  const finished = counter('jobs_finished_total', 'Jobs that ended, done or failed, by mode.', ['mode']);
  const failures = counter('job_failures_total', 'Jobs that failed, by error code and mode.', ['code', 'mode']);
  // Prometheus sees no rate in a series that begins at 1, and a worker that an autoscaler started may end after one job.
  for (const mode of ['live', 'test'] as const) {
    finished.inc({ mode }, 0);
    for (const code of jobErrorCodes) failures.inc({ code, mode }, 0);
  }
  const scheduledRuns = counter('scheduled_task_runs_total', 'Runs of the scheduled tasks, by outcome.', ['task', 'outcome']);
  for (const task of scheduledTaskNames) for (const outcome of ['done', 'failed']) scheduledRuns.inc({ task, outcome }, 0);
  const replans = counter('jobs_replanned_total', 'Jobs whose segments were planned anew, because they failed on their device class, or no worker has it or their engine.', ['reason']);
  const attempts = counter('webhook_attempts_total', 'Attempts to deliver a webhook, by the resulting state of the delivery.', ['outcome']);
  const frames = counter('enhanced_frames_total', 'Enhanced frames.', ['device']);
  const wall = counter('enhancement_seconds_total', 'Wall-clock seconds of enhancing.', ['device']);
  const stages = counter('stage_cpu_seconds_total', 'CPU seconds of each engine stage.', ['stage', 'device']);
  const storageFaults = counter('storage_faults_total', 'Steps that failed because the storage did not answer or refused.', []);
  const storageUp = new Gauge({ name: 'reelmend_storage_up', help: 'Whether the storage answers this worker (1) or not (0).', registers: [registry] });
  storageUp.set(1);
  const deviceUsable = new Gauge({ name: 'reelmend_device_usable', help: 'Whether a device of this worker can be used (1) or not (0).', labelNames: ['device'], registers: [registry] });
  const durations = new Histogram({
    name: 'reelmend_job_step_duration_seconds',
    help: 'Duration of a job step in seconds.',
    labelNames: ['step'],
    buckets: stepBuckets,
    registers: [registry],
  });
  const starts = new Histogram({
    name: 'reelmend_enhancement_start_seconds',
    help: 'Seconds from the start of enhancing until the first frame reached the stages, with a warm or a new media child.',
    labelNames: ['child'],
    buckets: startBuckets,
    registers: [registry],
  });
  return {
    stepEnded(step, outcome, seconds) {
      steps.inc({ step, outcome });
      durations.observe({ step }, seconds);
    },
    jobDone: ({ mode }) => finished.inc({ mode }),
    jobFailed({ mode }, code) {
      finished.inc({ mode });
      failures.inc({ code, mode });
    },
    scheduledTaskEnded: (task, outcome) => scheduledRuns.inc({ task, outcome }),
    jobReplanned: (reason) => replans.inc({ reason }),
    storageFault: () => storageFaults.inc(),
    storageUp: (isUp) => storageUp.set(isUp ? 1 : 0),
    deviceUsable: (device, isUsable) => deviceUsable.set({ device }, isUsable ? 1 : 0),
    webhookAttempted: (outcome) => attempts.inc({ outcome }),
    enhanced(result) {
      const { device } = result;
      frames.inc({ device }, result.frames);
      wall.inc({ device }, result.wallSeconds);
      starts.observe({ child: result.wasReady ? 'warm' : 'new' }, result.startMs / 1000);
      for (const { name, cpuSeconds } of result.stages) stages.inc({ stage: name, device }, cpuSeconds);
    },
  };
}

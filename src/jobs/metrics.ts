/** What a worker counts of its own work, for Prometheus. */
import { Counter, Histogram, Registry } from 'prom-client';
import type { EnhanceResult } from '../media/types.ts';
import type { Step } from '../store/index.ts';

/** How one run of a step ended. */
export type StepOutcome = 'done' | 'failed' | 'retried' | 'given_back';

/** seconds; from a sandbox step to ten minutes of 4K on a CPU */
const stepBuckets = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** seconds until a job's first frame is in the stages: with a child that was ready, and without */
const startBuckets = [0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60];

export interface WorkerMetrics {
  stepEnded(step: Step, outcome: StepOutcome, seconds: number): void;
  jobFailed(code: string): void;
  enhanced(result: Pick<EnhanceResult, 'frames' | 'device' | 'stages' | 'wallSeconds' | 'startMs' | 'wasReady'>): void;
  webhookTried(outcome: string): void;
}

/**
 * `reelmend_job_steps_total` {step, outcome}, `reelmend_job_step_duration_seconds` {step},
 * `reelmend_job_failures_total` {code}, `reelmend_webhook_tries_total` {outcome}, and of the engine
 * `reelmend_frames_total` {device}, `reelmend_enhance_seconds_total` {device} (wall clock) and
 * `reelmend_stage_cpu_seconds_total` {stage, device}: frames ÷ seconds is a stage's speed on one core;
 * `reelmend_enhance_start_seconds` {child: warm, new} from the call of the engine's child to its first frame.
 */
export function createWorkerMetrics(registry: Registry = new Registry()): WorkerMetrics {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `reelmend_${name}`, help, labelNames, registers: [registry] });
  const steps = counter('job_steps_total', 'Steps of jobs that ended, by outcome.', ['step', 'outcome']);
  const failures = counter('job_failures_total', 'Jobs that ended in error, by code.', ['code']);
  const tries = counter('webhook_tries_total', 'Webhooks sent, by what became of the delivery.', ['outcome']);
  const frames = counter('frames_total', 'Frames enhanced.', ['device']);
  const wall = counter('enhance_seconds_total', 'Seconds that enhancing took.', ['device']);
  const stages = counter('stage_cpu_seconds_total', 'Core seconds that a stage used.', ['stage', 'device']);
  const durations = new Histogram({
    name: 'reelmend_job_step_duration_seconds',
    help: 'Seconds that a step of a job took.',
    labelNames: ['step'],
    buckets: stepBuckets,
    registers: [registry],
  });
  const starts = new Histogram({
    name: 'reelmend_enhance_start_seconds',
    help: 'Seconds until the first frame of a job was in the stages.',
    labelNames: ['child'],
    buckets: startBuckets,
    registers: [registry],
  });
  return {
    stepEnded(step, outcome, seconds) {
      steps.inc({ step, outcome });
      durations.observe({ step }, seconds);
    },
    jobFailed: (code) => failures.inc({ code }),
    webhookTried: (outcome) => tries.inc({ outcome }),
    enhanced(result) {
      const { device } = result;
      frames.inc({ device }, result.frames);
      wall.inc({ device }, result.wallSeconds);
      starts.observe({ child: result.wasReady ? 'warm' : 'new' }, result.startMs / 1000);
      for (const { name, cpuSeconds } of result.stages) stages.inc({ stage: name, device }, cpuSeconds);
    },
  };
}

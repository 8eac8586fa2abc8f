/** The only step of a sandbox job: fetch nothing, wait a little, deliver a sample of the target size. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FrameliftError } from '../domain/errors.ts';
import type { Resolution } from '../domain/job.ts';
import { sandboxScenario, slowScenarioS } from '../domain/sandbox.ts';
import { jobIdOf } from './payload.ts';
import { type SharedSamples, sharedSamples } from './shared-samples.ts';
import { runStep, type StepContext } from './step.ts';
import type { WorkerContext } from './types.ts';

export const sandboxTask = (worker: WorkerContext) => {
  const samples = sharedSamples(worker);
  return (payload: unknown) => runStep(worker, 'sandbox', jobIdOf(payload), (context) => sandbox(context, samples));
};

const sizes: Readonly<Record<Resolution, { width: number; height: number }>> = {
  '1080p': { width: 1920, height: 1080 },
  '4k': { width: 3840, height: 2160 },
};

async function sandbox(context: StepContext, samples: SharedSamples): Promise<void> {
  const { worker, job, fence, signal } = context;
  const scenario = sandboxScenario(job.videoUrl);
  const totalMs = scenario === 'slow' ? slowScenarioS * 1000 : worker.config.sandboxDelayMs;
  const failing = scenario === 'processing_failed';
  const [path] = await Promise.all([
    failing ? null : worker.sandboxSample(job.resolution, signal),
    pretendToWork(context, totalMs),
  ]);
  if (path === null) throw new FrameliftError('processing_failed', 'The sandbox was asked to fail.');
  const stored = await samples(path, job.resolution);
  await worker.store.leases.finish(fence, {
    stored,
    isShared: true,
    output: { ...sizes[job.resolution], size_bytes: stored.size, sha256: stored.sha256 },
    applied: null,
  });
}

async function pretendToWork({ progress, signal }: StepContext, totalMs: number): Promise<void> {
  const start = performance.now();
  for (let elapsed = 0; elapsed < totalMs; elapsed = performance.now() - start) {
    progress(elapsed / totalMs, (totalMs - elapsed) / 1000);
    await sleep(Math.min(250, totalMs - elapsed), undefined, { signal });
  }
}

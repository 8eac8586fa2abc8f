/**
 * The only step of a job in test mode: downloads nothing, waits a little and delivers a sample of the target size. The
 * job waits in the queue and holds no slot meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobErrorCode } from '../domain/errors.ts';
import type { JobRecord } from '../domain/job.ts';
import { targetBoxes } from '../domain/output-size.ts';
import { candidateStarts, chooseStretches, type PreviewClip, type PreviewFacts } from '../domain/previews.ts';
import { defaultVideoLimits, testJobSeconds } from '../domain/limits.ts';
import { isSlow, requestedFailure, slowScenarioS } from '../domain/test-mode.ts';
import { jobIdOf } from './payload.ts';
import { type SharedSamples, sharedSamples } from './shared-samples.ts';
import { runStep, type StepContext } from './step.ts';
import type { WorkerConfig, WorkerContext } from './worker-context.ts';

/** share of the total time between two progress reports, which are at least a second apart */
const tickShare = 0.1;

export const testModeTask = (worker: WorkerContext) => {
  const samples = sharedSamples(worker);
  return async (payload: unknown): Promise<void> => {
    const jobId = jobIdOf(payload);
    const leftS = await worker.store.leases.wait(jobId, 'test_mode', (job) => {
      const totalS = durationS(job, worker.config);
      return { totalS, tickS: Math.max(1, totalS * tickShare) };
    });
    if (leftS !== null) await runStep(worker, 'test_mode', jobId, (context) => deliver(context, samples, leftS));
  };
};

const durationS = (job: JobRecord, { testModeDelayMs }: WorkerConfig): number =>
  isSlow(job) ? slowScenarioS : testModeDelayMs / 1000;

async function deliver(context: StepContext, samples: SharedSamples, leftS: number): Promise<void> {
  const { worker, job, fence, signal } = context;
  const failure = requestedFailure(job);
  await sleep(leftS * 1000, undefined, { signal });
  if (failure !== null) return fail(context, failure);
  if (job.preview !== null) return deliverPreview(context, samples, job.preview);
  const stored = await samples(await worker.testModeSample(job.resolution, signal), job.resolution);
  await worker.store.leases.finish(fence, {
    stored,
    isShared: true,
    output: { ...targetBoxes[job.resolution], size_bytes: stored.size, sha256: stored.sha256 },
    applied: null,
  });
  worker.metrics.jobDone(job);
}

/** At once: the step is not tried again as it would be after a real `video_unreachable`. */
async function fail({ worker, job, fence, logger }: StepContext, code: JobErrorCode): Promise<void> {
  await worker.store.leases.fail(fence, { code, message: 'The name of the video of this test job asks for a failure.' });
  logger.info({ code }, 'test job failed as requested');
  worker.metrics.jobFailed(job, code);
}

/** The stretches that a video of that length without any mark would have. Every clip is a sample. */
async function deliverPreview({ worker, job, fence, signal }: StepContext, samples: SharedSamples, { settings }: PreviewFacts): Promise<void> {
  const durationS = testJobSeconds(undefined, worker.config.limits ?? defaultVideoLimits);
  const unmarked = candidateStarts(durationS).map((start) => ({ start, facesPerFrame: 0, bytesPerSecond: 0, damage: 0 }));
  const stretches = chooseStretches(unmarked, durationS);
  const clips: PreviewClip[] = [];
  for (const stretch of stretches.keys()) {
    for (const setting of [null, ...settings.keys()]) {
      const resolution = setting === null ? '1080p' : settings[setting]!.resolution;
      const { key, size } = await samples(await worker.testModeSample(resolution, signal), resolution);
      clips.push({ key, stretch, setting, ...targetBoxes[resolution], size_bytes: size });
    }
  }
  await worker.store.leases.finishPreview(fence, { stretches, clips, stored: [] });
  worker.metrics.jobDone(job);
}

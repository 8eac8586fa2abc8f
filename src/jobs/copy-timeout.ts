/** How long a media child may read a whole video and write it again. */
import { videoSeconds } from '../domain/job.ts';
import type { StepContext } from './step.ts';

/** ms. A worker may have a slow disk, so the limit grows with the bytes, and with the packets, whose number grows with the duration. */
export function copyTimeoutMs({ worker, job }: Pick<StepContext, 'worker' | 'job'>, bytes: number): number {
  const { base, perSecond, perMegabyte } = worker.tuning.copyTimeoutMs;
  return Math.ceil(base + perSecond * videoSeconds(job) + (perMegabyte * bytes) / 1e6);
}

/** Refunds: in full when nothing was delivered, pro rata when a running job is cancelled. */
import type { JobStatus } from './job.ts';

export interface RefundQuery {
  status: JobStatus;
  /** credits taken at creation */
  creditsCharged: number;
  /** credits refunded before */
  creditsRefunded: number;
  /** whole billed seconds */
  durationSeconds: number;
  /** share of the video that is processed and not lost, 0…1 */
  processed: number;
}

/** Credits to refund when a job is deleted; never more than were not refunded before. */
export function refundOnDelete(query: RefundQuery): number {
  const held = Math.max(0, query.creditsCharged - query.creditsRefunded);
  if (query.status === 'queued') return held;
  if (query.status === 'running') return Math.min(held, unprocessedCredits(query));
  return 0;
}

/** Credits to refund when a job fails: all that were not refunded before. */
export function refundOnFailure(query: Pick<RefundQuery, 'creditsCharged' | 'creditsRefunded'>): number {
  return Math.max(0, query.creditsCharged - query.creditsRefunded);
}

/** Seconds of a video by which a product of a share and a duration is off at most. */
const roundingS = 1e-6;

/** A second that was started counts as processed, so the refund is a whole number of credits. */
function unprocessedCredits({ creditsCharged, durationSeconds, processed }: RefundQuery): number {
  // 0.28 × 25 is 7.000000000000001, which is no eighth second.
  const processedS = Math.ceil(Math.min(1, Math.max(0, processed)) * durationSeconds - roundingS);
  return Math.floor(((durationSeconds - processedS) * creditsCharged) / durationSeconds);
}

/** What a customer gets back: in full when nothing was delivered, pro rata when a running job is cancelled. */
import type { JobStatus } from './job.ts';

export interface RefundQuery {
  status: JobStatus;
  /** credits taken at creation */
  creditsCharged: number;
  /** credits given back before */
  creditsRefunded: number;
  /** whole billed seconds */
  durationSeconds: number;
  /** 0…1 */
  progress: number;
}

/** Credits to give back when a job is deleted; never more than is still held. */
export function refundOnDelete(query: RefundQuery): number {
  const held = Math.max(0, query.creditsCharged - query.creditsRefunded);
  if (query.status === 'queued') return held;
  if (query.status === 'running') return Math.min(held, unprocessedCredits(query));
  return 0;
}

/** Credits to give back when a job ends in error: all that is still held. */
export function refundOnFailure(query: Pick<RefundQuery, 'creditsCharged' | 'creditsRefunded'>): number {
  return Math.max(0, query.creditsCharged - query.creditsRefunded);
}

/** A second that was begun counts as processed, so the refund is a whole number of credits. */
function unprocessedCredits({ creditsCharged, durationSeconds, progress }: RefundQuery): number {
  const processed = Math.ceil(Math.min(1, Math.max(0, progress)) * durationSeconds);
  const perSecond = creditsCharged / durationSeconds;
  return Math.floor((durationSeconds - processed) * perSecond);
}

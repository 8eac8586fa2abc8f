/** Watches one job. */
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';
import type { JobFeed } from './job-feed.ts';

export interface WatchOptions {
  feed: JobFeed;
  jobId: string;
  /** reads the job; null if it is unknown or deleted */
  read(): Promise<JobRecord | null>;
  signal: AbortSignal;
}

/**
 * Yields the job now and after every change of its status, progress or remaining time. Ends after the job's last state, when
 * the job is deleted, when the signal fires, and when the feed closes.
 */
export async function* watchJob({ feed, jobId, read, signal }: WatchOptions): AsyncGenerator<JobRecord> {
  // Subscribed before the first read, so that no change is missed between the two.
  const { event, close } = feed.subscribe(jobId);
  try {
    for (let last: JobRecord | undefined; !signal.aborted && !feed.closed;) {
      const job = await read();
      if (job === null || signal.aborted) return;
      if (last === undefined || differs(last, job)) yield job;
      if (isFinal(job.status)) return;
      last = job;
      await event.wait(signal);
    }
  } finally {
    close();
  }
}

/** The database notifies of the same columns (jobs_changed.sql), and `pollJobs` compares them. */
const differs = (a: JobRecord, b: JobRecord) => a.status !== b.status || a.progress !== b.progress || a.etaSeconds !== b.etaSeconds;

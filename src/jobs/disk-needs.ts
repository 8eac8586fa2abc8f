/** How much disk space a job needs, as far as that can be told before it is enhanced. */
import type { JobRecord } from '../domain/job.ts';
import { expectedResultBytes } from '../domain/output-size.ts';

export type SizedJob = Pick<JobRecord, 'id' | 'resolution' | 'durationSeconds' | 'source' | 'outputSettings'>;

/** Whether a video is so long that it is cut into segments. */
export function isCut({ segmentsFromSeconds = 0 }: { segmentsFromSeconds?: number }, { source, durationSeconds }: SizedJob): boolean {
  return segmentsFromSeconds > 0 && (source?.duration ?? durationSeconds) > segmentsFromSeconds;
}

export interface JobBytes {
  source: number;
  /** of the result; in segments, of its pieces beside the file that they are joined to */
  results: number;
}

export function bytesOf(job: SizedJob, standardCrf: number, inSegments: boolean): JobBytes {
  const result = expectedResultBytes(job, standardCrf);
  return { source: job.source?.size_bytes ?? 0, results: inSegments ? 2 * result : result };
}

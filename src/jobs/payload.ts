/** The payload of our queue rows. */
const jobId = /^job_[0-9a-hjkmnp-tv-z]{26}$/;

/** The job that a queue row names. Throws for rows that this version did not write. */
export function jobIdOf(payload: unknown): string {
  const id = typeof payload === 'object' && payload !== null && 'jobId' in payload ? payload.jobId : undefined;
  if (typeof id !== 'string' || !jobId.test(id)) throw new Error('The queue row names no job');
  return id;
}

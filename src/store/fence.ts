/** Identifies one worker's lease on one job (fencing token). */
export interface Fence {
  jobId: string;
  /** grows with every lease */
  attempt: number;
  /** worker id */
  owner: string;
}

/** The job was deleted, or another worker has its lease; the caller's write was refused. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor(jobId: string) {
    super(`The lease on ${jobId} is lost`);
  }
}

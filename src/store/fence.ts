/** Names one worker's hold on one job. */
export interface Fence {
  jobId: string;
  /** grows with every claim */
  attempt: number;
  /** worker id */
  owner: string;
}

/** The job was deleted, or another worker has it: whatever this worker made is refused. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor(jobId: string) {
    super(`The lease on ${jobId} is lost`);
  }
}

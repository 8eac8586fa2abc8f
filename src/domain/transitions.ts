/** The states of a job and the moves between them, as data. */
import type { JobStatus } from './job.ts';

export type Transition = 'start' | 'finish' | 'fail' | 'delete';

/**
 * From which states each move may be made and where it ends; `to: null` = the job is gone for the customer.
 * A queued job may fail without having run (a worker that dies over and over before its first step).
 */
export const transitions: Readonly<Record<Transition, { from: readonly JobStatus[]; to: JobStatus | null }>> = {
  start: { from: ['queued', 'running'], to: 'running' },
  finish: { from: ['running'], to: 'done' },
  fail: { from: ['queued', 'running'], to: 'error' },
  delete: { from: ['queued', 'running', 'done', 'error'], to: null },
};

export function mayMove(from: JobStatus, transition: Transition): boolean {
  return transitions[transition].from.includes(from);
}

/** Whether polling may end. */
export function isFinal(status: JobStatus): boolean {
  return status === 'done' || status === 'error';
}

/**
 * The states of a job and the moves between them, as data. The queries of src/store take their conditions and new states
 * from this table, and the trigger jobs_move_forward of the database refuses every other move.
 */
import type { JobStatus } from './job.ts';

export interface Transition {
  /** states that allow the move; a deleted job makes no move at all */
  from: readonly JobStatus[];
  /** the state after it; null: the status stays and the job is deleted */
  to: JobStatus | null;
}

export const transitions = {
  /** a worker takes the lease, for the first time or again */
  start: { from: ['queued', 'running'], to: 'running' },
  /** the worker with the lease renews it, reports progress, ends a step or gives the job back */
  continue: { from: ['running'], to: 'running' },
  finish: { from: ['running'], to: 'done' },
  /** A queued job fails without having run if its workers die repeatedly before the first step. */
  fail: { from: ['queued', 'running'], to: 'error' },
  delete: { from: ['queued', 'running', 'done', 'error'], to: null },
} as const satisfies Record<string, Transition>;

export type TransitionName = keyof typeof transitions;

/** Whether nothing but a deletion can follow, so that polling may end. */
export function isFinal(status: JobStatus): boolean {
  const moves: Transition[] = [transitions.start, transitions.continue, transitions.finish, transitions.fail];
  return !moves.some(({ from }) => from.includes(status));
}

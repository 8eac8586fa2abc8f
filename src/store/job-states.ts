/** The table of state transitions (domain/transitions.ts) as conditions of queries. */
import type { JobStatus } from '../domain/job.ts';
import { and, inArray, isNull, type SQL, sql } from './orm.ts';
import { type TransitionName, transitions } from '../domain/transitions.ts';
import { jobs } from './schema.ts';

/** The condition that a job's state allows the transition. Every query that changes the state has it in its WHERE clause. */
export const allowsTransition = (transition: TransitionName) =>
  and(inArray(jobs.status, [...transitions[transition].from]), isNull(jobs.deletedAt));

/** As text of the query: with a parameter, the planner could not use an index of the jobs of one status. */
const statusLiterals: Readonly<Record<JobStatus, SQL>> = { queued: sql`'queued'`, running: sql`'running'`, done: sql`'done'`, error: sql`'error'` };

/** The condition of a list of jobs of one status. */
export const hasStatus = (status: JobStatus): SQL => sql`${jobs.status} = ${statusLiterals[status]}`;

/** The jobs that have not ended and are not deleted. */
export const isOpen = allowsTransition('start');

/** The table of state transitions (domain/transitions.ts) as conditions of queries. */
import { and, inArray, isNull } from './orm.ts';
import { type TransitionName, transitions } from '../domain/transitions.ts';
import { jobs } from './schema.ts';

/** The condition that a job's state allows the transition. Every query that changes the state has it in its WHERE clause. */
export const allowsTransition = (transition: TransitionName) =>
  and(inArray(jobs.status, [...transitions[transition].from]), isNull(jobs.deletedAt));

/** The jobs that have not ended and are not deleted. */
export const isOpen = allowsTransition('start');

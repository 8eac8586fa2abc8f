/** The table of transitions as conditions of queries. */
import { and, inArray, isNull } from 'drizzle-orm';
import { type TransitionName, transitions } from '../domain/transitions.ts';
import { jobs } from './schema.ts';

/** The condition that a job may make that move; every query that makes one has it in its WHERE clause. */
export const mayMove = (transition: TransitionName) =>
  and(inArray(jobs.status, [...transitions[transition].from]), isNull(jobs.deletedAt));

/** The jobs that have not ended and are not deleted. */
export const isOpen = mayMove('start');

/** Works changes of jobs into lists that are loaded. */
import type { InfiniteData } from '@tanstack/react-query';
import type { ConsoleJob, ConsoleJobList } from '../../contract/types.gen.ts';
import type { JobFilters } from './jobs.ts';

/** The current state of a job, or null if it was deleted. */
export type Changes = ReadonlyMap<string, ConsoleJob | null>;
/** `stale`: the number of the gap of the event stream whose changes it lacks */
type JobPage = ConsoleJobList & { stale?: number };
export type Pages = InfiniteData<JobPage, string | undefined>;

/** `limit`: the jobs that the page shows */
export function mergeIntoLatest(list: ConsoleJobList, changes: Changes, limit: number): ConsoleJobList {
  const fresh = jobsNotIn(list.data, changes, {}).filter(({ id }) => reaches(list, id));
  const data = mergeJobs(list.data, changes, {}, fresh);
  if (data.length <= limit) return { ...list, data };
  const shown = data.slice(0, limit);
  return { data: shown, has_more: true, next_cursor: shown.at(-1)!.id };
}

/** Updates known jobs in place, removes those that no longer match the filters, and puts others where they belong. */
export function mergeIntoPages(pages: Pages, changes: Changes, filters: JobFilters): Pages {
  let fresh = jobsNotIn(
    pages.pages.flatMap(({ data }) => data),
    changes,
    filters,
  );
  const merged = pages.pages.map((page) => {
    const here = fresh.filter(({ id }) => reaches(page, id));
    fresh = fresh.filter(({ id }) => !reaches(page, id));
    return here.length === 0 && !page.data.some(({ id }) => changes.has(id)) ? page : { ...page, data: mergeJobs(page.data, changes, filters, here) };
  });
  return { ...pages, pages: merged };
}

/** Changed jobs that the list lacks although they fit. */
function jobsNotIn(list: readonly ConsoleJob[], changes: Changes, filters: JobFilters): ConsoleJob[] {
  const known = new Set(list.map(({ id }) => id));
  return [...changes.values()].filter((job) => job !== null).filter((job) => !known.has(job.id) && fits(job, filters));
}

/** Ids sort by time, and the newest is first. A page goes down to its cursor, and the last one of the whole list to the end. */
const reaches = ({ next_cursor: cursor }: Pick<ConsoleJobList, 'next_cursor'>, id: string): boolean => cursor === null || id >= cursor;

/** Replaces or removes jobs that have changed, and adds the new ones. */
function mergeJobs(jobs: readonly ConsoleJob[], changes: Changes, filters: JobFilters, fresh: readonly ConsoleJob[]): ConsoleJob[] {
  const kept = jobs.flatMap((job) => {
    const change = changes.get(job.id);
    if (change === undefined) return [job];
    return change !== null && fits(change, filters) ? [change] : [];
  });
  return [...fresh, ...kept].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** One form for case and accents, as `search_text` of the database. */
const folded = (text: string): string => text.toLowerCase().normalize('NFC');

const contains = (text: string, part: string): boolean => folded(text).includes(folded(part));

function fits(job: ConsoleJob, { mode, status, q }: JobFilters): boolean {
  return (
    (mode === undefined || job.mode === mode) &&
    (status === undefined || job.status === status) &&
    (q === undefined || contains(job.id, q) || contains(job.source_name, q))
  );
}

/** Keeps the lists of jobs current: with the changes of the event stream (job-stream.ts), also while lists are being loaded. */
import type { QueryClient } from '@tanstack/react-query';
import type { ConsoleJob, ConsoleJobList } from '../../contract/types.gen.ts';
import { type Changes, mergeIntoLatest, mergeIntoPages, type Pages } from './job-changes.ts';
import type { JobFilters } from './jobs.ts';

export const jobsKey = (filters: JobFilters) => ['jobs', filters] as const;
export const latestJobsKey = (limit: number) => ['latest-jobs', limit] as const;

/** Changes since the beginning of each load: its answer may be older than they are. */
const loads = new Set<Map<string, ConsoleJob | null>>();

/** To be called for every change that the stream reports. */
export function noteForLoads(id: string, job: ConsoleJob | null): void {
  for (const changes of loads) changes.set(id, job);
}

/** Number of times that changes may have been missed. */
let gaps = 0;

/** Loads, and then works in what has changed meanwhile: the answer replaces the whole list, and may be as old as the beginning of the load. */
export async function withChanges<T>(client: QueryClient, load: () => Promise<T>): Promise<T> {
  const changes = new Map<string, ConsoleJob | null>();
  const gapsBefore = gaps;
  loads.add(changes);
  try {
    return await load();
  } finally {
    loads.delete(changes);
    // Once the list has the answer.
    setTimeout(() => {
      if (changes.size > 0) applyToLists(client, changes);
      if (gaps !== gapsBefore) setStale(client);
    });
  }
}

/** Jobs may have changed unnoticed, on any page. */
export function markStale(client: QueryClient): void {
  gaps += 1;
  setStale(client);
}

function setStale(client: QueryClient): void {
  client.setQueriesData<Pages>({ queryKey: ['jobs'] }, (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, stale: gaps })) });
}

export function applyToLists(client: QueryClient, changes: Changes): void {
  for (const [queryKey, pages] of client.getQueriesData<Pages>({ queryKey: ['jobs'] })) {
    if (pages !== undefined) client.setQueryData(queryKey, mergeIntoPages(pages, changes, queryKey[1] as JobFilters));
  }
  for (const [queryKey, list] of client.getQueriesData<ConsoleJobList>({ queryKey: ['latest-jobs'] })) {
    if (list !== undefined) client.setQueryData(queryKey, mergeIntoLatest(list, changes, queryKey[1] as number));
  }
}

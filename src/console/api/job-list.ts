/** The list of jobs: loaded page by page, and kept current by the event stream (job-stream.ts). */
import { type InfiniteData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ConsoleJob, ConsoleJobList } from '../../contract/types.gen.ts';
import { type JobFilters, listJobs } from './jobs.ts';
import { useList } from './lists.ts';

/** The current state of a job, or null if it was deleted. */
export type Changes = ReadonlyMap<string, ConsoleJob | null>;
/** `stale`: the number of the gap of the event stream whose changes it lacks */
type JobPage = ConsoleJobList & { stale?: number };
export type Pages = InfiniteData<JobPage, string | undefined>;

const pageSize = 100;
const jobsKey = (filters: JobFilters) => ['jobs', filters] as const;

/** Changes since the beginning of each load: its answer may be older than they are. */
const loads = new Set<Map<string, ConsoleJob | null>>();

/** To be called for every change that the stream reports. */
export function noteForLoads(id: string, job: ConsoleJob | null): void {
  for (const changes of loads) changes.set(id, job);
}

/** Number of times that changes may have been missed. */
let gaps = 0;

/** Loads, and then works in what has changed meanwhile. An answer replaces the whole list as it was at the beginning of the load. */
async function withChanges<T>(client: QueryClient, load: () => Promise<T>): Promise<T> {
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

const from = (cursor: string | undefined) => (cursor === undefined ? {} : { starting_after: cursor });

export function useLatestJobs(limit: number) {
  const client = useQueryClient();
  return useQuery({ queryKey: ['latest-jobs', limit], queryFn: ({ signal }) => withChanges(client, () => listJobs({ limit }, signal)) });
}

export function useJobs(filters: JobFilters) {
  const client = useQueryClient();
  return useList<ConsoleJob, string>(
    jobsKey(filters),
    (cursor, signal) => withChanges(client, () => listJobs({ ...filters, limit: pageSize, ...from(cursor) }, signal)),
    // The event stream keeps the list current. Reloading a hundred pages would add nothing.
    { staleTime: Infinity, refetchOnWindowFocus: false },
  );
}

/** Jobs may have changed unnoticed, on any page. */
export function markStale(client: QueryClient): void {
  gaps += 1;
  setStale(client);
}

function setStale(client: QueryClient): void {
  client.setQueriesData<Pages>({ queryKey: ['jobs'] }, (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, stale: gaps })) });
}

interface Shown {
  /** indices of jobs in the list */
  first: number;
  last: number;
}

/** pages that are being loaded again */
const loading = new Set<string>();

/** Loads the stale pages again that have the shown jobs, and the first page, which gets the new jobs. The others follow when they are shown. */
export function useFreshPages(filters: JobFilters, shown: Shown = { first: 0, last: 0 }): void {
  const client = useQueryClient();
  useEffect(() => {
    // Not as it was drawn: a page may have been loaded since then.
    const pages = client.getQueryData<Pages>(jobsKey(filters));
    for (const index of pages === undefined ? [] : pagesOf(pages, shown)) {
      const { stale } = pages!.pages[index]!;
      const load = JSON.stringify([filters, pages!.pageParams[index], stale]);
      if (stale === undefined || loading.has(load)) continue;
      loading.add(load);
      // A page that cannot be loaded is tried again when the list changes or is scrolled.
      void reloadPage(client, filters, pages!, index).catch(() => {}).finally(() => loading.delete(load));
    }
  });
}

/** Indices of the pages with the shown jobs, and of the first page. */
function pagesOf({ pages }: Pages, { first, last }: Shown): number[] {
  let end = 0;
  return pages.flatMap(({ data }, index) => {
    const begin = end;
    end += data.length;
    return index === 0 || (begin <= last && end > first) ? [index] : [];
  });
}

async function reloadPage(client: QueryClient, filters: JobFilters, before: Pages, index: number): Promise<void> {
  const cursor = before.pageParams[index];
  const { stale } = before.pages[index]!;
  await withChanges(client, async () => {
    const fresh = await loadUntil(filters, cursor, before.pageParams[index + 1]);
    client.setQueryData<Pages>(jobsKey(filters), (list) => {
      const at = list?.pageParams.indexOf(cursor) ?? -1;
      // A later gap needs another load.
      if (list === undefined || at === -1 || list.pages[at]!.stale !== stale) return list;
      return { ...list, pages: list.pages.with(at, fresh) };
    });
  });
}

/** The jobs of one page. `end`: the cursor of the next one, its last job; undefined: it is the last page. */
async function loadUntil(filters: JobFilters, cursor: string | undefined, end: string | undefined): Promise<ConsoleJobList> {
  const page = await listJobs({ ...filters, limit: pageSize, ...from(cursor) });
  if (end === undefined) return page;
  while (page.has_more && page.next_cursor !== null && page.next_cursor > end) {
    const more = await listJobs({ ...filters, limit: pageSize, ...from(page.next_cursor) });
    Object.assign(page, more, { data: [...page.data, ...more.data] });
  }
  // Jobs after the last one are on the next page, too.
  return { data: page.data.filter(({ id }) => id >= end), has_more: true, next_cursor: end };
}

export function applyToLists(client: QueryClient, changes: Changes): void {
  for (const [queryKey, pages] of client.getQueriesData<Pages>({ queryKey: ['jobs'] })) {
    if (pages !== undefined) client.setQueryData(queryKey, mergeIntoPages(pages, changes, queryKey[1] as JobFilters));
  }
  for (const [queryKey, list] of client.getQueriesData<ConsoleJobList>({ queryKey: ['latest-jobs'] })) {
    if (list !== undefined) client.setQueryData(queryKey, mergeIntoLatest(list, changes, queryKey[1] as number));
  }
}

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

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());

function fits(job: ConsoleJob, { mode, status, q }: JobFilters): boolean {
  return (
    (mode === undefined || job.mode === mode) &&
    (status === undefined || job.status === status) &&
    (q === undefined || contains(job.id, q) || contains(job.source_name, q))
  );
}

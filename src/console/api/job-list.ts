/** The list of jobs: loaded page by page, and kept current by the event stream (live-jobs.ts). */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ConsoleJob, ConsoleJobList } from '../../contract/types.gen.ts';
import { startingAfter } from './client.ts';
import type { Pages } from './job-changes.ts';
import { type JobFilters, listJobs } from './jobs.ts';
import { useList } from './lists.ts';
import { jobsKey, latestJobsKey, withChanges } from './live-jobs.ts';

const pageSize = 100;

export function useLatestJobs(limit: number) {
  const client = useQueryClient();
  return useQuery({ queryKey: latestJobsKey(limit), queryFn: ({ signal }) => withChanges(client, () => listJobs({ limit }, signal)) });
}

export function useJobs(filters: JobFilters) {
  const client = useQueryClient();
  return useList<ConsoleJob, string>(
    jobsKey(filters),
    (cursor, signal) => withChanges(client, () => listJobs({ ...filters, limit: pageSize, ...startingAfter(cursor) }, signal)),
    // The event stream keeps the list current. Reloading a hundred pages would add nothing.
    { staleTime: Infinity, refetchOnWindowFocus: false },
  );
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
  const page = await listJobs({ ...filters, limit: pageSize, ...startingAfter(cursor) });
  if (end === undefined) return page;
  while (page.has_more && page.next_cursor !== null && page.next_cursor > end) {
    const more = await listJobs({ ...filters, limit: pageSize, ...startingAfter(page.next_cursor) });
    Object.assign(page, more, { data: [...page.data, ...more.data] });
  }
  // Jobs after the last one are on the next page, too.
  return { data: page.data.filter(({ id }) => id >= end), has_more: true, next_cursor: end };
}

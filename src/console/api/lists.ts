/** Lists that are read page by page. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

export interface PageOf<T, C extends string | number> {
  data: T[];
  has_more: boolean;
  next_cursor: C | null;
}

export interface ListOptions {
  /** asks again every so many milliseconds */
  intervalMs?: number;
  /** milliseconds for which what is loaded counts as fresh */
  staleTime?: number;
  refetchOnWindowFocus?: boolean;
}

/** All loaded entries of a list, and the means to load more. `load` gets the cursor, undefined for the first page. */
export function useList<T, C extends string | number>(
  key: readonly unknown[],
  load: (cursor: C | undefined, signal: AbortSignal) => Promise<PageOf<T, C>>,
  { intervalMs, ...options }: ListOptions = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam as C | undefined, signal),
    initialPageParam: undefined as C | undefined,
    getNextPageParam: (page: PageOf<T, C>) => (page.has_more ? (page.next_cursor ?? undefined) : undefined),
    ...options,
    // Reading on turns the list into something to study; it is not loaded again under the reader.
    refetchInterval: ({ state }) => (intervalMs !== undefined && (state.data?.pages.length ?? 0) <= 2 ? intervalMs : false),
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data]);
  return {
    data: items,
    error: query.error,
    isPending: query.isPending,
    refetch: query.refetch,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: query.fetchNextPage,
  };
}

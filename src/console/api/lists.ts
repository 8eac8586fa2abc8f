/** Paginated lists. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

export interface PageOf<T, C extends string | number> {
  data: T[];
  has_more: boolean;
  next_cursor: C | null;
}

export interface ListOptions {
  /** polling interval in ms */
  intervalMs?: number;
  /** ms during which loaded data counts as fresh */
  staleTime?: number;
  refetchOnWindowFocus?: boolean;
}

/** All loaded items of a list, and a function to load more. `load` gets the cursor, undefined for the first page. */
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
    // No reload once the user has loaded more pages: the list must not move while they read it.
    refetchInterval: ({ state }) => (intervalMs !== undefined && (state.data?.pages.length ?? 0) <= 2 ? intervalMs : false),
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data]);
  return {
    data: items,
    error: query.error,
    isPending: query.isPending,
    refetch: query.refetch,
    hasMore: query.hasNextPage,
    isExtended: (query.data?.pages.length ?? 0) > 1,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: query.fetchNextPage,
  };
}

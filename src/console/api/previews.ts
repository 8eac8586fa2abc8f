/** API calls and queries of previews. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import type {
  ConsoleCreatePreviewData,
  ConsoleCreatePreviewResponse,
  ConsoleDeletePreviewData,
  ConsoleDeletePreviewResponse,
  ConsoleGetPreviewData,
  ConsoleGetPreviewResponse,
  ConsoleListPreviewsData,
  ConsoleListPreviewsResponse,
  ConsolePreview,
  Preview,
} from '../../contract/types.gen.ts';
import { call, isGone, startingAfter } from './client.ts';
import { isOpen } from './jobs.ts';
import { useList } from './lists.ts';
import { sessionKey } from './session.ts';

/** The page may have been opened under another host name than the one in the links. */
function onThisHost(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname.startsWith('/v1/downloads/') ? `${pathname}${search}` : url;
}

function withOwnLinks(preview: Preview): Preview {
  if (preview.stretches === null) return preview;
  const clip = <T extends { url: string }>(each: T): T => ({ ...each, url: onThisHost(each.url) });
  return {
    ...preview,
    stretches: preview.stretches.map(({ original, results, ...stretch }) => ({ ...stretch, original: clip(original), results: results.map(clip) })),
  };
}

const previewKey = (id: string) => ['preview', id] as const;

export function useCreatePreview() {
  const client = useQueryClient();
  return async (body: ConsoleCreatePreviewData['body'], idempotencyKey: string): Promise<ConsoleCreatePreviewResponse> => {
    const preview = await call<ConsoleCreatePreviewData, ConsoleCreatePreviewResponse>('POST', '/console/api/previews', { body }, { idempotencyKey });
    refreshAfterPreview(client);
    return preview;
  };
}

export function useDeletePreview() {
  const client = useQueryClient();
  return async (id: string): Promise<ConsoleDeletePreviewResponse> => {
    const deletion = await call<ConsoleDeletePreviewData, ConsoleDeletePreviewResponse>('DELETE', '/console/api/previews/{id}', { path: { id } });
    // Asked for again by whoever comes back to it; the page that has deleted it is left.
    void client.invalidateQueries({ queryKey: previewKey(id), refetchType: 'none' });
    refreshAfterPreview(client);
    return deletion;
  };
}

/** Creating, deleting and refunding a preview changes the balance and the logs. The event stream reports no previews. */
function refreshAfterPreview(client: QueryClient): void {
  const keys = [['previews'], sessionKey, ['ledger'], ['usage'], ['audit'], ['certificates']];
  // Not awaited: the caller already has its result.
  for (const queryKey of keys) void client.invalidateQueries({ queryKey });
}

/** Polls until the preview has ended. Its links are kept while the page is open: new ones would restart the videos. */
export function usePreview(id: string) {
  return useQuery({
    queryKey: previewKey(id),
    queryFn: async ({ client, signal }) => {
      const before = client.getQueryData<ConsolePreview>(previewKey(id));
      const found = await call<ConsoleGetPreviewData, ConsoleGetPreviewResponse>('GET', '/console/api/previews/{id}', { path: { id } }, { signal });
      if (isOpen(before?.preview.status) && !isOpen(found.preview.status)) refreshAfterPreview(client);
      return { ...found, preview: withOwnLinks(found.preview) };
    },
    refetchInterval: ({ state }) => !isGone(state.error) && (state.data === undefined ? state.status !== 'error' : isOpen(state.data.preview.status)) && 1000,
    staleTime: 50 * 60_000,
    refetchOnWindowFocus: false,
  });
}

export function usePreviews() {
  return useList<ConsolePreview, string>(
    ['previews'],
    (cursor, signal) => {
      const query = { limit: 50, ...startingAfter(cursor) };
      return call<ConsoleListPreviewsData, ConsoleListPreviewsResponse>('GET', '/console/api/previews', { query }, { signal });
    },
    { intervalMs: 5000 },
  );
}

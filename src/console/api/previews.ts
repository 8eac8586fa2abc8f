/** API calls and queries of previews. */
import { useQuery } from '@tanstack/react-query';
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
import { call } from './client.ts';
import { isOpen } from './jobs.ts';
import { useList } from './lists.ts';

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

export function createPreview(body: ConsoleCreatePreviewData['body'], idempotencyKey: string): Promise<ConsoleCreatePreviewResponse> {
  return call<ConsoleCreatePreviewData, ConsoleCreatePreviewResponse>('POST', '/console/api/previews', { body }, { idempotencyKey });
}

export function deletePreview(id: string): Promise<ConsoleDeletePreviewResponse> {
  return call<ConsoleDeletePreviewData, ConsoleDeletePreviewResponse>('DELETE', '/console/api/previews/{id}', { path: { id } });
}

/** Polls until the preview has ended. Its links are kept while the page is open: new ones would restart the videos. */
export function usePreview(id: string) {
  return useQuery({
    queryKey: ['preview', id],
    queryFn: async ({ signal }) => {
      const found = await call<ConsoleGetPreviewData, ConsoleGetPreviewResponse>('GET', '/console/api/previews/{id}', { path: { id } }, { signal });
      return { ...found, preview: withOwnLinks(found.preview) };
    },
    // A preview that does not exist will not appear.
    refetchInterval: ({ state }) => (state.data === undefined ? state.status !== 'error' : isOpen(state.data.preview.status)) && 1000,
    staleTime: 50 * 60_000,
    refetchOnWindowFocus: false,
  });
}

export function usePreviews() {
  return useList<ConsolePreview, string>(
    ['previews'],
    (cursor, signal) => {
      const query = { limit: 50, ...(cursor === undefined ? {} : { starting_after: cursor }) };
      return call<ConsoleListPreviewsData, ConsoleListPreviewsResponse>('GET', '/console/api/previews', { query }, { signal });
    },
    { intervalMs: 5000 },
  );
}

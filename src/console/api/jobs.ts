/** API calls and queries of jobs. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import type {
  ConsoleCreateJobData,
  ConsoleCreateJobResponse,
  ConsoleCreateQuoteData,
  ConsoleCreateQuoteResponse,
  ConsoleDeleteJobData,
  ConsoleDeleteJobResponse,
  ConsoleGetJobData,
  ConsoleGetJobLinksData,
  ConsoleGetJobLinksResponse,
  ConsoleGetJobResponse,
  ConsoleListJobsData,
  ConsoleListJobsResponse,
  JobStatus,
  Mode,
} from '../../contract/types.gen.ts';
import { call, isGone } from './client.ts';
import { sessionKey } from './session.ts';

export interface JobFilters {
  mode?: Mode;
  status?: JobStatus;
  /** text that the id or the name contains */
  q?: string;
}

export const jobKey = (id: string) => ['job', id] as const;

export function listJobs(query: NonNullable<ConsoleListJobsData['query']>, signal?: AbortSignal) {
  const extra = signal === undefined ? {} : { signal };
  return call<ConsoleListJobsData, ConsoleListJobsResponse>('GET', '/console/api/jobs', { query }, extra);
}

export function useJob(id: string) {
  return useQuery({
    queryKey: jobKey(id),
    queryFn: ({ signal }) =>
      call<ConsoleGetJobData, ConsoleGetJobResponse>('GET', '/console/api/jobs/{id}', { path: { id } }, { signal }),
    // The event stream reports changes. Polling covers proxies that block the stream.
    refetchInterval: ({ state }) => (isOpen(state.data?.job.status) && !isGone(state.error) ? 5000 : false),
  });
}

export function isOpen(status: JobStatus | undefined): boolean {
  return status === 'queued' || status === 'running';
}

export function fetchLinks(id: string): Promise<ConsoleGetJobLinksResponse> {
  return call<ConsoleGetJobLinksData, ConsoleGetJobLinksResponse>('GET', '/console/api/jobs/{id}/links', { path: { id } });
}

/** Links are valid for an hour. They are requested once and kept while the page is open. */
export function useLinks(id: string, enabled: boolean) {
  return useQuery({
    queryKey: ['links', id],
    queryFn: () => fetchLinks(id),
    enabled,
    staleTime: 50 * 60_000,
    refetchOnWindowFocus: false,
  });
}

export function quote(body: ConsoleCreateQuoteData['body'], signal: AbortSignal): Promise<ConsoleCreateQuoteResponse> {
  return call<ConsoleCreateQuoteData, ConsoleCreateQuoteResponse>('POST', '/console/api/quotes', { body }, { signal });
}

export function useCreateJob() {
  const client = useQueryClient();
  return async (body: ConsoleCreateJobData['body'], idempotencyKey: string): Promise<ConsoleCreateJobResponse> => {
    const job = await call<ConsoleCreateJobData, ConsoleCreateJobResponse>(
      'POST',
      '/console/api/jobs',
      { body },
      { idempotencyKey },
    );
    refreshAfterJob(client);
    return job;
  };
}

export function useDeleteJob() {
  const client = useQueryClient();
  return async (id: string): Promise<ConsoleDeleteJobResponse> => {
    const path = { id };
    const deletion = await call<ConsoleDeleteJobData, ConsoleDeleteJobResponse>('DELETE', '/console/api/jobs/{id}', { path });
    refreshAfterJob(client);
    return deletion;
  };
}

/** Creating or deleting a job changes the balance, the ledger and the audit log. The event stream updates the lists. */
function refreshAfterJob(client: QueryClient): void {
  const keys = [['latest-jobs'], sessionKey, ['ledger'], ['usage'], ['audit'], ['certificates']];
  // Not awaited: the caller already has its result.
  for (const queryKey of keys) void client.invalidateQueries({ queryKey });
}

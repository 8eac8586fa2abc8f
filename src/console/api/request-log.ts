/** Queries of the request log. */
import type { ConsoleListRequestLogData, ConsoleListRequestLogResponse, RequestLogEntry } from '../../contract/types.gen.ts';
import { call, startingAfter } from './client.ts';
import { useList } from './lists.ts';

export type RequestLogFilter = Omit<NonNullable<ConsoleListRequestLogData['query']>, 'limit' | 'starting_after'>;

export function useRequestLog(filter: RequestLogFilter) {
  return useList<RequestLogEntry, string>(['request-log', filter], (cursor, signal) => {
    const query = { limit: 50, ...filter, ...startingAfter(cursor) };
    return call<ConsoleListRequestLogData, ConsoleListRequestLogResponse>('GET', '/console/api/request-log', { query }, { signal });
  });
}

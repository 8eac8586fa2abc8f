/** Pages of the request log. The routes of the API and of the console share this. */
import type { RequestLogEntry, RequestLogPage } from '../contract/types.gen.ts';
import type { Mode } from '../domain/job.ts';
import type { LoggedRequest } from '../domain/request-log.ts';
import type { HttpStore } from '../store/types.ts';
import { pageOf } from './paging.ts';

/** A validated query; absent parameters are undefined. */
interface RequestLogQuery {
  limit: number;
  starting_after?: string | undefined;
  key_id?: string | undefined;
  request_id?: string | undefined;
  resource_id?: string | undefined;
  status?: string | undefined;
}

/** `404` or `4xx` */
function statusesOf(text: string): { from: number; to: number } {
  if (!text.endsWith('xx')) return { from: Number(text), to: Number(text) };
  const from = Number(text[0]) * 100;
  return { from, to: from + 99 };
}

function serialize(entry: LoggedRequest): RequestLogEntry {
  return {
    id: entry.id,
    request_id: entry.requestId,
    at: entry.at.toISOString(),
    key_id: entry.keyId,
    sandbox: entry.mode === 'test',
    method: entry.method,
    path: entry.path,
    resource_id: entry.resourceId,
    status: entry.status,
    duration_ms: entry.durationMs,
    error: entry.error,
    request_body: entry.requestBody,
  };
}

export async function requestLogPage(
  { requestLog }: Pick<HttpStore, 'requestLog'>,
  owner: { accountId: string; mode?: Mode | undefined },
  { limit, starting_after, key_id, request_id, resource_id, status }: RequestLogQuery,
): Promise<RequestLogPage> {
  const rows = await requestLog.page({
    ...owner,
    ...{ keyId: key_id, requestId: request_id, resourceId: resource_id, startingAfter: starting_after },
    statuses: status === undefined ? undefined : statusesOf(status),
    limit: limit + 1,
  });
  return pageOf(rows, limit, { serialize, cursor: ({ id }) => id });
}

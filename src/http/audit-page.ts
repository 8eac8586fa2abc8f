/** Pages of the audit log, and its signed head. The routes of the API and of the console share this. */
import type { AuditEntry } from '../domain/audit.ts';
import type { HttpDeps } from './deps.ts';
import { type PageOf, toPage } from './paging.ts';

/** A validated query; absent parameters are undefined. */
interface AuditQuery {
  limit: number;
  starting_after?: number | undefined;
  job_id?: string | undefined;
}

/** The head of an account's log, signed now. */
export function signHead({ evidence }: Pick<HttpDeps, 'evidence'>, accountId: string, head: { size: number; hash: string }): Promise<string> {
  return evidence.signHead({ account_id: accountId, ...head, signed_at: new Date().toISOString() });
}

export async function auditPage(
  deps: Pick<HttpDeps, 'evidence' | 'store'>,
  accountId: string,
  { limit, starting_after, job_id }: AuditQuery,
): Promise<PageOf<AuditEntry, number> & { head: string }> {
  const { entries, hasMore, head } = await deps.store.audit.list({
    accountId,
    limit,
    ...(starting_after === undefined ? {} : { startingAfter: starting_after }),
    ...(job_id === undefined ? {} : { jobId: job_id }),
  });
  const page = toPage(entries, hasMore, { serialize: (entry) => entry, cursor: ({ sequence }) => sequence });
  return { ...page, head: await signHead(deps, accountId, head) };
}

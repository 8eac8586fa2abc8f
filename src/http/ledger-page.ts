/** Pages of an account's credit transfers, for the API and the console. */
import type { Ledger, LedgerEntry } from '../contract/types.gen.ts';
import type { LedgerLine, StatementStore } from '../store/types.ts';
import { pageOf } from './paging.ts';

interface LedgerQuery {
  limit: number;
  starting_after?: number | undefined;
}

export async function ledgerPage(store: { statements: Pick<StatementStore, 'ledger'> }, accountId: string, query: LedgerQuery): Promise<Ledger> {
  const { limit, starting_after: startingAfter } = query;
  const rows = await store.statements.ledger({ accountId, limit: limit + 1, startingAfter });
  return pageOf(rows, limit, { cursor: ({ id }) => id, serialize });
}

const serialize = ({ jobId, at, ...line }: LedgerLine): LedgerEntry => ({ ...line, job_id: jobId, at: at.toISOString() });

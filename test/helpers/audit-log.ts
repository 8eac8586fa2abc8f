/** An account's whole audit log, for tests that verify it. */
import type { AuditEntry } from '../../src/domain/audit.ts';
import type { Store } from '../../src/store/index.ts';

const pageSize = 1000;

/** The entries, oldest first, and the head that counts them. */
export async function readAuditLog(store: Store, accountId: string) {
  const head = await store.audit.head(accountId);
  const entries: AuditEntry[] = [];
  const read = () => store.audit.page({ accountId, after: entries.length, upTo: head.size, limit: pageSize });
  for (let page = await read(); page.length > 0; page = await read()) entries.push(...page);
  return { entries, head };
}

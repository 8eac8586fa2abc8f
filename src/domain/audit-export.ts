/** The export of an audit log as JSON, in parts: a log of millions of entries is longer than the longest string. */

export interface AuditExport {
  accountId: string;
  /** number of entries in the signed head */
  size: number;
  /** what follows the entries */
  tail: { head: string; jwks: object };
}

const pageSize = 500;

/** `read` returns up to `limit` entries after a sequence, oldest first. Entries never change, so pages that are read later fit together. */
export async function* auditExportText(
  { accountId, size, tail }: AuditExport,
  read: (after: number, limit: number) => Promise<{ sequence: number }[]>,
): AsyncGenerator<string> {
  yield `{"account_id":${JSON.stringify(accountId)},"entries":[`;
  for (let after = 0; after < size;) {
    const entries = await read(after, pageSize);
    if (entries.length === 0) throw new Error(`The audit log of ${accountId} ends before its head.`);
    yield (after === 0 ? '' : ',') + entries.map((entry) => JSON.stringify(entry)).join(',');
    after = entries.at(-1)!.sequence;
  }
  yield `],${JSON.stringify(tail).slice(1)}`;
}

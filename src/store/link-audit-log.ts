/**
 * Step of migration 0005: links the events that were written before the log was a chain. Their times are cut to the
 * milliseconds that are hashed; nothing else of them changes.
 */
import type postgres from 'postgres';
import { type AuditEntry, genesisHash, hashAuditEntry } from '../domain/audit.ts';

type Unlinked = Omit<AuditEntry, 'previous_hash' | 'hash'>;

const batch = 1000;

export async function linkAuditLog(tx: postgres.TransactionSql): Promise<void> {
  const accounts = await tx<{ account_id: string }[]>`SELECT account_id FROM event_heads ORDER BY account_id`;
  for (const { account_id } of accounts) await linkAccount(tx, account_id);
}

async function linkAccount(tx: postgres.TransactionSql, accountId: string): Promise<void> {
  let previous = genesisHash;
  for (let after = 0; ; after += batch) {
    const rows = await tx<Unlinked[]>`SELECT account_id, seq::float8 AS sequence, id, kind, job_id, data,
      to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
      FROM job_events WHERE account_id = ${accountId} AND seq > ${after} AND seq <= ${after + batch} ORDER BY seq`;
    if (rows.length === 0) break;
    const links = rows.map((row) => {
      const link = {
        seq: row.sequence,
        at: row.at,
        previous,
        hash: hashAuditEntry({ ...row, previous_hash: previous }),
      };
      previous = link.hash;
      return link;
    });
    await tx`UPDATE job_events e SET at = l.at, previous_hash = l.previous, hash = l.hash
      FROM jsonb_to_recordset(${tx.json(links)}) AS l(seq bigint, at timestamptz, previous text, hash text)
      WHERE e.account_id = ${accountId} AND e.seq = l.seq`;
  }
  await tx`UPDATE event_heads SET hash = ${previous} WHERE account_id = ${accountId}`;
}

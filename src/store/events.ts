/** Appends to the audit log of an account: entries numbered without gaps, each linked to the one before. */
import { sql } from './orm.ts';
import { type AuditEntry, jcs } from '../domain/audit.ts';
import { newId } from '../domain/ids.ts';
import type { Tx } from './database.ts';
import type { EventKind } from './schema.ts';

export interface NewEvent {
  accountId: string;
  kind: EventKind;
  jobId?: string;
  /** plain JSON without customers' URLs and secrets, because entries outlive the job's files */
  data?: Record<string, unknown>;
}

/**
 * Appends inside the caller's transaction and returns the entry as it is hashed. It locks the log's head until the commit,
 * so transactions call it last (see the lock order in database.ts).
 */
export async function appendEvent(tx: Tx, { accountId, kind, jobId, data }: NewEvent): Promise<AuditEntry> {
  const text = eventData(data);
  const [row] = await tx.execute<Omit<AuditEntry, 'data'>>(sql`
    SELECT account_id, seq::int AS sequence, id, kind, job_id, ${timestampText} AS at, previous_hash, hash
    FROM append_event(${accountId}, ${newId('evt')}, ${kind}, ${jobId ?? null}, ${text})`);
  return { ...row!, data: JSON.parse(text) as Record<string, unknown> };
}

/** An event's data as canonical JSON, the form that is hashed. */
export const eventData = (data: NewEvent['data'] = {}): string => jcs(JSON.parse(JSON.stringify(data)));

/** The kind of an event of a job or a preview. */
export function eventOf({ preview }: { preview: unknown }, what: 'started' | 'completed' | 'failed' | 'deleted'): EventKind {
  return preview === null ? `job.${what}` : `preview.${what}`;
}

const timestampText = sql.raw(`to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);

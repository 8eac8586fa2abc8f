/** The append-only record of what happened on an account: numbered without gaps, each linked to the one before. */
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { type AuditEntry, jcs } from '../domain/audit.ts';
import { newId } from '../domain/ids.ts';
import type { Db, Tx } from './database.ts';
import { type EventKind, jobEvents } from './schema.ts';

export interface NewEvent {
  accountId: string;
  kind: EventKind;
  jobId?: string;
  /** plain JSON; no URL of a customer's and no secret, since events outlive the job's files */
  data?: Record<string, unknown>;
}

export interface AccountEvent {
  id: string;
  /** 1, 2, 3 … of its account */
  seq: number;
  kind: EventKind;
  jobId: string | null;
  at: Date;
  data: Record<string, unknown>;
}

/**
 * Appends inside the caller's transaction and returns the entry as it is hashed. It locks the account's head until
 * the commit: call it last, after the locks on the job and the balance, so that all transactions lock in one order.
 */
export async function appendEvent(tx: Tx, { accountId, kind, jobId, data }: NewEvent): Promise<AuditEntry> {
  const text = eventData(data);
  const [row] = await tx.execute<Omit<AuditEntry, 'data'>>(sql`
    SELECT account_id, seq::int AS sequence, id, kind, job_id, ${instantText} AS at, previous_hash, hash
    FROM append_event(${accountId}, ${newId('evt')}, ${kind}, ${jobId ?? null}, ${text})`);
  return { ...row!, data: JSON.parse(text) as Record<string, unknown> };
}

/** What JSON keeps of an event's data, in the canonical form that is hashed. */
export const eventData = (data: NewEvent['data'] = {}): string => jcs(JSON.parse(JSON.stringify(data)));

const instantText = sql.raw(`to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);

export function eventQueries(db: Db) {
  return {
    /** Newest first; `before` is an exclusive sequence number. */
    async list(query: { accountId: string; jobId?: string; before?: number; limit: number }): Promise<AccountEvent[]> {
      return db
        .select({
          id: jobEvents.id,
          seq: jobEvents.seq,
          kind: jobEvents.kind,
          jobId: jobEvents.jobId,
          at: jobEvents.at,
          data: jobEvents.data,
        })
        .from(jobEvents)
        .where(
          and(
            eq(jobEvents.accountId, query.accountId),
            query.jobId === undefined ? undefined : eq(jobEvents.jobId, query.jobId),
            query.before === undefined ? undefined : lt(jobEvents.seq, query.before),
          ),
        )
        .orderBy(desc(jobEvents.seq))
        .limit(query.limit);
    },
  };
}

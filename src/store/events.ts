/** The append-only record of what happened on an account: numbered without gaps, each linked to the one before. */
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { type AuditEntry, hashAuditEntry } from '../domain/audit.ts';
import { newId } from '../domain/ids.ts';
import type { Db, Tx } from './database.ts';
import { type EventKind, eventHeads, jobEvents } from './schema.ts';

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
export async function appendEvent(tx: Tx, event: NewEvent): Promise<AuditEntry> {
  const [head] = await tx
    .insert(eventHeads)
    .values({ accountId: event.accountId, seq: 1 })
    .onConflictDoUpdate({ target: eventHeads.accountId, set: { seq: sql`${eventHeads.seq} + 1` } })
    .returning({ seq: eventHeads.seq, previousHash: eventHeads.hash, at: instantText });
  const { seq, previousHash, at } = head!;
  // What is hashed is what JSON keeps of it.
  const data = JSON.parse(JSON.stringify(event.data ?? {})) as Record<string, unknown>;
  const { accountId, kind, jobId = null } = event;
  const id = newId('evt');
  const content = {
    account_id: accountId,
    sequence: seq,
    id,
    kind,
    job_id: jobId,
    at,
    data,
    previous_hash: previousHash,
  };
  const hash = hashAuditEntry(content);
  await tx.insert(jobEvents).values({ accountId, seq, id, kind, jobId, at: new Date(at), data, previousHash, hash });
  return { ...content, hash };
}

/** The database's time, with the milliseconds that are hashed; read after the lock, so that it follows the sequence. */
const instantText = sql<string>`to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

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

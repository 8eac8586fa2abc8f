/** Reads the audit log of an account: its entries, and the head that src/evidence signs. */
import type { AccountTurns } from './account-turns.ts';
import { and, asc, desc, eq, gt, lt, lte, sql } from './orm.ts';
import { type AuditEntry, genesisHash } from '../domain/audit.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import { appendEvent, type NewEvent } from './events.ts';
import { eventHeads, jobEvents } from './schema.ts';
import type { AuditStore } from './types.ts';

export interface LogHead {
  /** number of entries */
  size: number;
  /** of the last entry; 64 zeros for an empty log */
  hash: string;
}

interface AuditPageQuery {
  accountId: string;
  /** exclusive sequence number */
  after: number;
  /** inclusive sequence number */
  upTo: number;
  limit: number;
}

export function auditQueries(db: Db, inTurn: AccountTurns) {
  return {
    async list({ accountId, limit, startingAfter, jobId }) {
      const rows = await db
        .select()
        .from(jobEvents)
        .where(
          and(
            eq(jobEvents.accountId, accountId),
            startingAfter === undefined ? undefined : lt(jobEvents.seq, startingAfter),
            jobId === undefined ? undefined : eq(jobEvents.jobId, jobId),
          ),
        )
        .orderBy(desc(jobEvents.seq))
        .limit(limit + 1);
      // Read after the entries, so that it counts all of them.
      const head = await readHead(db, accountId);
      return { entries: rows.slice(0, limit).map(toEntry), hasMore: rows.length > limit, head };
    },

    async record({ accountId, kind, jobId, data }) {
      const event = {
        accountId,
        kind,
        ...(jobId === undefined ? {} : { jobId }),
        ...(data === undefined ? {} : { data }),
      };
      if (await isRecorded(db, event)) return;
      const recordOnce = async (tx: Tx) => {
        // Only the first of several concurrent calls records it.
        await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`accessed ${jobId}`}, 0))`);
        if (!(await isRecorded(tx, event))) await appendEvent(tx, event);
      };
      await inTurn(accountId, () => transact(db, recordOnce));
    },

    head: (accountId: string): Promise<LogHead> => readHead(db, accountId),

    /** Oldest first. Entries never change, so pages read later fit together. */
    async page({ accountId, after, upTo, limit }: AuditPageQuery): Promise<AuditEntry[]> {
      const rows = await db
        .select()
        .from(jobEvents)
        .where(and(eq(jobEvents.accountId, accountId), gt(jobEvents.seq, after), lte(jobEvents.seq, upTo)))
        .orderBy(asc(jobEvents.seq))
        .limit(limit);
      return rows.map(toEntry);
    },
  } satisfies AuditStore & Record<string, unknown>;
}

/** seconds within which further accesses to the same file are not recorded */
const repeatedAccessS = 3600;

/** Whether there is such a recent equal entry. */
async function isRecorded(on: Executor, { accountId, kind, jobId, data = {} }: NewEvent): Promise<boolean> {
  const [found] = await on
    .select({ seq: jobEvents.seq })
    .from(jobEvents)
    .where(
      and(
        eq(jobEvents.accountId, accountId),
        eq(jobEvents.kind, kind),
        eq(jobEvents.jobId, jobId ?? ''),
        sql`${jobEvents.at} > clock_timestamp() - make_interval(secs => ${repeatedAccessS})`,
        sql`${jobEvents.data} = ${JSON.stringify(data)}::jsonb`,
      ),
    )
    .limit(1);
  return found !== undefined;
}

async function readHead(db: Db, accountId: string): Promise<LogHead> {
  const [head] = await db.select().from(eventHeads).where(eq(eventHeads.accountId, accountId));
  return head ? { size: head.seq, hash: head.hash } : { size: 0, hash: genesisHash };
}

function toEntry(row: typeof jobEvents.$inferSelect): AuditEntry {
  return {
    account_id: row.accountId,
    sequence: row.seq,
    id: row.id,
    kind: row.kind,
    job_id: row.jobId,
    at: row.at.toISOString(),
    data: row.data,
    previous_hash: row.previousHash,
    hash: row.hash,
  };
}

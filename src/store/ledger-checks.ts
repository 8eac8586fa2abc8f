/**
 * The scheduled check of the ledger. One process runs it and stores the result for all. The history is kept for ever, so a check reads
 * what is new since the last one. Everything is read once a day, and each time after a check that found violations.
 */
import { sql } from './orm.ts';
import type { Db } from './database.ts';
import { ledgerCheck } from './ledger.ts';
import { type LedgerCheckpoint, nextLedgerCheckpoint, recentLedgerCheck } from './recent-ledger.ts';

export interface LedgerCheckResult {
  /** number of violations; 0 if the ledger is consistent */
  violations: number;
  checkedAt: Date;
}

/** Everything is checked again after so many hours. */
const fullEveryHours = 24;

export function ledgerCheckQueries(db: Db) {
  return {
    /**
     * Checks the ledger unless a process started a check in the last `everyS` seconds. A check that ended with its process
     * is repeated after that time. Returns null if none was due. `full`: whether it read everything.
     */
    async runDue(everyS: number): Promise<(LedgerCheckResult & { full: boolean }) | null> {
      const begun = await begin(db, everyS);
      if (begun === null) return null;
      const { checkpoint } = begun;
      const next = await nextLedgerCheckpoint(db);
      const { length: violations } = await (checkpoint === null ? ledgerCheck(db) : recentLedgerCheck(db, checkpoint));
      const full = checkpoint === null;
      await db.execute(sql`UPDATE ledger_checks SET checked_at = clock_timestamp(), violations = ${violations}::int,
        full_at = CASE WHEN ${full} THEN started_at ELSE full_at END,
        checked_transfer_id = ${next.transferId}::bigint, checked_until = ${next.until.toISOString()}::timestamptz`);
      return { ...(await this.last())!, full };
    },

    /** null before the first check */
    async last(): Promise<LedgerCheckResult | null> {
      const [row] = await db.execute<{ violations: number; at: number }>(sql`
        SELECT violations, extract(epoch FROM checked_at)::float8 AS at FROM ledger_checks WHERE checked_at IS NOT NULL`);
      return row ? { violations: row.violations, checkedAt: new Date(row.at * 1000) } : null;
    },
  };
}

/** Records the start of a check that is due, otherwise returns null. `checkpoint`: where it begins; null: it checks everything. */
async function begin(db: Db, everyS: number): Promise<{ checkpoint: LedgerCheckpoint | null } | null> {
  const [row] = await db.execute<{ continues: boolean; id: number; until: number }>(sql`
    INSERT INTO ledger_checks AS c (started_at) VALUES (clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at
    WHERE c.started_at <= clock_timestamp() - make_interval(secs => ${everyS}::float8)
      -- The clock was set back. Workers that ask together differ by less.
      OR c.started_at > clock_timestamp() + interval '1 minute'
    -- Times in the future are those of a clock that was ahead: what was made since is not after them.
    RETURNING (violations = 0 AND checked_until <= clock_timestamp() AND full_at > clock_timestamp() - make_interval(hours => ${fullEveryHours}::int)
      AND full_at <= clock_timestamp()) IS TRUE AS continues, checked_transfer_id::float8 AS id, extract(epoch FROM checked_until)::float8 AS until`);
  if (!row) return null;
  return { checkpoint: row.continues ? { transferId: row.id, until: new Date(Math.floor(row.until * 1000)) } : null };
}

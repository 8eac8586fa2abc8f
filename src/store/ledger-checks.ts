/** The scheduled check of the ledger. One process runs it and stores the result for all. */
import { sql } from './orm.ts';
import type { Db } from './database.ts';
import { ledgerCheck } from './ledger.ts';

export interface LedgerCheckResult {
  /** number of violations; 0 if the ledger is consistent */
  violations: number;
  checkedAt: Date;
}

export function ledgerCheckQueries(db: Db) {
  return {
    /**
     * Checks the ledger unless a process started a check in the last `everyS` seconds. A check that ended with its process
     * is repeated after that time. Returns null if none was due.
     */
    async runDue(everyS: number): Promise<LedgerCheckResult | null> {
      const started = await db.execute(sql`INSERT INTO ledger_checks AS c (started_at) VALUES (clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at
        WHERE c.started_at <= clock_timestamp() - make_interval(secs => ${everyS}::float8) RETURNING 1`);
      if (started.length === 0) return null;
      const { length: violations } = await ledgerCheck(db);
      await db.execute(sql`UPDATE ledger_checks SET checked_at = clock_timestamp(), violations = ${violations}::int`);
      return this.last();
    },

    /** null before the first check */
    async last(): Promise<LedgerCheckResult | null> {
      const [row] = await db.execute<{ violations: number; at: number }>(sql`
        SELECT violations, extract(epoch FROM checked_at)::float8 AS at FROM ledger_checks WHERE checked_at IS NOT NULL`);
      return row ? { violations: row.violations, checkedAt: new Date(row.at * 1000) } : null;
    },
  };
}

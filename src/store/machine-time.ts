/**
 * Start-time fair queueing of enhancements between accounts (Goyal, Vin and Cheng, 1996). An account's virtual time is the machine
 * time that its queue rows have used. The account with the earliest virtual time is next. An account that had nothing to do for a
 * while begins at the virtual time of the others, so it neither waits for them nor makes up for the past.
 */
import { sql } from './orm.ts';
import type { Db, Executor } from './database.ts';
import { enhancementTasks, taskName } from './queue.ts';

/** The machine time of a row before any row has ended, seconds. */
const firstGuessS = 30;

/** The weight of the latest row in the moving average. */
const latestWeight = 0.25;

/** Of the row of `account_machine_time` that the query names `m`. */
const typicalSeconds = sql`coalesce(m.typical_seconds, ${firstGuessS}::float8)`;

/** The condition that the queue row `q` uses a slot of enhancements. */
const isEnhancement = sql`${taskName(sql`q.task_identifier`)} IN ${[...enhancementTasks]}`;

export interface AccountLoad {
  account: string;
  /** rows that any worker runs */
  running: number;
  /** due rows of the given tasks */
  waiting: number;
  /** rows that may run at a time, set for this account; null: as for all */
  quota: number | null;
  /** virtual time when its last row began, seconds; 0: it had none for a while */
  virtualStart: number;
  /** virtual time when its next row may begin: after all that have begun, including the time that running rows take beyond their estimate */
  virtualFinish: number;
}

/** What the accounts have in the slots for enhancements, and what waits of the given tasks. */
export async function enhancementLoad(on: Executor, tasks: readonly string[]): Promise<AccountLoad[]> {
  const rows = await on.execute<Omit<AccountLoad, 'running' | 'waiting'> & { running: string; waiting: string }>(sql`
    SELECT load.*, (a.quotas ->> 'parallel_enhancements')::int AS quota FROM (
      SELECT flag AS account, count(*) FILTER (WHERE q.locked_at IS NOT NULL) AS running,
        count(*) FILTER (WHERE q.locked_at IS NULL AND q.task_identifier IN ${[...tasks]}) AS waiting,
        coalesce(m.virtual_start_seconds, 0) AS "virtualStart",
        -- NULL of a row that waits is not the greatest.
        coalesce(m.virtual_finish_seconds, 0) + sum(greatest(0, extract(epoch FROM now() - q.locked_at)::float8 - ${typicalSeconds})) AS "virtualFinish"
      FROM graphile_worker.jobs q CROSS JOIN jsonb_object_keys(q.flags) flag LEFT JOIN account_machine_time m ON m.account_id = flag
      WHERE ${isEnhancement}
        AND (q.locked_at IS NOT NULL OR q.run_at <= now() AND q.attempts < q.max_attempts)
      GROUP BY flag, m.virtual_start_seconds, m.virtual_finish_seconds) load LEFT JOIN accounts a ON a.id = load.account`);
  return rows.map((row) => ({ ...row, running: Number(row.running), waiting: Number(row.waiting) }));
}

export function machineTimeQueries(db: Db) {
  return {
    /**
     * A queue row of the account begins. Adds the typical machine time of its rows to its virtual time, which is at least `virtualTime`.
     * Returns the seconds that it added.
     */
    async charge(account: string, virtualTime: number): Promise<number> {
      const [row] = await db.execute<{ charged: number }>(sql`
        INSERT INTO account_machine_time AS m (account_id, virtual_start_seconds, virtual_finish_seconds)
        SELECT ${account}, ${virtualTime}::float8, ${virtualTime}::float8 + coalesce(avg(typical_seconds), ${firstGuessS}::float8) FROM account_machine_time
        ON CONFLICT (account_id) DO UPDATE SET
          virtual_start_seconds = greatest(m.virtual_finish_seconds, ${virtualTime}::float8),
          virtual_finish_seconds = greatest(m.virtual_finish_seconds, ${virtualTime}::float8) + ${typicalSeconds},
          served_at = now()
        RETURNING virtual_finish_seconds - virtual_start_seconds AS charged`);
      return row!.charged;
    },

    /** A row has ended after `usedS` seconds; `chargedS` were added for it. */
    async settle(account: string, { chargedS, usedS }: { chargedS: number; usedS: number }): Promise<void> {
      const finish = sql`virtual_finish_seconds + ${usedS - chargedS}::float8`;
      await db.execute(sql`UPDATE account_machine_time SET
          virtual_start_seconds = least(virtual_start_seconds, ${finish}),
          virtual_finish_seconds = ${finish},
          typical_seconds = coalesce(typical_seconds + ${latestWeight}::float8 * (${usedS}::float8 - typical_seconds), ${usedS}::float8),
          served_at = now()
        WHERE account_id = ${account}`);
    },

    /** Forgets accounts that have no row, and that no row began or ended for in `idleS` seconds. */
    async forget(idleS: number): Promise<void> {
      await db.execute(sql`DELETE FROM account_machine_time m WHERE served_at < now() - make_interval(secs => ${idleS}::float8)
        AND NOT EXISTS (SELECT FROM graphile_worker.jobs q WHERE ${isEnhancement} AND q.flags ? m.account_id)`);
    },
  };
}

/**
 * Start-time fair queueing of enhancements between accounts (Goyal, Vin and Cheng, 1996). An account's virtual time is the machine
 * time that its queue rows have used. The account with the earliest virtual time is next. An account that had nothing to do for a
 * while begins at the virtual time of the others, so it neither waits for them nor makes up for the past.
 */
import { type SQL, sql } from './orm.ts';
import type { Db, Executor } from './database.ts';
import { enhancementTaskNames, taskName } from './queue.ts';

/** The machine time of a row before any row has ended, seconds. */
const firstGuessS = 30;

/** The weight of the latest row in the moving average. */
const latestWeight = 0.25;

/** Of the row of `account_machine_time` that the query names `m`. */
const typicalSeconds = sql`coalesce(m.typical_seconds, ${firstGuessS}::float8)`;

/** The tasks whose rows use a slot of enhancements. */
const enhancementTaskIds = sql`SELECT id FROM graphile_worker._private_tasks WHERE ${taskName(sql`identifier`)} IN ${[...enhancementTaskNames]}`;

export interface AccountLoad {
  account: string;
  /** rows that any worker runs */
  running: number;
  /** whether due rows of the given tasks wait */
  waits: boolean;
  /** rows that may run at a time, set for this account; null: as for all */
  quota: number | null;
  /** virtual time when its last row began, seconds; 0: it had none for a while */
  virtualStart: number;
  /** virtual time when its next row may begin: after all that have begun, including the time that running rows take beyond their estimate */
  virtualFinish: number;
}

const inTasks = (tasks: readonly string[]) => sql`SELECT id FROM graphile_worker._private_tasks WHERE identifier IN ${[...tasks]}`;

/**
 * When the first waiting row of the task with these flags is due. The order makes PostgreSQL look it up in the index: without it, it may
 * expect to find such a row among all soon.
 */
const firstOf = (task: SQL, flags: SQL) => sql`LATERAL (SELECT j.run_at FROM graphile_worker._private_jobs j
  WHERE j.task_id = ${task} AND j.is_available = true AND j.flags = ${flags} ORDER BY j.run_at LIMIT 1) first`;

/**
 * What the accounts have in the slots for enhancements, and whether rows of the given tasks wait. Very many may wait, so a loose index scan
 * finds their accounts: it looks up the next account after the one before. Indexes: migrations/queue.
 */
export async function enhancementLoad(on: Executor, tasks: readonly string[]): Promise<AccountLoad[]> {
  const nextOf = (task: SQL, after: SQL) => sql`LATERAL (SELECT j.flags FROM graphile_worker._private_jobs j
    WHERE j.task_id = ${task} AND j.is_available = true AND ${after} ORDER BY j.flags LIMIT 1) next`;
  const rows = await on.execute<Omit<AccountLoad, 'running'> & { running: string }>(sql`
    WITH RECURSIVE queued AS (
      SELECT t.id AS task_id, next.flags FROM (${inTasks(tasks)}) t CROSS JOIN ${nextOf(sql`t.id`, sql`j.flags IS NOT NULL`)}
      UNION ALL
      SELECT q.task_id, next.flags FROM queued q CROSS JOIN ${nextOf(sql`q.task_id`, sql`j.flags > q.flags`)}),
    waiting AS (
      SELECT DISTINCT flag AS account FROM queued q CROSS JOIN ${firstOf(sql`q.task_id`, sql`q.flags`)} CROSS JOIN jsonb_object_keys(q.flags) flag
      WHERE first.run_at <= now()),
    running AS (
      SELECT flag AS account, count(*) AS rows,
        sum(greatest(0, extract(epoch FROM now() - j.locked_at)::float8 - ${typicalSeconds})) AS late_seconds
      FROM graphile_worker._private_jobs j CROSS JOIN jsonb_object_keys(j.flags) flag LEFT JOIN account_machine_time m ON m.account_id = flag
      WHERE j.locked_by IS NOT NULL AND j.locked_at IS NOT NULL AND j.task_id IN (${enhancementTaskIds})
      GROUP BY flag)
    SELECT account, coalesce(r.rows, 0) AS running, w.account IS NOT NULL AS waits, (a.quotas ->> 'parallel_enhancements')::int AS quota,
      coalesce(m.virtual_start_seconds, 0) AS "virtualStart", coalesce(m.virtual_finish_seconds, 0) + coalesce(r.late_seconds, 0) AS "virtualFinish"
    FROM waiting w FULL JOIN running r USING (account) LEFT JOIN account_machine_time m ON m.account_id = account LEFT JOIN accounts a ON a.id = account`);
  return rows.map((row) => ({ ...row, running: Number(row.running) }));
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
        AND NOT EXISTS (SELECT FROM (${enhancementTaskIds}) t CROSS JOIN ${firstOf(sql`t.id`, sql`jsonb_build_object(m.account_id, true)`)})
        AND NOT EXISTS (SELECT FROM graphile_worker._private_jobs j
          WHERE j.task_id IN (${enhancementTaskIds}) AND j.locked_by IS NOT NULL AND j.flags ? m.account_id)`);
    },
  };
}

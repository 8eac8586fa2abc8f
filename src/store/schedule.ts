/** When the tasks are queued that one worker runs for all. The database's clock decides, because clocks of workers may be wrong. */
import { type SQL, sql } from './orm.ts';
import type { Db } from './database.ts';
import type { ScheduledTaskName } from './queue.ts';

/** Runs once in each period of `everyS` seconds. The periods begin `atS` seconds after those of Unix time. */
export interface ScheduledTask {
  task: ScheduledTaskName;
  everyS: number;
  atS: number;
}

const period = (time: SQL) => sql`floor((extract(epoch FROM ${time}) - p."atS") / p."everyS")`;

/**
 * Queues the tasks that were not queued in the current period; returns their names. A new task begins with the next period. Workers of
 * older versions write times of their own clocks into this table of Graphile Worker. A time in the future belongs to another period,
 * too, so it stops nothing, whether such a clock was wrong or that of the database was set back.
 */
export async function queueScheduled(db: Db, plan: readonly ScheduledTask[]): Promise<string[]> {
  const isOther = sql`${period(sql`k.last_execution`)} IS DISTINCT FROM ${period(sql`now()`)}`;
  const queued = await db.execute<{ task: string }>(sql`
    WITH p AS (SELECT * FROM json_to_recordset(${JSON.stringify(plan)}::text::json) AS p(task text, "everyS" int, "atS" int)),
    due AS (
      SELECT p.task FROM p LEFT JOIN graphile_worker._private_known_crontabs k ON k.identifier = p.task
      WHERE ${isOther} ORDER BY p."everyS"),
    taken AS (
      INSERT INTO graphile_worker._private_known_crontabs AS k (identifier, known_since, last_execution)
      SELECT task, now(), now() FROM due
      ON CONFLICT (identifier) DO UPDATE SET last_execution = excluded.last_execution
        WHERE (SELECT ${isOther} FROM p WHERE p.task = k.identifier)
      RETURNING k.identifier, k.known_since <> k.last_execution AS is_known)
    SELECT identifier AS task, graphile_worker.add_job(identifier, job_key := identifier, max_attempts := 1) FROM taken WHERE is_known`);
  return queued.map(({ task }) => task);
}

/** Heartbeats of worker processes, and the cleanup after dead ones. */
import { inArray, sql } from './orm.ts';
import { type Db, transact } from './database.ts';
import { type AccountLoad, enhancementLoad } from './machine-time.ts';
import { taskName, taskNames } from './queue.ts';
import { queueScheduled, type ScheduledTask } from './schedule.ts';
import { type DeviceClass, idempotencyKeys, type WorkerDevice, workers } from './schema.ts';

export interface WorkerFacts {
  /** host name of its machine */
  host: string;
  /** concurrent media jobs */
  concurrency: number;
  devices: WorkerDevice[];
  /** devices that it makes segments for; none while it takes no jobs */
  deviceClasses: DeviceClass[];
  /** id of its engine */
  engine: string;
}

export const workerQueries = (db: Db) => ({ ...lifeQueries(db), ...fleetQueries(db), ...queueQueries(db) });

/** A worker from its first heartbeat to its end. */
function lifeQueries(db: Db) {
  return {
    /**
     * `pools` are the names that Graphile locks queue rows under for this process. Returns whether the worker has a new row, which says
     * nothing about it yet.
     */
    async heartbeat(id: string, pools: string[]): Promise<boolean> {
      const [row] = await db
        .insert(workers)
        .values({ id, pools })
        .onConflictDoUpdate({ target: workers.id, set: { pools, heartbeatAt: sql`now()` } })
        .returning({ isNew: sql<boolean>`xmax = 0` });
      return row!.isNew;
    },

    /** Writes what is known about a process that has sent a heartbeat; false if it has no row any more. */
    async describe(id: string, facts: WorkerFacts): Promise<boolean> {
      const rows = await db.update(workers).set(facts).where(sql`${workers.id} = ${id}`).returning({ id: workers.id });
      return rows.length === 1;
    },

    /** Removes a worker that is stopping, and frees its queue locks. */
    async deregister(id: string): Promise<void> {
      await transact(db, async (tx) => {
        const gone = await tx
          .delete(workers)
          .where(sql`${workers.id} = ${id}`)
          .returning({ pools: workers.pools });
        await unlock(
          tx,
          gone.flatMap((worker) => worker.pools),
        );
      });
    },

    /**
     * Removes workers without a heartbeat for `deadAfterS` seconds and frees their queue locks. Locks of pools that no
     * worker names, left by a process that was killed before its first heartbeat, are freed after a minute. Returns the
     * ids of the removed workers.
     */
    async reapDead(deadAfterS: number): Promise<string[]> {
      return transact(db, async (tx) => {
        const dead = await tx
          .delete(workers)
          .where(sql`${workers.heartbeatAt} < now() - make_interval(secs => ${deadAfterS}::float8)`)
          .returning({ id: workers.id, pools: workers.pools });
        const nameless = await tx.execute<{ pool: string }>(sql`SELECT DISTINCT q.locked_by AS pool
          FROM graphile_worker.jobs q WHERE q.locked_by IS NOT NULL AND q.locked_at < now() - interval '1 minute'
            AND NOT EXISTS (SELECT 1 FROM workers w WHERE q.locked_by = ANY (w.pools))`);
        await unlock(tx, [...dead.flatMap((worker) => worker.pools), ...nameless.map((row) => row.pool)]);
        return dead.map((worker) => worker.id);
      });
    },
  };
}

/** What a worker must know of the others, and of the accounts' share of them. */
function fleetQueries(db: Db) {
  return {
    /** Which of the workers are alive. */
    async alive(ids: string[]): Promise<Set<string>> {
      if (ids.length === 0) return new Set();
      const rows = await db.select({ id: workers.id }).from(workers).where(inArray(workers.id, ids));
      return new Set(rows.map((row) => row.id));
    },

    /**
     * Number of workers that are alive and have the rarest of these device classes; of all workers, if no worker is known to have
     * any of them.
     */
    async countAlive(deviceClasses: readonly DeviceClass[]): Promise<number> {
      const [row] = await db.execute<{ alive: number }>(sql`SELECT coalesce(
        (SELECT min(n) FROM (SELECT count(*) AS n FROM workers, unnest(device_classes) AS class
          WHERE class IN (SELECT jsonb_array_elements_text(${JSON.stringify(deviceClasses)}::jsonb)) GROUP BY class) of_class),
        (SELECT count(*) FROM workers))::int AS alive`);
      return row!.alive;
    },

    /** The accounts' use of the slots for enhancements, and the queued tasks. */
    enhancementLoad: (tasks: readonly string[]): Promise<AccountLoad[]> => enhancementLoad(db, tasks),

    /** Whether any account has its own limit of concurrent enhancements. */
    async anyParallelQuota(): Promise<boolean> {
      const [row] = await db.execute<{ any: boolean }>(sql`SELECT EXISTS (SELECT FROM accounts WHERE quotas ? 'parallel_enhancements') AS any`);
      return row!.any;
    },
  };
}

/** Rows of the queue, and what the scheduled tasks drop. */
function queueQueries(db: Db) {
  return {
    /** Queues the tasks of the schedule that are due, each once for all workers; returns their names. */
    queueScheduled: (plan: readonly ScheduledTask[]): Promise<string[]> => queueScheduled(db, plan),

    /**
     * Frees the rows, except `except`, that these pools have locked for `lockedForS` seconds. They have not run, so this
     * does not count as an attempt. Returns how many.
     */
    async unlockRows(pools: readonly string[], { except, lockedForS }: { except: readonly string[]; lockedForS: number }): Promise<number> {
      const freed = await db.execute(sql`UPDATE graphile_worker._private_jobs
        SET locked_at = NULL, locked_by = NULL, attempts = greatest(attempts - 1, 0)
        WHERE locked_by IS NOT NULL AND locked_by IN (SELECT jsonb_array_elements_text(${JSON.stringify(pools)}::jsonb))
          AND id NOT IN (SELECT jsonb_array_elements_text(${JSON.stringify(except)}::jsonb)::bigint)
          AND locked_at <= now() - make_interval(secs => ${lockedForS}::float8) RETURNING id`);
      return freed.length;
    },

    /** Drops this version's queue rows without attempts left; the safety nets queue their work again. */
    async dropFinishedRows(): Promise<void> {
      await db.execute(sql`DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks t
        WHERE t.id = j.task_id AND ${taskName(sql`t.identifier`)} IN (SELECT jsonb_array_elements_text(${JSON.stringify(taskNames)}::jsonb))
          AND j.locked_at IS NULL AND j.attempts >= j.max_attempts`);
    },

    /** Drops expired idempotency keys; returns how many. */
    async dropExpiredKeys(): Promise<number> {
      const dropped = await db
        .delete(idempotencyKeys)
        .where(sql`${idempotencyKeys.expiresAt} < now()`)
        .returning({ key: idempotencyKeys.key });
      return dropped.length;
    },
  };
}

async function unlock(tx: Parameters<Parameters<Db['transaction']>[0]>[0], pools: string[]): Promise<void> {
  if (pools.length === 0) return;
  await tx.execute(sql`SELECT graphile_worker.force_unlock_workers(
    ARRAY(SELECT jsonb_array_elements_text(${JSON.stringify(pools)}::jsonb)))`);
}

/**
 * What a long queue costs: a worker that takes its next row reads which accounts have due rows (enhancementLoad), and Graphile Worker
 * passes over the rows of accounts that have to wait. The time of the latter grows with the number of due rows.
 */
import type postgres from 'postgres';
import type { Store } from '../../src/store/index.ts';

const accountCount = 20;
const repetitions = 21;

export interface BacklogCost {
  due_rows: number;
  /** median times */
  load_ms: number;
  fetch_ms: number;
}

/**
 * Fills the queue with rows of segments of many accounts, measures at each of these lengths, and empties it. No worker may run. A fetch
 * passes over the rows of all accounts but the one with the last rows.
 */
export async function backlogCost(sql: postgres.Sql, store: Store, lengths: readonly number[]): Promise<BacklogCost[]> {
  const accounts = Array.from({ length: accountCount }, (_, n) => `acct_of_backlog_${n}`);
  const results: BacklogCost[] = [];
  let filled = 0;
  for (const length of lengths) {
    await sql`SELECT 1 FROM graphile_worker.add_jobs((SELECT array_agg(('segment_cpu', json_build_object('jobId', 'job_' || n / 64, 'segment', n % 64),
        NULL, now(), 3, 'segment:backlog:' || n, 1 + n % 20, ARRAY[(${accounts}::text[])[1 + n % ${accountCount}::int]])::graphile_worker.job_spec)
      FROM generate_series(${filled}::int, ${length - 1}::int) n))`;
    filled = length;
    await sql`VACUUM ANALYZE graphile_worker._private_jobs`;
    results.push({
      due_rows: length,
      load_ms: await medianMs(() => store.workers.enhancementLoad(['segment_cpu'])),
      fetch_ms: await medianMs(() => fetchOne(sql, accounts.slice(0, -1))),
    });
  }
  await sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'segment:backlog:%'`;
  return results;
}

/** Graphile Worker's query of the next row (src/sql/getJob.ts), without the update. */
const fetchOne = (sql: postgres.Sql, forbidden: string[]) => sql`SELECT jobs.id FROM graphile_worker._private_jobs AS jobs
  WHERE jobs.is_available = true AND jobs.run_at <= now()
    AND jobs.task_id IN (SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'segment_cpu')
    AND ((jobs.flags ?| ${forbidden}::text[]) IS NOT TRUE)
  ORDER BY jobs.priority ASC, jobs.run_at ASC LIMIT 1 FOR UPDATE SKIP LOCKED`;

async function medianMs(query: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const began = performance.now();
    await query();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return Number(times[Math.floor(repetitions / 2)]!.toFixed(1));
}

/** Lists of an account with 10,000 jobs: answered from indexes, by reading little. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

const count = 10_000;
const middle = `job_${(count / 2).toString(16).padStart(26, '0')}`;

let world: ConsoleWorld;
let ours: Person;

beforeAll(async () => {
  world = await makeConsole();
  [ours] = await Promise.all([world.person({ operator: true }), world.person()]);
  const { sql } = world;
  await sql`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, video_url, duration_seconds,
      credits_charged, expires_at, step, created_at, finished_at, error_code, error_message)
    SELECT 'job_' || lpad(to_hex(i), 26, '0'), ${ours.accountId}, CASE i % 4 WHEN 0 THEN 'test' ELSE 'live' END, 'standard',
      CASE i % 100 WHEN 0 THEN 'error' ELSE 'queued' END, '1080p', 'https://media.example.com/' || i, 10,
      CASE i % 4 WHEN 0 THEN 0 ELSE 30 END, now() + interval '30 days', 'ingest',
      now() - make_interval(mins => ${count}::int - i), CASE i % 100 WHEN 0 THEN now() END,
      CASE i % 100 WHEN 0 THEN 'processing_failed' END, CASE i % 100 WHEN 0 THEN 'It failed.' END
    FROM generate_series(1, ${count}::int) AS i`;
  await sql.begin(async (tx) => {
    await tx`INSERT INTO ledger_transfers (kind, account_id, job_id, credits, at)
      SELECT 'charge', account_id, id, 30, created_at FROM jobs WHERE mode = 'live'`;
    await tx`INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance)
      SELECT id, 'customer', account_id, -30, 100 FROM ledger_transfers`;
    await tx`INSERT INTO ledger_entries (transfer_id, book, amount) SELECT id, 'revenue', 30 FROM ledger_transfers`;
  });
  await sql`SELECT append_event(account_id, 'evt_' || substr(id, 5), 'job.created', id, '{}') FROM jobs ORDER BY id`;
  await sql`INSERT INTO webhook_deliveries (id, account_id, job_id, event, state, settled_at)
    SELECT 'evt_' || substr(id, 5), account_id, id, 'job.completed', 'delivered', now() FROM jobs`;
  await sql`VACUUM ANALYZE`;
});
afterAll(() => world.close());

interface Reads {
  /** rows that queries have read, by index or not */
  rows: number;
  /** how often a table was read from one end to the other */
  fullScans: number;
}

/** What all connections have read of the big tables so far. */
async function reads(): Promise<Reads> {
  // Connections report their counts now and then, and when they end. They are opened again when they are needed.
  const own = await world.sql.reserve();
  await own`SELECT pg_terminate_backend(pid, ${hangMs}) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  await own`SELECT pg_stat_force_next_flush()`;
  const [row] = await own`SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows, sum(seq_scan)::int AS "fullScans"
    FROM pg_stat_user_tables WHERE relname IN ('jobs', 'job_events', 'ledger_transfers', 'ledger_entries', 'webhook_deliveries')`;
  own.release();
  await eventually(() => ours.browser.call('/console/api/session').then(() => true, () => false));
  return { rows: row!['rows'] as number, fullScans: row!['fullScans'] as number };
}

const paths = [
  '/console/api/jobs?limit=100',
  `/console/api/jobs?limit=100&starting_after=${middle}`,
  '/console/api/jobs?mode=test',
  '/console/api/jobs?status=error',
  '/console/api/jobs?q=00ff',
  `/console/api/jobs/${middle}`,
  `/console/api/jobs/${middle}/links`,
  '/console/api/ledger?limit=100',
  '/console/api/ledger?limit=100&starting_after=4000',
  '/console/api/audit-log?limit=100&starting_after=5000',
  `/console/api/audit-log?job_id=${middle}`,
  '/console/api/webhooks/deliveries?limit=100',
  `/console/api/webhooks/deliveries?job_id=${middle}`,
  '/console/api/certificates',
  '/console/api/operator/failures?limit=100',
  `/console/api/operator/failures?starting_after=job_${(5000).toString(16).padStart(26, '0')}`,
];

/** where it is more than some pages */
const mostRows: Record<string, number> = {
  // Part of an id may stand in any: all of the account's jobs are read, and counted.
  '/console/api/jobs?q=00ff': 2.1 * count,
  '/console/api/ledger?limit=100&starting_after=4000': count / 2,
};

describe('with 10,000 jobs', () => {
  it.each(paths)('%s reads few rows, by an index', async (path) => {
    const before = await reads();
    await ours.browser.call(path);
    const after = await reads();
    expect(after.fullScans).toBe(before.fullScans);
    expect(after.rows - before.rows).toBeLessThan(mostRows[path] ?? 1000);
  });

  it('use per day of 90 days with all jobs reads each once', async () => {
    const before = await reads();
    const { days } = await ours.browser.call<{ days: { jobs: number; seconds: number; credits: number }[] }>(
      '/console/api/usage?days=90',
    );
    const after = await reads();
    expect(after.rows - before.rows).toBeLessThan(3 * count);
    expect(days.reduce((sum, { jobs }) => sum + jobs, 0)).toBe((count * 3) / 4);
    expect(days.reduce((sum, { credits }) => sum + credits, 0)).toBe(((count * 3) / 4) * 30);
  });

  it('the whole list can be read page by page', async () => {
    let cursor: string | null = null;
    const seen = new Set<string>();
    do {
      const after: string = cursor === null ? '' : `&starting_after=${cursor}`;
      const page: { data: { id: string }[]; next_cursor: string | null } = await ours.browser.call(
        `/console/api/jobs?limit=100${after}`,
      );
      for (const { id } of page.data) seen.add(id);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen.size).toBe(count);
  });
});

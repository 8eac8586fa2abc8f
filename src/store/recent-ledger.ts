/**
 * The rules of ledger.ts for what is new since a checkpoint. It relies on the checkpoint: if the history was consistent, new rows that
 * continue it are too. So the rows that are read are the new ones, what they continue, and one or two for each account.
 *
 * PostgreSQL is made to look up rows by their index, whatever it estimates: scalar subqueries with LIMIT, aggregates and arrays are not
 * turned into joins. `jobs.id` has the collation "C", and indexes of columns that refer to it have the default one.
 */
import { type SQL, sql } from './orm.ts';
import { smallestIdAt } from '../domain/ids.ts';
import { type Db, readSlowly, type Tx } from './database.ts';
import { jobRules, type LedgerViolation, violationsOf } from './ledger.ts';

export interface LedgerCheckpoint {
  /** transfers up to this id are checked; 0: none */
  transferId: number;
  /** jobs and events until then are checked */
  until: Date;
}

/** New transfers, jobs that were created, ended or deleted, or that have new transfers, and new events. */
const recentRows = ({ transferId, until }: LedgerCheckpoint): SQL => {
  const columns = sql`id, account_id, status, deleted_at, credits_charged, credits_refunded`;
  const since = sql`${until.toISOString()}::timestamptz`;
  return sql`
  WITH new_transfers AS MATERIALIZED (SELECT * FROM ledger_transfers WHERE id > ${transferId}::bigint),
  changed_jobs AS MATERIALIZED (
    SELECT ${columns} FROM jobs WHERE id >= ${smallestIdAt('job', until)} AND id < 'job_z'
    UNION SELECT ${columns} FROM jobs WHERE id >= ${smallestIdAt('prv', until)}
    UNION SELECT ${columns} FROM jobs WHERE finished_at >= ${since}
    UNION SELECT ${columns} FROM jobs WHERE deleted_at >= ${since}
    UNION SELECT ${columns} FROM jobs WHERE id = ANY (ARRAY(SELECT job_id FROM new_transfers WHERE job_id IS NOT NULL))),
  new_events AS MATERIALIZED (SELECT account_id, seq, previous_hash FROM job_events WHERE id >= ${smallestIdAt('evt', until)})`;
};

const transferRules = sql`
  SELECT 'every transfer has two entries that cancel out' AS rule, t.id::text AS subject, e.number || ' entries, sum ' || e.total AS detail
    FROM new_transfers t,
      LATERAL (SELECT count(*) AS number, coalesce(sum(amount), 0) AS total FROM ledger_entries WHERE transfer_id = t.id) e
    WHERE e.number <> 2 OR e.total <> 0
  UNION ALL
  SELECT 'a balance is the sum of its entries', a.id, a.credits || ' <> ' || last.balance
    FROM accounts a, LATERAL (SELECT coalesce((SELECT e.balance
      FROM ledger_transfers t JOIN ledger_entries e ON e.transfer_id = t.id AND e.book = 'customer'
      WHERE t.account_id = a.id ORDER BY t.id DESC LIMIT 1), 0) AS balance) last
    WHERE a.credits <> last.balance
  UNION ALL
  SELECT 'each entry continues the balance before it', t.id::text, e.balance || ' <> ' || running.balance
    FROM new_transfers t,
      LATERAL (SELECT amount, balance FROM ledger_entries WHERE transfer_id = t.id AND book = 'customer' LIMIT 1) e,
      LATERAL (SELECT e.amount + coalesce((SELECT b.balance
        FROM ledger_transfers p JOIN ledger_entries b ON b.transfer_id = p.id AND b.book = 'customer'
        WHERE p.account_id = t.account_id AND p.id < t.id ORDER BY p.id DESC LIMIT 1), 0) AS balance) running
    WHERE e.balance <> running.balance`;

const transferOf = (kind: 'charge' | 'refund') => sql`LEFT JOIN LATERAL (
      SELECT credits, account_id FROM ledger_transfers WHERE job_id = j.id COLLATE "default" AND kind = ${kind} LIMIT 1) t ON true`;

const eventRules = sql`
  SELECT 'an account''s events are numbered without gaps', h.account_id, 'events up to ' || coalesce(last.seq, 0)
    FROM event_heads h LEFT JOIN LATERAL (
      SELECT seq FROM job_events WHERE account_id = h.account_id ORDER BY seq DESC LIMIT 1) last ON true
    WHERE h.seq <> coalesce(last.seq, 0)
  UNION ALL
  SELECT 'each event is linked to the one before', e.account_id, 'event ' || e.seq
    FROM new_events e LEFT JOIN LATERAL (
      SELECT hash FROM job_events WHERE account_id = e.account_id AND seq = e.seq - 1 LIMIT 1) before ON true
    WHERE e.previous_hash IS DISTINCT FROM CASE WHEN e.seq = 1 THEN repeat('0', 64) ELSE before.hash END
  UNION ALL
  SELECT 'each event is linked to the one before', h.account_id, 'event ' || h.seq
    FROM event_heads h, LATERAL (
      SELECT hash FROM job_events WHERE account_id = h.account_id AND seq = h.seq LIMIT 1) last
    WHERE h.hash <> last.hash`;

/** Violations of the ledger's rules by what is new since the checkpoint. */
export function checkRecentLedger(tx: Tx, checkpoint: LedgerCheckpoint): Promise<LedgerViolation[]> {
  const rulesOfJobs = jobRules(sql`changed_jobs`, transferOf);
  return violationsOf(tx, sql`${recentRows(checkpoint)} ${transferRules} UNION ALL ${rulesOfJobs} UNION ALL ${eventRules}`);
}

export const recentLedgerCheck = (db: Db, checkpoint: LedgerCheckpoint) => readSlowly(db, (tx) => checkRecentLedger(tx, checkpoint));

/** Transactions commit within these minutes of their first row, and clocks of different machines differ by less. */
const overlap = sql`interval '10 minutes'`;

/** The checkpoint after a check that begins now. Rows of the last minutes may still be uncommitted; the next check reads them again. */
export async function nextLedgerCheckpoint(db: Db): Promise<LedgerCheckpoint> {
  const [row] = await db.execute<{ id: number; until: number }>(sql`SELECT
    coalesce((SELECT id FROM ledger_transfers WHERE at < clock_timestamp() - ${overlap} ORDER BY id DESC LIMIT 1), 0)::float8 AS id,
    extract(epoch FROM clock_timestamp() - ${overlap})::float8 AS until`);
  return { transferId: row!.id, until: new Date(Math.floor(row!.until * 1000)) };
}

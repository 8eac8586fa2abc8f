/** The only place where credits move: each transfer makes two entries that cancel out, and changes one balance. */
import { type SQL, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { type Db, databaseError, readSlowly, type Tx } from './database.ts';
import type { Book } from './schema.ts';
import type { TransferKind } from './types.ts';

export interface Transfer {
  kind: TransferKind;
  accountId: string;
  /** null only for grants and withdrawals */
  jobId: string | null;
  /** positive whole number */
  credits: number;
  note?: string;
}

/**
 * Posts a transfer inside the caller's transaction and returns the new balance. Locks the account's row until
 * the commit. Throws ReelmendError `insufficient_credits`; a second charge or refund of one job violates a
 * unique constraint.
 */
export async function postTransfer(tx: Tx, transfer: Transfer): Promise<number> {
  const { kind, accountId, jobId, credits, note = '' } = transfer;
  try {
    const [row] = await tx.execute<{ balance: number }>(
      sql`SELECT post_transfer(${kind}, ${accountId}, ${jobId}, ${credits}::bigint, ${note})::float8 AS balance`,
    );
    return row!.balance;
  } catch (error) {
    throw insufficientCredits(error, credits) ?? error;
  }
}

/** The public error behind SQLSTATE RM402 of `post_transfer`; undefined for any other. */
export function insufficientCredits(error: unknown, credits: number, what: 'job' | 'preview' = 'job'): ReelmendError | undefined {
  const refusal = databaseError(error);
  if (refusal?.code !== 'RM402') return undefined;
  if (!refusal.detail) return new ReelmendError('internal_error', 'The account does not exist.');
  const message = `The ${what} costs ${credits} credits; the account has ${refusal.detail}.`;
  return new ReelmendError('insufficient_credits', message);
}

export interface LedgerViolation {
  /** the broken rule, as in `ledgerRules` */
  rule: string;
  /** the transfer, account or job that breaks it */
  subject: string;
  detail: string;
}

/** The rules for the rows of `from`, which has the columns of jobs. `transferOf` joins the transfer of job `j` as `t`. */
export const jobRules = (from: SQL, transferOf: (kind: 'charge' | 'refund') => SQL): SQL => sql`
  SELECT 'a job is charged what it says', j.id, j.credits_charged || ' <> ' || coalesce(t.credits, 0)
    FROM ${from} j ${transferOf('charge')} WHERE j.credits_charged <> coalesce(t.credits, 0) OR t.account_id <> j.account_id
  UNION ALL
  SELECT 'a job is refunded what it says', j.id, j.credits_refunded || ' <> ' || coalesce(t.credits, 0)
    FROM ${from} j ${transferOf('refund')} WHERE j.credits_refunded <> coalesce(t.credits, 0) OR t.account_id <> j.account_id
  UNION ALL
  SELECT 'an errored job costs nothing', id, (credits_charged - credits_refunded) || ' kept'
    FROM ${from} WHERE status = 'error' AND credits_refunded <> credits_charged
  UNION ALL
  SELECT 'a done job is paid', id, credits_refunded || ' refunded'
    FROM ${from} WHERE status = 'done' AND credits_refunded <> 0
  UNION ALL
  SELECT 'a job cancelled in the queue costs nothing', id, (credits_charged - credits_refunded) || ' kept'
    FROM ${from} WHERE status = 'queued' AND deleted_at IS NOT NULL AND credits_refunded <> credits_charged`;

/** Each query returns the subjects that break its rule. */
const ledgerRules = sql`
  SELECT 'every transfer has two entries that cancel out' AS rule, t.id::text AS subject,
    count(e.*) || ' entries, sum ' || coalesce(sum(e.amount), 0) AS detail
    FROM ledger_transfers t LEFT JOIN ledger_entries e ON e.transfer_id = t.id
    GROUP BY t.id HAVING count(e.*) <> 2 OR coalesce(sum(e.amount), 0) <> 0
  UNION ALL
  SELECT 'a balance is the sum of its entries', a.id, a.credits || ' <> ' || coalesce(sum(e.amount), 0)
    FROM accounts a LEFT JOIN ledger_entries e ON e.account_id = a.id
    GROUP BY a.id HAVING a.credits <> coalesce(sum(e.amount), 0)
  UNION ALL
  SELECT 'each entry continues the balance before it', transfer_id::text, balance || ' <> ' || running
    FROM (SELECT transfer_id, balance, sum(amount) OVER (PARTITION BY account_id ORDER BY transfer_id) AS running
      FROM ledger_entries WHERE book = 'customer') entries WHERE balance <> running
  UNION ALL
  ${jobRules(sql`jobs`, (kind) => sql`LEFT JOIN ledger_transfers t ON t.job_id = j.id AND t.kind = ${kind}`)}
  UNION ALL
  SELECT 'an account''s events are numbered without gaps', a.account_id, count(*) || ' events up to ' || max(a.seq)
    FROM job_events a GROUP BY a.account_id
    HAVING count(*) <> max(a.seq) OR max(a.seq) <> (SELECT seq FROM event_heads h WHERE h.account_id = a.account_id)
  UNION ALL
  SELECT 'each event is linked to the one before', account_id, 'event ' || seq
    FROM (SELECT account_id, seq, previous_hash, hash,
        lag(hash, 1, repeat('0', 64)) OVER log AS link, lead(seq) OVER log IS NULL AS last
      FROM job_events WINDOW log AS (PARTITION BY account_id ORDER BY seq)) events
    WHERE previous_hash <> link
      OR last AND hash <> (SELECT h.hash FROM event_heads h WHERE h.account_id = events.account_id)
`;

/** All violations of the ledger's rules; empty if it is consistent. */
export const ledgerCheck = (db: Db): Promise<LedgerViolation[]> => readSlowly(db, (tx) => violationsOf(tx, ledgerRules));

export async function violationsOf(tx: Tx, rules: SQL): Promise<LedgerViolation[]> {
  const rows = await tx.execute<{ rule: string; subject: string; detail: string }>(rules);
  return rows.map(({ rule, subject, detail }) => ({ rule, subject, detail }));
}

export interface LedgerSums {
  transfers: number;
  entries: number;
  /** credits in each book; together they are 0 */
  books: Record<Book, number>;
  total: number;
  /** credits by kind of transfer; revenue is charge − refund */
  kinds: Record<TransferKind, number>;
}

export async function ledgerSums(db: Db): Promise<LedgerSums> {
  const [row] = await db.execute<{ sums: LedgerSums }>(sql`SELECT jsonb_build_object(
    'transfers', (SELECT count(*) FROM ledger_transfers), 'entries', count(*),
    'books', jsonb_build_object(
      'customer', coalesce(sum(amount) FILTER (WHERE book = 'customer'), 0),
      'issued', coalesce(sum(amount) FILTER (WHERE book = 'issued'), 0),
      'revenue', coalesce(sum(amount) FILTER (WHERE book = 'revenue'), 0)),
    'total', coalesce(sum(amount), 0),
    'kinds', (SELECT jsonb_build_object(
      'grant', coalesce(sum(credits) FILTER (WHERE kind = 'grant'), 0),
      'withdrawal', coalesce(sum(credits) FILTER (WHERE kind = 'withdrawal'), 0),
      'charge', coalesce(sum(credits) FILTER (WHERE kind = 'charge'), 0),
      'refund', coalesce(sum(credits) FILTER (WHERE kind = 'refund'), 0)) FROM ledger_transfers)) AS sums
    FROM ledger_entries`);
  const { sums } = row!;
  return typeof sums === 'string' ? (JSON.parse(sums) as LedgerSums) : sums;
}

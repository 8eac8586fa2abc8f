/** Statements of an account for the console: credit transfers, usage per day, certificates. */
import { and, desc, eq, lt, sql } from './orm.ts';
import { isOfAccount } from './account-lists.ts';
import type { Db } from './database.ts';
import { certificates, ledgerEntries, ledgerTransfers, type TransferKind } from './schema.ts';

export interface LedgerLine {
  id: number;
  kind: TransferKind;
  /** credits, negative if taken */
  amount: number;
  balance: number;
  jobId: string | null;
  note: string;
  at: Date;
}

export interface UsageDay {
  /** `2026-11-21`, UTC */
  date: string;
  jobs: number;
  /** billed seconds */
  seconds: number;
  credits: number;
  refunded: number;
}

export interface CertificateRecord {
  id: string;
  jobId: string;
  jws: string;
  issuedAt: Date;
}

interface Page {
  accountId: string;
  limit: number;
}

export function statementQueries(db: Db) {
  return {
    /** Newest first; `startingAfter` is an exclusive number. */
    ledger: (query: Page & { startingAfter?: number | undefined }) => ledgerPage(db, query),

    /** The last `days` days, today included, oldest first. */
    usage: (accountId: string, days: number) => usage(db, accountId, days),

    /** Newest first; `startingAfter` is an exclusive id. */
    certificates(query: Page & { startingAfter?: string | undefined; jobId?: string | undefined }) {
      const { accountId, limit, startingAfter, jobId } = query;
      const { id, jws, issuedAt } = certificates;
      return db
        .select({ id, jobId: certificates.jobId, jws, issuedAt })
        .from(certificates)
        .where(
          and(
            isOfAccount(certificates.accountId, accountId),
            startingAfter === undefined ? undefined : lt(id, startingAfter),
            jobId === undefined ? undefined : eq(certificates.jobId, jobId),
          ),
        )
        .orderBy(certificates.accountId, desc(id))
        .limit(limit) satisfies PromiseLike<CertificateRecord[]>;
    },
  };
}

async function ledgerPage(db: Db, query: Page & { startingAfter?: number | undefined }): Promise<LedgerLine[]> {
  const { id, kind, jobId, note, at } = ledgerTransfers;
  const { amount, balance } = ledgerEntries;
  const rows = await db
    .select({ id, kind, jobId, note, at, amount, balance })
    .from(ledgerTransfers)
    .innerJoin(ledgerEntries, and(eq(ledgerEntries.transferId, id), eq(ledgerEntries.book, 'customer')))
    .where(
      and(
        isOfAccount(ledgerTransfers.accountId, query.accountId),
        query.startingAfter === undefined ? undefined : lt(id, query.startingAfter),
      ),
    )
    .orderBy(desc(ledgerTransfers.accountId), desc(id))
    .limit(query.limit);
  return rows.map((row) => ({ ...row, balance: row.balance ?? 0 }));
}

async function usage(db: Db, accountId: string, days: number): Promise<UsageDay[]> {
  const rows = await db.execute<Record<keyof UsageDay, string>>(sql`
    WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day),
    used AS (
      SELECT (t.at AT TIME ZONE 'UTC')::date AS day,
        count(*) FILTER (WHERE t.kind = 'charge') AS jobs,
        coalesce(sum(j.duration_seconds) FILTER (WHERE t.kind = 'charge'), 0) AS seconds,
        coalesce(sum(t.credits) FILTER (WHERE t.kind = 'charge'), 0) AS credits,
        coalesce(sum(t.credits) FILTER (WHERE t.kind = 'refund'), 0) AS refunded
      FROM ledger_transfers t JOIN jobs j ON j.id = t.job_id
      WHERE t.account_id = ${accountId}
        -- Not by the row of today: the planner knows how many transfers are that young only if it knows the time.
        AND t.at >= ((now() AT TIME ZONE 'UTC')::date - ${days - 1}::int)::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1)
    SELECT to_char(d.day, 'YYYY-MM-DD') AS date, coalesce(u.jobs, 0) AS jobs, coalesce(u.seconds, 0) AS seconds,
      coalesce(u.credits, 0) AS credits, coalesce(u.refunded, 0) AS refunded
    -- As timestamps without time zone: otherwise the clock changes of the session's zone move the days.
    FROM today, generate_series((today.day - ${days - 1}::int)::timestamp, today.day::timestamp, interval '1 day') AS d(day)
      LEFT JOIN used u ON u.day = d.day::date
    ORDER BY d.day`);
  return rows.map(({ date, jobs, seconds, credits, refunded }) => ({
    date,
    jobs: Number(jobs),
    seconds: Number(seconds),
    credits: Number(credits),
    refunded: Number(refunded),
  }));
}

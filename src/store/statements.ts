/** Statements of an account: credit transfers, usage per day or month, certificates. */
import { and, desc, eq, lt, sql } from './orm.ts';
import { isOfAccount } from './account-lists.ts';
import { type Db, readApart } from './database.ts';
import { certificates, ledgerEntries, ledgerTransfers } from './schema.ts';
import type { LedgerLine, StatementStore, UsagePeriod, UsageQuery } from './types.ts';

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

const dayMs = 86_400_000;

export function statementQueries(db: Db) {
  return {
    /** Newest first; `startingAfter` is an exclusive number. */
    ledger: (query: Page & { startingAfter?: number | undefined }) => ledgerPage(db, query),

    usage: (query: UsageQuery) => usage(db, query),

    /** The last `days` days in live mode, today included, oldest first. */
    usagePerDay(accountId: string, days: number) {
      const [from, to] = [days - 1, 0].map((ago) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10)) as [string, string];
      return usage(db, { accountId, interval: 'day', from, to });
    },

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
  } satisfies StatementStore & Record<string, unknown>;
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

/** Up to a year of transfers, with the length of each one's video. */
async function usage(db: Db, { accountId, interval, from, to }: UsageQuery): Promise<UsagePeriod[]> {
  // Times as values: the planner knows how many transfers are that young only if it knows the time. Timestamps without time zone: otherwise the
  // clock changes of the session's zone move the days.
  const rows = await readApart(db, (tx) => tx.execute<Record<keyof UsagePeriod, string>>(sql`
    WITH used AS (
      SELECT date_trunc(${interval}, t.at AT TIME ZONE 'UTC') AS start,
        count(*) FILTER (WHERE t.kind = 'charge') AS jobs,
        coalesce(sum(j.duration_seconds) FILTER (WHERE t.kind = 'charge'), 0) AS seconds,
        coalesce(sum(t.credits) FILTER (WHERE t.kind = 'charge'), 0) AS credits,
        coalesce(sum(t.credits) FILTER (WHERE t.kind = 'refund'), 0) AS refunded
      FROM ledger_transfers t JOIN jobs j ON j.id = t.job_id
      WHERE t.account_id = ${accountId}
        AND t.at >= ${from}::timestamp AT TIME ZONE 'UTC' AND t.at < (${to}::date + 1)::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1)
    SELECT to_char(p.start, ${interval === 'day' ? 'YYYY-MM-DD' : 'YYYY-MM'}) AS period, coalesce(u.jobs, 0) AS jobs, coalesce(u.seconds, 0) AS seconds,
      coalesce(u.credits, 0) AS credits, coalesce(u.refunded, 0) AS refunded
    FROM generate_series(date_trunc(${interval}, ${from}::timestamp), ${to}::timestamp, ${`1 ${interval}`}::interval) AS p(start)
      LEFT JOIN used u ON u.start = p.start
    ORDER BY p.start`));
  return rows.map(({ period, jobs, seconds, credits, refunded }) => ({
    period,
    jobs: Number(jobs),
    seconds: Number(seconds),
    credits: Number(credits),
    refunded: Number(refunded),
  }));
}

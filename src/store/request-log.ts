/** The log of an account's requests. Entries come in batches and are removed by a scheduled task. */
import { and, desc, eq, gte, lt, lte, type SQL, sql } from './orm.ts';
import type { LoggedRequest } from '../domain/request-log.ts';
import { isOfAccount } from './account-lists.ts';
import { type Db, type Executor, readSlowly } from './database.ts';
import { requestLog } from './schema.ts';
import type { ListRequestLog, RequestLogStore } from './types.ts';

export interface FullLogs {
  perAccount: number;
  onlyBusy: boolean;
}

/** An account whose log is full. */
export interface FullLog {
  /** of the account */
  id: string;
  /** id of the oldest entry that stays */
  oldest: string;
}

export interface PruneRequestLog {
  days: number;
  full: FullLog[];
  limit: number;
}

/** An entry as a row of the table. */
const rowOf = (entry: LoggedRequest) => ({
  id: entry.id,
  account_id: entry.accountId,
  key_id: entry.keyId,
  mode: entry.mode,
  request_id: entry.requestId,
  at: entry.at,
  method: entry.method,
  path: entry.path,
  resource_id: entry.resourceId,
  status: entry.status,
  duration_ms: entry.durationMs,
  error: entry.error,
  request_body: entry.requestBody,
});

export function requestLogQueries(db: Db) {
  return {
    async append(entries: readonly LoggedRequest[]): Promise<void> {
      // One parameter for all rows: one for each value costs the API process several times the memory and time.
      const rows = JSON.stringify(entries.map(rowOf));
      await db.execute(sql`INSERT INTO request_log SELECT * FROM json_populate_recordset(NULL::request_log, ${rows}::text::json)
        ON CONFLICT DO NOTHING`);
    },

    page: (query) => page(db, query),

    /**
     * The accounts with `perAccount` entries or more, each with the oldest one that stays. Counting those of all accounts takes long, so with
     * `onlyBusy` only the accounts are counted that made a tenth of `perAccount` in the last hour.
     */
    full: (query: FullLogs): Promise<FullLog[]> => (query.onlyBusy ? fullLogs(db, query) : readSlowly(db, (tx) => fullLogs(tx, query))),

    /** Removes up to `limit` entries that are older than `days`, or than the oldest one that stays, or whose account is closed. Returns how many. */
    async prune({ days, full, limit }: PruneRequestLog): Promise<number> {
      // In LATERAL with LIMIT, each account is looked up in the index of request_log by account.
      const ofAccount = (which: SQL) => sql`LATERAL (SELECT l.id FROM request_log l WHERE l.account_id = a.id ${which} LIMIT ${limit}::int) l`;
      const rows = await db.execute(sql`
        WITH due AS MATERIALIZED (
          SELECT id FROM request_log WHERE at < now() - make_interval(days => ${days}::int)
          UNION ALL SELECT l.id FROM json_to_recordset(${JSON.stringify(full)}::text::json) a (id text, oldest text),
            ${ofAccount(sql`AND l.id < a.oldest`)}
          UNION ALL SELECT l.id FROM accounts a, ${ofAccount(sql``)} WHERE a.closed_at IS NOT NULL
          LIMIT ${limit}::int)
        DELETE FROM request_log WHERE id = ANY (ARRAY(SELECT id FROM due)) RETURNING 1`);
      return rows.length;
    },
  } satisfies RequestLogStore & Record<string, unknown>;
}

function fullLogs(on: Executor, { perAccount, onlyBusy }: FullLogs) {
  const counted = onlyBusy
    ? sql`SELECT account_id AS id FROM request_log WHERE at > now() - interval '1 hour' GROUP BY 1 HAVING count(*) >= ${perAccount}::int / 10`
    : sql`SELECT id FROM accounts`;
  return on.execute<FullLog & Record<string, unknown>>(sql`SELECT c.id, oldest.id AS oldest FROM (${counted}) c, LATERAL (
    SELECT r.id FROM request_log r WHERE r.account_id = c.id ORDER BY r.id DESC OFFSET ${perAccount - 1}::int LIMIT 1) oldest`);
}

function page(db: Db, query: ListRequestLog): Promise<LoggedRequest[]> {
  const { accountId, mode, keyId, requestId, resourceId, statuses, startingAfter, limit } = query;
  return db
    .select()
    .from(requestLog)
    .where(
      and(
        isOfAccount(requestLog.accountId, accountId),
        mode === undefined ? undefined : eq(requestLog.mode, mode),
        keyId === undefined ? undefined : eq(requestLog.keyId, keyId),
        requestId === undefined ? undefined : eq(requestLog.requestId, requestId),
        resourceId === undefined ? undefined : eq(requestLog.resourceId, resourceId),
        statuses === undefined ? undefined : and(gte(requestLog.status, statuses.from), lte(requestLog.status, statuses.to)),
        startingAfter === undefined ? undefined : lt(requestLog.id, startingAfter),
      ),
    )
    .orderBy(requestLog.accountId, desc(requestLog.id))
    .limit(limit);
}

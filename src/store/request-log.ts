/** The log of an account's requests. Entries come in batches and are removed by a scheduled task. */
import { and, desc, eq, gte, lt, lte, sql } from './orm.ts';
import type { LoggedRequest } from '../domain/request-log.ts';
import type { Db } from './database.ts';
import { requestLog } from './schema.ts';
import type { ListRequestLog, RequestLogStore } from './types.ts';

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
     * Removes up to `limit` entries that are older than `days`, that exceed the newest `perAccount` of their account, or
     * whose account is closed. Returns how many.
     */
    async prune({ days, perAccount, limit }: { days: number; perAccount: number; limit: number }): Promise<number> {
      const rows = await db.execute(sql`
        WITH full_accounts AS (
          SELECT account_id, (SELECT r.id FROM request_log r WHERE r.account_id = l.account_id
            ORDER BY r.id DESC OFFSET ${perAccount - 1}::int LIMIT 1) AS oldest
          FROM request_log l GROUP BY account_id HAVING count(*) > ${perAccount}::int),
        due AS (
          SELECT id FROM request_log WHERE at < now() - make_interval(days => ${days}::int)
          UNION ALL SELECT l.id FROM request_log l JOIN full_accounts f ON f.account_id = l.account_id AND l.id < f.oldest
          UNION ALL SELECT l.id FROM request_log l JOIN accounts a ON a.id = l.account_id AND a.closed_at IS NOT NULL
          LIMIT ${limit}::int)
        DELETE FROM request_log WHERE id IN (SELECT id FROM due) RETURNING 1`);
      return rows.length;
    },
  } satisfies RequestLogStore & Record<string, unknown>;
}

function page(db: Db, query: ListRequestLog): Promise<LoggedRequest[]> {
  const { accountId, mode, keyId, requestId, resourceId, statuses, startingAfter, limit } = query;
  return db
    .select()
    .from(requestLog)
    .where(
      and(
        eq(requestLog.accountId, accountId),
        mode === undefined ? undefined : eq(requestLog.mode, mode),
        keyId === undefined ? undefined : eq(requestLog.keyId, keyId),
        requestId === undefined ? undefined : eq(requestLog.requestId, requestId),
        resourceId === undefined ? undefined : eq(requestLog.resourceId, resourceId),
        statuses === undefined ? undefined : and(gte(requestLog.status, statuses.from), lte(requestLog.status, statuses.to)),
        startingAfter === undefined ? undefined : lt(requestLog.id, startingAfter),
      ),
    )
    .orderBy(desc(requestLog.id))
    .limit(limit);
}

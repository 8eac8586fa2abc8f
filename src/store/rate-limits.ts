/**
 * The rate limiter of all API processes: GCRA (the cell rate algorithm of ATM Forum TM 4.0) as one UPSERT a call. A
 * key may use its whole quota at once, which then refills continuously. Refused calls use nothing up.
 */
import type postgres from 'postgres';
import type { RateLimitStore } from './types.ts';

/**
 * The database's clock decides, so that processes with other clocks agree. The row's own last moment keeps time from
 * running backwards between calls that waited for one another; a clock that was set back by more than `jumpS` is
 * believed. Parameters: key id, class, seconds per call, window in seconds.
 */
const jumpS = 5;
const takeQuery = `
INSERT INTO rate_limits AS r (key_id, class, at, tat, allowed)
SELECT $1, $2, c.now, c.now + $3::float8, true FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS now) c
ON CONFLICT (key_id, class) DO UPDATE SET (at, tat, allowed) = (
  SELECT n.now, CASE WHEN v.ok THEN t.tat + $3::float8 ELSE t.tat END, v.ok
  FROM (SELECT CASE WHEN r.at - excluded.at > ${jumpS} THEN excluded.at ELSE greatest(r.at, excluded.at) END AS now) n,
    LATERAL (SELECT greatest(n.now, least(r.tat, n.now + $4::float8)) AS tat) t,
    LATERAL (SELECT t.tat + $3::float8 - n.now <= $4::float8 + $3::float8 * 0.001 AS ok) v)
RETURNING allowed, tat - at AS ahead`;

interface Verdict {
  allowed: boolean;
  /** seconds until the quota is whole */
  ahead: number;
}

export function rateLimitQueries(client: postgres.Sql) {
  return {
    async take(keyId, rateClass, { limit, windowS }) {
      const perCallS = windowS / limit;
      const values = [keyId, rateClass, perCallS, windowS];
      const [row] = await client.unsafe<Verdict[]>(takeQuery, values, { prepare: true });
      const { allowed, ahead } = row!;
      return {
        allowed,
        remaining: Math.max(0, Math.floor((windowS - ahead) / perCallS + 0.01)),
        resetS: Math.ceil(ahead),
        retryAfterS: allowed ? 0 : Math.max(1, Math.ceil(ahead + perCallS - windowS)),
      };
    },

    /** Forgets keys whose quota has long been whole; returns how many rows. */
    async prune(): Promise<number> {
      const result = await client`DELETE FROM rate_limits
        WHERE tat < extract(epoch FROM clock_timestamp()) - 86400`;
      return result.count;
    },
  } satisfies RateLimitStore & Record<string, unknown>;
}

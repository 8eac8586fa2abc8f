/**
 * The rate limiter of all API processes: GCRA (the cell rate algorithm of ATM Forum TM 4.0) as one UPSERT a call, or
 * for all calls that came together. A key may use its whole quota at once, which then refills continuously. Refused
 * calls use nothing up.
 */
import type postgres from 'postgres';
import type { RateClass, RateLimitStore, RatePolicy, RateVerdict } from './types.ts';

/**
 * The database's clock decides, so that processes with other clocks agree. The row's own last moment keeps time from
 * running backwards between calls that waited for one another; a clock that was set back by more than `jumpS` is
 * believed. Parameters: key id, class, seconds per call, window in seconds, calls wanted.
 */
const jumpS = 5;
const takeQuery = `
INSERT INTO rate_limits AS r (key_id, class, at, tat, allowed)
SELECT $1, $2, c.now, c.now + k.allowed * $3::float8, k.allowed
FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS now) c,
  (SELECT least($5::int, floor($4::float8 / $3::float8 + 0.001)::int) AS allowed) k
ON CONFLICT (key_id, class) DO UPDATE SET (at, tat, allowed) = (
  SELECT n.now, t.tat + k.allowed * $3::float8, k.allowed
  FROM (SELECT CASE WHEN r.at - excluded.at > ${jumpS} THEN excluded.at ELSE greatest(r.at, excluded.at) END AS now) n,
    LATERAL (SELECT greatest(n.now, least(r.tat, n.now + $4::float8)) AS tat) t,
    LATERAL (SELECT greatest(0, least($5::int, floor(($4::float8 - (t.tat - n.now)) / $3::float8 + 0.001)::int)) AS allowed) k)
RETURNING allowed, tat - at AS ahead`;

interface Answer {
  /** how many of the calls wanted */
  allowed: number;
  /** seconds until the quota is whole */
  ahead: number;
}

interface Waiting {
  resolve(verdict: RateVerdict): void;
  reject(error: unknown): void;
}

export function rateLimitQueries(client: postgres.Sql) {
  /** Calls of one key and class that came while a look was under way; the next look judges them together. */
  const queues = new Map<string, Waiting[]>();

  async function look(keyId: string, rateClass: RateClass, policy: RatePolicy, calls: Waiting[]): Promise<void> {
    const perCallS = policy.windowS / policy.limit;
    const values = [keyId, rateClass, perCallS, policy.windowS, calls.length];
    try {
      const [row] = await client.unsafe<Answer[]>(takeQuery, values, { prepare: true });
      calls.forEach((call, index) => call.resolve(verdict(row!, index, perCallS, policy.windowS)));
    } catch (error) {
      for (const call of calls) call.reject(error);
    }
  }

  /** One look at a time for a key and class: its row can be locked by one transaction only, so more would wait. */
  async function drain(queueKey: string, keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<void> {
    for (;;) {
      const calls = queues.get(queueKey)!.splice(0);
      if (calls.length === 0) break;
      await look(keyId, rateClass, policy, calls);
    }
    queues.delete(queueKey);
  }

  return {
    take(keyId, rateClass, policy) {
      const queueKey = `${keyId} ${rateClass} ${policy.limit}/${policy.windowS}`;
      return new Promise<RateVerdict>((resolve, reject) => {
        const waiting = queues.get(queueKey);
        if (waiting !== undefined) return void waiting.push({ resolve, reject });
        queues.set(queueKey, [{ resolve, reject }]);
        void drain(queueKey, keyId, rateClass, policy);
      });
    },

    /** Forgets keys whose quota has long been whole; returns how many rows. */
    async prune(): Promise<number> {
      const result = await client`DELETE FROM rate_limits
        WHERE tat < extract(epoch FROM clock_timestamp()) - 86400`;
      return result.count;
    },
  } satisfies RateLimitStore & Record<string, unknown>;
}

/** What the `index`th of the calls that were judged together is told. */
function verdict({ allowed, ahead }: Answer, index: number, perCallS: number, windowS: number): RateVerdict {
  const passed = index < allowed;
  const later = passed ? allowed - 1 - index : 0;
  const aheadThen = ahead - later * perCallS;
  return {
    allowed: passed,
    remaining: Math.max(0, Math.floor((windowS - aheadThen) / perCallS + 0.01)),
    resetS: Math.ceil(aheadThen),
    retryAfterS: passed ? 0 : Math.max(1, Math.ceil(aheadThen + perCallS - windowS)),
  };
}

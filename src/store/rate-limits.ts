/**
 * The rate limiter of all API processes: GCRA (the cell rate algorithm of ATM Forum TM 4.0) as one UPSERT a call, or
 * for all calls that came together. A key may use its whole quota at once, which then refills continuously. Refused
 * calls use nothing up.
 */
import type postgres from 'postgres';
import type { RateClass, RateLimitStore, RatePolicy, RateVerdict } from './types.ts';

const jumpS = 5;

/**
 * The row of one quota. The database's clock decides, so that processes with other clocks agree. The row's own last
 * moment keeps time from running backwards between calls that waited for one another; a clock that was set back by more
 * than `jumpS` is believed. $2 is the class and $4 the window in seconds; `wanted` calls of `perCall` seconds each.
 */
const upsert = ({ id, perCall, wanted }: { id: string; perCall: string; wanted: string }) => `
INSERT INTO rate_limits AS r (key_id, class, at, tat, allowed)
SELECT ${id}, $2, c.now, c.now + k.allowed * ${perCall}::float8, k.allowed
FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS now) c,
  (SELECT least(${wanted}, floor($4::float8 / ${perCall}::float8 + 0.001)::int) AS allowed) k
ON CONFLICT (key_id, class) DO UPDATE SET (at, tat, allowed) = (
  SELECT n.now, t.tat + k.allowed * ${perCall}::float8, k.allowed
  FROM (SELECT CASE WHEN r.at - excluded.at > ${jumpS} THEN excluded.at ELSE greatest(r.at, excluded.at) END AS now) n,
    LATERAL (SELECT greatest(n.now, least(r.tat, n.now + $4::float8)) AS tat) t,
    LATERAL (SELECT greatest(0, least(${wanted},
      floor(($4::float8 - (t.tat - n.now)) / ${perCall}::float8 + 0.001)::int)) AS allowed) k)
RETURNING allowed, tat - at AS ahead`;

const ofKey = upsert({ id: '$1', perCall: '$3', wanted: '$5::int' });
const takeQuery = `${ofKey}, NULL AS "accountAllowed", NULL AS "accountAhead"`;
/** Behind the key's row, so that all processes lock in one order and calls that the key refuses cost the account nothing. */
const takeWithAccountQuery = `WITH of_key AS (${ofKey}),
of_account AS (${upsert({ id: '$6', perCall: '$7', wanted: '(SELECT allowed FROM of_key)' })})
SELECT k.allowed, k.ahead, a.allowed AS "accountAllowed", a.ahead AS "accountAhead" FROM of_key k, of_account a`;

interface Quota {
  /** how many of the calls wanted */
  allowed: number;
  /** seconds until the quota is whole */
  ahead: number;
}

interface Answer extends Quota {
  /** null where no account is counted */
  accountAllowed: number | null;
  accountAhead: number | null;
}

interface Waiting {
  resolve(verdict: RateVerdict): void;
  reject(error: unknown): void;
}

export function rateLimitQueries(client: postgres.Sql) {
  /** Calls of one key and class that came while a look was under way; the next look judges them together. */
  const queues = new Map<string, Waiting[]>();

  async function look(keyId: string, rateClass: RateClass, policy: RatePolicy, calls: Waiting[]): Promise<void> {
    const { limit, windowS, account } = policy;
    const values = [keyId, rateClass, windowS / limit, windowS, calls.length];
    try {
      const [row] =
        account === undefined
          ? await client.unsafe<Answer[]>(takeQuery, values, { prepare: true })
          : await client.unsafe<Answer[]>(takeWithAccountQuery, [...values, account.id, windowS / account.limit], { prepare: true });
      calls.forEach((call, index) => call.resolve(verdict(row!, index, policy)));
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

    async giveBack(keyId, rateClass, { limit, windowS }) {
      await client`UPDATE rate_limits SET tat = tat - ${windowS / limit}::float8
        WHERE key_id = ${keyId} AND class = ${rateClass}`;
    },

    async forget(keyId, rateClass) {
      await client`DELETE FROM rate_limits WHERE key_id = ${keyId} AND class = ${rateClass}`;
    },

    /** Forgets keys whose quota has long been whole; returns how many rows. */
    async prune(): Promise<number> {
      const result = await client`DELETE FROM rate_limits
        WHERE tat < extract(epoch FROM clock_timestamp()) - 86400`;
      return result.count;
    },
  } satisfies RateLimitStore & Record<string, unknown>;
}

/** What the `index`th of the calls that were judged together is told: the tighter of both quotas. */
function verdict({ accountAllowed, accountAhead, ...key }: Answer, index: number, { limit, windowS, account }: RatePolicy): RateVerdict {
  const ofKey = verdictOf(key, index, windowS / limit, windowS);
  if (account === undefined || accountAllowed === null || accountAhead === null || !ofKey.allowed) return ofKey;
  const quota = { allowed: accountAllowed, ahead: accountAhead };
  const ofAccount = verdictOf(quota, index, windowS / account.limit, windowS);
  return ofAccount.remaining < ofKey.remaining || !ofAccount.allowed ? ofAccount : ofKey;
}

function verdictOf({ allowed, ahead }: Quota, index: number, perCallS: number, windowS: number): RateVerdict {
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

/**
 * The rate limiter of all API processes (migrations/functions/take_rate_limit.sql). Refused calls use neither the key's
 * quota nor its account's.
 */
import type postgres from 'postgres';
import { retried } from './database.ts';
import type { RateClass, RateLimitResult, RateLimitStore, RatePolicy } from './types.ts';

const takeQuery = `SELECT allowed, full_in_s AS "fullInS", account_full_in_s AS "accountFullInS"
  FROM take_rate_limit($1, $2, $3, $4, $5, $6, $7)`;

interface Taken {
  /** how many of the calls were allowed */
  allowed: number;
  /** seconds until the key's quota is full */
  fullInS: number;
  /** the same for the account's quota; null if it has none */
  accountFullInS: number | null;
}

interface Waiting {
  resolve(result: RateLimitResult): void;
  reject(error: unknown): void;
}

export function rateLimitQueries(client: postgres.Sql) {
  /** Calls of one key and class that arrive during a query; the next query takes them together. */
  const queues = new Map<string, Waiting[]>();

  async function takeAll(keyId: string, rateClass: RateClass, policy: RatePolicy, calls: Waiting[]): Promise<void> {
    const { limit, windowS, account } = policy;
    const ofAccount = account === undefined ? null : windowS / account.limit;
    const values = [keyId, account?.id ?? null, rateClass, windowS, windowS / limit, ofAccount, calls.length];
    try {
      const [taken] = await retried(() => client.unsafe<Taken[]>(takeQuery, values, { prepare: true }));
      calls.forEach((call, index) => call.resolve(resultOfCall(taken!, index, policy)));
    } catch (error) {
      for (const call of calls) call.reject(error);
    }
  }

  /** One query at a time for a key and class: they lock the same row, so more would only hold connections. */
  async function drain(queueKey: string, keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<void> {
    for (;;) {
      const calls = queues.get(queueKey)!.splice(0);
      if (calls.length === 0) break;
      await takeAll(keyId, rateClass, policy, calls);
    }
    queues.delete(queueKey);
  }

  return {
    take(keyId, rateClass, policy) {
      const queueKey = `${keyId} ${rateClass} ${policy.limit}/${policy.windowS}`;
      return new Promise<RateLimitResult>((resolve, reject) => {
        const waiting = queues.get(queueKey);
        if (waiting !== undefined) return void waiting.push({ resolve, reject });
        queues.set(queueKey, [{ resolve, reject }]);
        void drain(queueKey, keyId, rateClass, policy);
      });
    },

    async giveBack(keyId, rateClass, { limit, windowS }) {
      await client`UPDATE rate_limits SET tat = tat - ${windowS / limit}::float8
        WHERE subject = ${keyId} AND class = ${rateClass}`;
    },

    async forget(keyId, rateClass) {
      await client`DELETE FROM rate_limits WHERE subject = ${keyId} AND class = ${rateClass}`;
    },

    /** Removes quotas that have been full for a day; returns how many. Skips locked rows, so that no call waits. */
    async prune(): Promise<number> {
      const result = await client`DELETE FROM rate_limits WHERE (subject, class) IN (
        SELECT subject, class FROM rate_limits WHERE tat < extract(epoch FROM clock_timestamp()) - 86400
        FOR UPDATE SKIP LOCKED)`;
      return result.count;
    },
  } satisfies RateLimitStore & Record<string, unknown>;
}

/** The result of the `index`th of the calls that were taken together, from the tighter quota. */
function resultOfCall({ allowed, fullInS, accountFullInS }: Taken, index: number, policy: RatePolicy): RateLimitResult {
  const { limit, windowS, account } = policy;
  const ofKey = quotaResult({ allowed, fullInS }, index, windowS / limit, windowS);
  if (account === undefined || accountFullInS === null) return ofKey;
  const ofAccount = quotaResult({ allowed, fullInS: accountFullInS }, index, windowS / account.limit, windowS);
  if (!ofKey.allowed) return ofAccount.retryAfterS > ofKey.retryAfterS ? ofAccount : ofKey;
  return ofAccount.remaining < ofKey.remaining ? ofAccount : ofKey;
}

/** The calls are taken in order: the `index`th call leaves the quota that the later ones of the same query use. */
function quotaResult(quota: Omit<Taken, 'accountFullInS'>, index: number, perCallS: number, windowS: number): RateLimitResult {
  const allowed = index < quota.allowed;
  const later = allowed ? quota.allowed - 1 - index : 0;
  const fullInS = quota.fullInS - later * perCallS;
  return {
    allowed,
    remaining: Math.max(0, Math.floor((windowS - fullInS) / perCallS + 0.01)),
    resetS: Math.ceil(fullInS),
    retryAfterS: allowed ? 0 : Math.max(1, Math.ceil(fullInS + perCallS - windowS)),
  };
}

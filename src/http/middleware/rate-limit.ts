import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { ReelmendError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { RateLimitResult, RateLimitStore, ServiceRateClass } from '../../store/types.ts';
import type { AppEnv } from '../env.ts';

export interface RateLimitOptions {
  limits: RateLimitStore;
  /** calls per window and key, by class; omitted classes use the default. An account's own quotas take precedence */
  quotas?: Partial<Record<ServiceRateClass, number>>;
  /** seconds of the window */
  windowS?: number;
  /** who is counted; default: the API key, and its account */
  keyOf?: (c: Context<AppEnv>) => string;
}

/** All keys of an account together may make this many times the calls of one key. */
const accountQuotaFactor = 5;

/**
 * Calls per window: one minute, ten minutes for `auth`, one day for `pending`. They allow the 60 submissions and 300 polls
 * per minute that the specification promises.
 */
export const defaultQuotas: Readonly<Record<ServiceRateClass, number>> = { create: 120, read: 600, other: 240, auth: 30, pending: 1000 };

/** Calls per minute of a class that one key of the account may make. */
export function callsPerMinute(rateClass: KeyClass, account: Quotas, service: Partial<Record<ServiceRateClass, number>> = {}): number {
  return account[`${rateClass}_per_minute`] ?? service[rateClass] ?? defaultQuotas[rateClass];
}

/** Whole seconds, at least one, so that the client does not retry too early. */
const retryAfterOf = ({ retryAfterS }: RateLimitResult) => Math.max(1, Math.ceil(retryAfterS));

/** The error for a call that was not allowed. `advice` says what the caller can do instead of waiting. */
export function rateLimitExceeded(refusal: string, result: RateLimitResult, advice = ''): ReelmendError {
  const retryAfterS = retryAfterOf(result);
  return new ReelmendError('rate_limit_exceeded', `${refusal} Retry after ${retryAfterS} s${advice}.`, { retryAfterS });
}

/** Classes of an API key's calls. */
type KeyClass = 'create' | 'read' | 'other';

const isKeyClass = (rateClass: ServiceRateClass): rateClass is KeyClass => rateClass === 'create' || rateClass === 'read' || rateClass === 'other';

/** The key and the account whose quotas a call uses. */
const ofPrincipal = (c: Context<AppEnv>) => ({ key: c.get('principal').keyId, account: c.get('principal').account });

/**
 * Counts a call before the request is validated, and reports the remaining quota in the headers of
 * draft-ietf-httpapi-ratelimit-headers. Throws ReelmendError `rate_limit_exceeded`.
 */
export function rateLimit({ limits, quotas = {}, windowS = 60, keyOf }: RateLimitOptions) {
  const ownerOf = (c: Context<AppEnv>) => (keyOf === undefined ? ofPrincipal(c) : { key: keyOf(c), account: undefined });
  return (rateClass: ServiceRateClass) => {
    const common = quotas[rateClass] ?? defaultQuotas[rateClass];
    return createMiddleware<AppEnv>(async (c, next) => {
      const { key, account } = ownerOf(c);
      const limit = account !== undefined && isKeyClass(rateClass) ? callsPerMinute(rateClass, account.quotas, quotas) : common;
      const policy = `"${rateClass}";q=${limit};w=${windowS}`;
      const ofAccount = account === undefined ? {} : { account: { id: account.id, limit: limit * accountQuotaFactor } };
      const result = await limits.take(key, rateClass, { limit, windowS, ...ofAccount });
      const remaining = result.allowed ? Math.max(0, Math.floor(result.remaining)) : 0;
      const t = result.allowed ? Math.max(0, Math.ceil(result.resetS)) : retryAfterOf(result);
      c.header('RateLimit-Policy', policy);
      c.header('RateLimit', `"${rateClass}";r=${remaining};t=${t}`);
      if (!result.allowed) {
        const ofAll = account === undefined ? '' : `, or ${limit * accountQuotaFactor} with all keys of the account`;
        throw rateLimitExceeded(`More than ${limit} calls of the class "${rateClass}" in ${windowS} s${ofAll}.`, result);
      }
      await next();
    });
  };
}

import { createMiddleware } from 'hono/factory';
import type { RequestLog } from '../deps.ts';
import type { AppEnv } from '../env.ts';

/** Ids of jobs, previews, uploads and webhook endpoints. */
const resourceId = /^(?:job|prv|upl|hook)_[0-9a-hjkmnp-tv-z]{26}$/;

/**
 * Adds each request with a valid key to the account's request log. Runs after `authenticate` and around everything else,
 * so that refusals are logged too. `path` is the template of the route.
 */
export function logRequests(log: RequestLog, { path }: { path: string }) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const start = performance.now();
    const at = new Date();
    await next();
    const { keyId, mode, account } = c.get('principal');
    const named = c.req.param('id');
    const text: unknown = await (c.req.bodyCache as { text?: unknown }).text;
    log.add({
      ...{ accountId: account.id, keyId, mode, at, path },
      requestId: c.get('requestId'),
      method: c.req.method,
      resourceId: c.get('jobId') ?? c.get('resourceId') ?? (named !== undefined && resourceId.test(named) ? named : null),
      status: c.res.status,
      durationMs: Math.round(performance.now() - start),
      error: c.get('problem') ?? null,
      bodyText: typeof text === 'string' ? text : undefined,
    });
  });
}

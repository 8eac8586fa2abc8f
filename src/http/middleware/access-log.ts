import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { HttpLogger } from '../deps.ts';
import type { AppEnv } from '../env.ts';

const jobId = /^(?:job|prv)_[0-9a-hjkmnp-tv-z]{26}$/;

export interface AccessLogOptions {
  logger: HttpLogger;
}

/**
 * Logs one line per request. It has the template of the route, never the URL: URLs of links contain signatures.
 * Successful reads are logged at debug level, since most traffic is polling.
 */
export function accessLog({ logger }: AccessLogOptions) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const start = performance.now();
    await next();
    const facts = {
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      ms: Math.round((performance.now() - start) * 10) / 10,
      request_id: c.get('requestId'),
      job_id: c.get('jobId') ?? jobIdIn(c.req.param('id')),
      key_id: c.get('principal')?.keyId,
      user_id: c.get('session')?.user.id,
    };
    const quiet = c.res.status < 400 && (c.req.method === 'GET' || c.req.method === 'HEAD');
    if (quiet) logger.debug(facts, 'request');
    else logger.info(facts, 'request');
  });
}

/** Logs valid ids only, so that clients cannot write arbitrary text into the log. */
const jobIdIn = (id: string | undefined) => (id !== undefined && jobId.test(id) ? id : undefined);

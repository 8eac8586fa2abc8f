import { randomUUID } from 'node:crypto';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../env.ts';

const header = 'X-Request-Id';
const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** Not a sortable id like those of jobs: every request needs one, so it must be cheap. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/**
 * Uses the client's request id if it is safe to log, and generates one otherwise. Hono's `requestId` is not used: it
 * replaces ids with dots, which the contract allows.
 */
export function requestId() {
  return createMiddleware<AppEnv>(async (c, next) => {
    const own = c.req.header(header);
    const id = own !== undefined && acceptable.test(own) ? own : newRequestId();
    c.set('requestId', id);
    c.header(header, id);
    await next();
  });
}

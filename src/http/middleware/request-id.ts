import { randomUUID } from 'node:crypto';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../env.ts';

export interface RequestIdOptions {
  /** header that carries the id in both directions */
  header?: string;
  generate?: () => string;
}

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** Not one of the service's sortable identifiers: this one is made for every request and has to be cheap. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/** Takes the caller's request id when it is harmless in a log line, else makes one; answers with it. */
export function requestId({ header = 'X-Request-Id', generate = newRequestId }: RequestIdOptions = {}) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const given = c.req.header(header);
    const id = given !== undefined && acceptable.test(given) ? given : generate();
    c.set('requestId', id);
    c.header(header, id);
    await next();
  });
}

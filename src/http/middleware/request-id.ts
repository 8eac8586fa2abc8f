import { createMiddleware } from 'hono/factory';
import { newId } from '../../domain/ids.ts';
import type { AppEnv } from '../env.ts';

export interface RequestIdOptions {
  /** header that carries the id in both directions */
  header?: string;
  generate?: () => string;
}

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** Takes the caller's request id when it is harmless in a log line, else makes one; answers with it. */
export function requestId({ header = 'X-Request-Id', generate = () => newId('req') }: RequestIdOptions = {}) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const given = c.req.header(header);
    const id = given !== undefined && acceptable.test(given) ? given : generate();
    c.set('requestId', id);
    await next();
    c.res.headers.set(header, id);
  });
}

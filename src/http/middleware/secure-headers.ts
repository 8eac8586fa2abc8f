import { createMiddleware } from 'hono/factory';

export interface SecureHeadersOptions {
  headers?: Readonly<Record<string, string>>;
}

const defaults: Readonly<Record<string, string>> = {
  // Nothing that this API serves is a page: no script, no frame, no guessing of types.
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=15552000; includeSubDomains',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/**
 * Sets the headers before the handler runs: it may replace one, and the response is made once. A handler must answer
 * through the context (`c.json`, `c.body`), not with a Response of its own.
 */
export function secureHeaders({ headers = defaults }: SecureHeadersOptions = {}) {
  const entries = Object.entries(headers);
  return createMiddleware(async (c, next) => {
    for (const [name, value] of entries) c.header(name, value);
    await next();
  });
}

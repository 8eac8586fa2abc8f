import { createMiddleware } from 'hono/factory';

export interface SecureHeadersOptions {
  /** Makes browsers use https for the host's subdomains, too, which may be other people's services. Default: false. */
  hstsSubdomains?: boolean;
}

const fixed: Readonly<Record<string, string>> = {
  // API responses are not pages: no scripts, no frames, no content sniffing.
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/**
 * Sets the headers before the handler runs, so that a handler can replace one. (Hono's `secureHeaders` sets them
 * afterwards.) Handlers must respond through the context (`c.json`, `c.body`), not with a new Response.
 */
export function secureHeaders({ hstsSubdomains = false }: SecureHeadersOptions = {}) {
  const hsts = `max-age=15552000${hstsSubdomains ? '; includeSubDomains' : ''}`;
  const entries = Object.entries({ ...fixed, 'Strict-Transport-Security': hsts });
  return createMiddleware(async (c, next) => {
    for (const [name, value] of entries) c.header(name, value);
    await next();
  });
}

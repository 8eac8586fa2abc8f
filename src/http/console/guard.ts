/** Who may call the console's operations: sessions, tokens against forged requests, operators, pace. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { createMiddleware } from 'hono/factory';
import { ReelmendError } from '../../domain/errors.ts';
import type { RateLimitStore } from '../../store/types.ts';
import type { AppEnv } from '../env.ts';
import type { OperationId } from '../handlers.ts';
import { defaultQuotas, rateLimit } from '../middleware/rate-limit.ts';
import type { WithConsole } from './deps.ts';

export const cookieName = 'reelmend_session';
/** seconds of the window in which signing up and in is counted */
const authWindowS = 600;
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** HMAC-SHA-256 of a session's token under the server's pepper: what the database keeps. */
export function hashSessionToken(token: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`reelmend console session\n${token}`).digest();
}

/** The token that changes need in that session: derived from it, so that nothing more is kept. */
export function csrfTokenOf(token: string, pepper: string): string {
  return createHmac('sha256', pepper).update(`reelmend console csrf\n${token}`).digest('base64url');
}

/** Throws ReelmendError `missing_session` or `invalid_session`. */
export function requireSession({ console: { store }, keyPepper }: WithConsole) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const token = getCookie(c, cookieName);
    if (token === undefined) throw new ReelmendError('missing_session', 'Nobody is signed in.');
    const known = tokenPattern.test(token) ? await store.users.identify(hashSessionToken(token, keyPepper)) : null;
    if (known === null) throw new ReelmendError('invalid_session', 'The session has ended; sign in again.');
    c.set('session', known);
    c.set('csrfToken', csrfTokenOf(token, keyPepper));
    await next();
  });
}

/** Throws ReelmendError `cross_site_request` when the browser says that another site sent it. */
export function assertSameSite(c: Context<AppEnv>, origins: readonly string[]): void {
  const site = c.req.header('Sec-Fetch-Site');
  const foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (foreign || !isOwnOrigin(c, origins)) {
    throw new ReelmendError('cross_site_request', 'The request was sent by another site.');
  }
}

/** A client that is no browser sends no Origin, and has no cookies that another site could use. */
function isOwnOrigin(c: Context<AppEnv>, origins: readonly string[]): boolean {
  const origin = c.req.header('Origin');
  if (origin === undefined || origins.includes(origin)) return true;
  const host = c.req.header('Host') ?? new URL(c.req.url).host;
  return URL.parse(origin)?.host === host;
}

/** Behind `requireSession`. Throws ReelmendError `cross_site_request` or `csrf_token_invalid`. */
export function requireCsrfToken({ console: { origins } }: WithConsole) {
  return createMiddleware<AppEnv>(async (c, next) => {
    assertSameSite(c, origins);
    const given = createHash('sha256').update(c.req.header('X-CSRF-Token') ?? '').digest();
    if (!timingSafeEqual(given, createHash('sha256').update(c.get('csrfToken')).digest())) {
      const message = 'The header X-CSRF-Token is missing or belongs to another session.';
      throw new ReelmendError('csrf_token_invalid', message);
    }
    await next();
  });
}

/** Behind `requireSession`. Throws ReelmendError `operator_required`. */
export function requireOperator() {
  return createMiddleware<AppEnv>(async (c, next) => {
    if (!c.get('session').user.operator) throw new ReelmendError('operator_required', 'Only operators may do this.');
    await next();
  });
}

/** Sign-ins that one address may try: many people may share it, and each has a count of their own besides. */
const signInsPerAddress = 10;

/** Before anything of a sign-up or sign-in is read. Throws `rate_limit_exceeded` or `cross_site_request`. */
export function anonymous(deps: WithConsole): (id: OperationId) => MiddlewareHandler<AppEnv>[] {
  const { console: parts, store, options = {} } = deps;
  const quota = options.rateLimits?.auth ?? defaultQuotas.auth;
  const sameSite = createMiddleware<AppEnv>(async (c, next) => {
    assertSameSite(c, parts.origins);
    await next();
  });
  return (id) => {
    const signIn = id === 'consoleSignIn';
    const keyOf = (c: Context<AppEnv>) => `${signIn ? 'sign-in' : 'address'}:${clientAddress(c, parts.proxyHops)}`;
    const quotas = { auth: signIn ? quota * signInsPerAddress : quota };
    return [rateLimit({ limits: store.rateLimits, quotas, windowS: authWindowS, keyOf })('auth'), sameSite];
  };
}

/** The peer's address, or what the proxies in front say of it; an IPv6 peer counts by its network (/64). */
export function clientAddress(c: Context<AppEnv>, proxyHops: number): string {
  const forwarded = (c.req.header('X-Forwarded-For') ?? '').split(',').map((part) => part.trim());
  // The last entry was written by the nearest proxy, and so on: what lies before is whatever the client said.
  const claimed = proxyHops > 0 ? forwarded.at(-proxyHops) : undefined;
  const address = claimed || peerAddress(c);
  return address.includes(':') && !address.includes('.') ? networkOf(address) : address.slice(0, 64);
}

function peerAddress(c: Context<AppEnv>): string {
  // An app that never listens (tests) has no connection.
  return 'incoming' in ((c.env as object | undefined) ?? {}) ? (getConnInfo(c).remote.address ?? 'unknown') : 'unknown';
}

function networkOf(address: string): string {
  const host = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address.slice(0, 64);
  const [head = '', tail = ''] = host.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = host.includes('::') ? Array.from({ length: 8 - left.length - right.length }, () => '0') : [];
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

export interface PasswordTry {
  email: string;
  /** network address that it comes from */
  address: string;
  /** failures in ten minutes; default 30 */
  quota?: number | undefined;
}

/**
 * Counts a try at an email's password from one address, and returns what takes the count back once the password was
 * right: a guesser is stopped, and nobody can lock the owner out who signs in from elsewhere. Throws ReelmendError
 * `rate_limit_exceeded`. Neither email nor address is kept.
 */
export async function countTry(
  limits: RateLimitStore,
  { email, address, quota = defaultQuotas.auth }: PasswordTry,
): Promise<() => Promise<void>> {
  const name = createHash('sha256').update(`${address}\n${email.toLowerCase()}`).digest('base64url');
  const key = `password:${name}`;
  const verdict = await limits.take(key, 'auth', { limit: quota, windowS: authWindowS });
  if (verdict.allowed) return () => limits.forget(key, 'auth');
  const retryAfterS = Math.max(1, Math.ceil(verdict.retryAfterS));
  const message = `Too many attempts for this email from this address; retry after ${retryAfterS} s.`;
  throw new ReelmendError('rate_limit_exceeded', message, { retryAfterS });
}

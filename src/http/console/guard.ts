/** Access control of the console: sessions, CSRF protection, operators, limits of sign-ups. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { createMiddleware } from 'hono/factory';
import type { CookieOptions } from 'hono/utils/cookie';
import { ReelmendError } from '../../domain/errors.ts';
import type { AppEnv } from '../env.ts';
import type { OperationId } from '../register.ts';
import { defaultQuotas, rateLimit } from '../middleware/rate-limit.ts';
import type { WithConsole } from '../deps.ts';
import type { Permission } from './permissions.ts';

export const cookieName = 'reelmend_session';

/**
 * How browsers keep the session. Over https its name begins with `__Host-`: browsers then take it from this host alone, so that no
 * sibling domain can put its own session in the place of the user's. They ask for the path `/` in return.
 */
export function cookieOptions(secure: boolean): CookieOptions {
  const attributes = { path: secure ? '/' : '/console', httpOnly: true, sameSite: 'Strict', secure } as const;
  return secure ? ({ ...attributes, prefix: 'host' } as const) : attributes;
}

/** window of the limits of sign-ups and sign-ins, seconds */
export const authWindowS = 600;
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** HMAC-SHA-256 of a session token with the server's pepper. The database stores only this hash. */
export function hashSessionToken(token: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`reelmend console session\n${token}`).digest();
}

/** The CSRF token of a session, derived from its token, so that it need not be stored. */
export function csrfTokenOf(token: string, pepper: string): string {
  return createHmac('sha256', pepper).update(`reelmend console csrf\n${token}`).digest('base64url');
}

/** Throws ReelmendError `missing_session` or `invalid_session`. */
export function requireSession({ console: { store, secureCookies }, keyPepper }: WithConsole) {
  const { prefix } = cookieOptions(secureCookies);
  return createMiddleware<AppEnv>(async (c, next) => {
    const token = getCookie(c, cookieName, prefix);
    if (token === undefined) throw new ReelmendError('missing_session', 'No user is signed in.');
    const known = tokenPattern.test(token) ? await store.users.identify(hashSessionToken(token, keyPepper)) : null;
    if (known === null) throw new ReelmendError('invalid_session', 'The session has ended. Sign in again.');
    c.set('session', known);
    c.set('csrfToken', csrfTokenOf(token, keyPepper));
    await next();
  });
}

/** Throws ReelmendError `cross_site_request` if the browser reports that another site sent the request. */
function assertSameSite(c: Context<AppEnv>, origins: readonly string[]): void {
  const site = c.req.header('Sec-Fetch-Site');
  const foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (foreign || !isOwnOrigin(c, origins)) {
    throw new ReelmendError('cross_site_request', 'The request was sent by another site.');
  }
}

/** Clients other than browsers send no Origin. They have no cookies that another site could misuse. */
function isOwnOrigin(c: Context<AppEnv>, origins: readonly string[]): boolean {
  const origin = c.req.header('Origin');
  if (origin === undefined || origins.includes(origin)) return true;
  const host = c.req.header('Host') ?? new URL(c.req.url).host;
  return URL.parse(origin)?.host === host;
}

/** Runs after `requireSession`. Throws ReelmendError `cross_site_request` or `csrf_token_invalid`. */
export function requireCsrfToken({ console: { origins } }: WithConsole) {
  return createMiddleware<AppEnv>(async (c, next) => {
    assertSameSite(c, origins);
    const sent = createHash('sha256').update(c.req.header('X-CSRF-Token') ?? '').digest();
    if (!timingSafeEqual(sent, createHash('sha256').update(c.get('csrfToken')).digest())) {
      const message = 'The header X-CSRF-Token is missing or belongs to another session.';
      throw new ReelmendError('csrf_token_invalid', message);
    }
    await next();
  });
}

/** Runs after `requireSession`. Throws ReelmendError `operator_required` or `admin_required`. */
export function requirePermission(permission: Permission) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const { user } = c.get('session');
    if (permission === 'operator' && !user.operator) throw new ReelmendError('operator_required', 'Only operators may do this.');
    if (permission === 'admin' && user.role !== 'admin') throw new ReelmendError('admin_required', 'Only admins of the account may do this.');
    await next();
  });
}

/** An IP address may try this many times more sign-ins than sign-ups: users may share it. */
const signInFactor = 10;

/** Runs before the body of a sign-up or sign-in is read. Throws `rate_limit_exceeded` or `cross_site_request`. */
export function anonymous(deps: WithConsole): (id: OperationId) => MiddlewareHandler<AppEnv>[] {
  const { console: parts, store, options = {} } = deps;
  const quota = options.rateLimits?.auth ?? defaultQuotas.auth;
  const sameSite = createMiddleware<AppEnv>(async (c, next) => {
    assertSameSite(c, parts.origins);
    await next();
  });
  return (id) => {
    const signIn = id === 'consoleSignIn';
    const keyOf = (c: Context<AppEnv>) => `${signIn ? 'sign-in' : 'ip'}:${clientIp(c, parts.proxyHops)}`;
    const quotas = { auth: signIn ? quota * signInFactor : quota };
    return [rateLimit({ limits: store.rateLimits, quotas, windowS: authWindowS, keyOf })('auth'), sameSite];
  };
}

/** The client's IP address, from the connection or from trusted proxies. IPv6 clients count by network (/64). */
export function clientIp(c: Context<AppEnv>, proxyHops: number): string {
  const forwarded = (c.req.header('X-Forwarded-For') ?? '').split(',').map((part) => part.trim());
  // The nearest proxy wrote the last entry, and so on. Entries before those of the proxies come from the client.
  const forwardedIp = proxyHops > 0 ? forwarded.at(-proxyHops) : undefined;
  // Some load balancers, such as Azure's, add the port of the connection.
  const ip = forwardedIp?.replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1') || peerIp(c);
  return ip.includes(':') && !ip.includes('.') ? networkOf(ip) : ip.slice(0, 64);
}

function peerIp(c: Context<AppEnv>): string {
  // In tests the app does not listen and has no connection.
  return 'incoming' in ((c.env as object | undefined) ?? {}) ? (getConnInfo(c).remote.address ?? 'unknown') : 'unknown';
}

function networkOf(ip: string): string {
  const host = URL.parse(`http://[${ip}]`)?.hostname.slice(1, -1) ?? ip.slice(0, 64);
  const [head = '', tail = ''] = host.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = host.includes('::') ? Array.from({ length: 8 - left.length - right.length }, () => '0') : [];
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

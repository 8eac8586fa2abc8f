/** Sign-up, sign-in, sign-out, passwords and sessions. */
import { randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import type { ConsoleSession } from '../../contract/types.gen.ts';
import { defaultRetentionDays } from '../../domain/limits.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { Tier } from '../../domain/job.ts';
import { priceTable } from '../../domain/pricing.ts';
import { type ConsoleIdentity, sessionDays } from '../../store/index.ts';
import type { AppEnv } from '../env.ts';
import type { ConsoleHandlers } from '../register.ts';
import type { WithConsole } from '../deps.ts';
import { attemptPassword } from './attempts.ts';
import { clientIp, cookieName, cookieOptions, csrfTokenOf, hashSessionToken } from './guard.ts';
import { pageOf } from '../paging.ts';
import { requireSecondFactor } from './two-factor.ts';
import { serializeLimits } from '../serialize.ts';
import { serializeConsoleAccount } from './serialize.ts';

/** Test mode fetches nothing, so this host need not exist; hosts under `.invalid` never do (RFC 2606). */
const testSampleUrl = 'https://samples.reelmend.invalid/sample.mp4';

type SessionHandlers = Pick<
  ConsoleHandlers,
  | 'consoleSignUp'
  | 'consoleSignIn'
  | 'consoleSignOut'
  | 'consoleGetSession'
  | 'consoleChangePassword'
  | 'consoleListSessions'
  | 'consoleEndOtherSessions'
  | 'consoleEndSession'
>;

export function sessionHandlers(deps: WithConsole): SessionHandlers {
  return { ...signInHandlers(deps), ...sessionListHandlers(deps) };
}

type ListHandlers = Pick<SessionHandlers, 'consoleListSessions' | 'consoleEndOtherSessions' | 'consoleEndSession'>;

function signInHandlers(deps: WithConsole): Omit<SessionHandlers, keyof ListHandlers> {
  const { store, passwords, secureCookies, signUp } = deps.console;
  const attributes = cookieOptions(secureCookies);
  const ipOf = (c: Context<AppEnv>) => clientIp(c, deps.console.proxyHops);
  const attempt = (c: Context<AppEnv>, email: string, verify: () => Promise<boolean>) =>
    attemptPassword(deps.store.rateLimits, { email, ip: ipOf(c), quota: deps.options?.rateLimits?.auth, verify });
  return {
    consoleSignUp: async (c) => {
      if (signUp === 'closed') throw signUpClosed();
      const { email, password, name } = c.req.valid('json');
      // Always hashed: the response time must not reveal whether the email is known.
      const hash = await passwords.hash(password, ipOf(c));
      await store.users.create({ email, password: hash, account: { name: name ?? email } });
      return c.json({ accepted: true as const }, 202);
    },

    consoleSignIn: async (c) => {
      const { email, password, code } = c.req.valid('json');
      const user = await store.users.byEmail(email);
      let withCode = false;
      const verify = async () => {
        const isRight = await passwords.verify(password, user?.password ?? null, ipOf(c));
        // Only whoever knows the password learns that there is a second factor.
        if (isRight && user !== null) withCode = await requireSecondFactor(deps, user.id, code);
        return isRight;
      };
      if (!(await attempt(c, email, verify)) || user === null) {
        throw invalidCredentials();
      }
      const token = await openSession(c, deps, { ...user, withCode });
      const identity = await store.users.identify(hashSessionToken(token, deps.keyPepper));
      if (identity === null) throw new ReelmendError('internal_error', 'The new session ended immediately.');
      setCookie(c, cookieName, token, { ...attributes, maxAge: sessionDays * 86_400 });
      return c.json(serializeSession(deps, identity, csrfTokenOf(token, deps.keyPepper)), 200);
    },

    consoleSignOut: async (c) => {
      const { sessionId, user } = c.get('session');
      await store.users.endSession(user.id, sessionId);
      deleteCookie(c, cookieName, attributes);
      return c.json({ signed_out: true as const }, 200);
    },

    consoleGetSession: (c) => c.json(serializeSession(deps, c.get('session'), c.get('csrfToken')), 200),

    consoleChangePassword: async (c) => {
      const { sessionId, user } = c.get('session');
      const { current_password, new_password } = c.req.valid('json');
      const stored = await store.users.passwordOf(user.id);
      if (!(await attempt(c, user.email, () => passwords.verify(current_password, stored, ipOf(c)))) || stored === null) {
        throw wrongPassword();
      }
      const hash = await passwords.hash(new_password, ipOf(c));
      const ended = await store.users.replacePassword(user.id, { from: stored, to: hash, keep: sessionId });
      if (ended === null) throw wrongPassword();
      return c.json({ ended }, 200);
    },
  };
}

function sessionListHandlers({ console: { store } }: WithConsole): ListHandlers {
  return {
    consoleListSessions: async (c) => {
      const { sessionId, user } = c.get('session');
      const { limit, starting_after } = c.req.valid('query');
      const rows = await store.users.sessions({ userId: user.id, limit: limit + 1, startingAfter: starting_after });
      const page = pageOf(rows, limit, {
        cursor: ({ id }) => id,
        serialize: ({ id, userAgent, createdAt, lastSeenAt, expiresAt }) => ({
          id,
          current: id === sessionId,
          user_agent: userAgent,
          created_at: createdAt.toISOString(),
          last_seen_at: lastSeenAt.toISOString(),
          expires_at: expiresAt.toISOString(),
        }),
      });
      return c.json(page, 200);
    },

    consoleEndOtherSessions: async (c) => {
      const { sessionId, user } = c.get('session');
      return c.json({ ended: await store.users.endOtherSessions(user.id, sessionId) }, 200);
    },

    consoleEndSession: async (c) => {
      const ended = await store.users.endSession(c.get('session').user.id, c.req.valid('param').id);
      if (!ended) throw new ReelmendError('not_found', 'There is no such session.');
      return c.json({ ended: 1 }, 200);
    },
  };
}

function signUpClosed(): ReelmendError {
  const message = 'Sign-up is closed. Ask the operator of this service for an account.';
  return new ReelmendError('sign_up_closed', message);
}

function wrongPassword(): ReelmendError {
  return new ReelmendError('wrong_password', 'The current password is wrong.', { param: '/current_password' });
}

/**
 * Creates a session and returns its token, which only the cookie contains. Throws ReelmendError `invalid_credentials` if the
 * password was changed meanwhile, or `second_factor_required` if the second factor was enabled.
 */
async function openSession(c: Context<AppEnv>, deps: WithConsole, user: { id: string; password: string; withCode: boolean }): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const tokenHash = hashSessionToken(token, deps.keyPepper);
  const userAgent = c.req.header('User-Agent') ?? '';
  const session = await deps.console.store.users.openSession({ userId: user.id, tokenHash, userAgent, password: user.password, withCode: user.withCode });
  if (session === null) throw invalidCredentials();
  return token;
}

function invalidCredentials(): ReelmendError {
  return new ReelmendError('invalid_credentials', 'The email or the password is wrong.');
}

function pricing(tier: Tier): ConsoleSession['pricing']['standard'] {
  const { currency, perMinute, perSecond } = priceTable(tier);
  return { currency, per_minute: perMinute, per_second: perSecond };
}

function serializeSession(deps: WithConsole, identity: ConsoleIdentity, csrfToken: string): ConsoleSession {
  const { user, account, sessionId, expiresAt } = identity;
  const { sampleUrl } = deps.console;
  return {
    id: sessionId,
    csrf_token: csrfToken,
    expires_at: expiresAt.toISOString(),
    user: { id: user.id, email: user.email, operator: user.operator, role: user.role, created_at: user.createdAt.toISOString() },
    account: serializeConsoleAccount(account),
    pricing: { standard: pricing('standard'), secure: pricing('secure') },
    limits: serializeLimits(deps, account),
    standard_retention_days: deps.options?.retentionDays ?? defaultRetentionDays,
    capabilities: { sample_url: { live: sampleUrl, test: testSampleUrl } },
  };
}

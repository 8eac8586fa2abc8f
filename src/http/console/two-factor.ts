/** The second factor of sign-in: codes of an authenticator app (RFC 6238), and recovery codes. */
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import { generateRecoveryCodes, hashRecoveryCode, normalizeCode } from '../../domain/recovery-codes.ts';
import { totpUri } from '../../domain/totp.ts';
import { secondFactorRequired } from '../../store/index.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import type { ConsoleHandlers } from '../register.ts';
import { attemptCode, attemptPassword } from './attempts.ts';
import { clientIp } from './guard.ts';
import { timestamp } from '../serialize.ts';

type TwoFactorHandlers = Pick<
  ConsoleHandlers,
  | 'consoleGetTwoFactor'
  | 'consoleBeginTwoFactor'
  | 'consoleConfirmTwoFactor'
  | 'consoleReplaceRecoveryCodes'
  | 'consoleDisableTwoFactor'
  | 'operatorResetTwoFactor'
>;

export function twoFactorHandlers(deps: WithConsole): TwoFactorHandlers {
  const { store } = deps.console;
  const newCodes = (userId: string) => {
    const codes = generateRecoveryCodes();
    return { codes, hashes: codes.map((code) => hashRecoveryCode(userId, code, deps.keyPepper)) };
  };
  const state = async (userId: string) => {
    const { enabledAt, recoveryCodesLeft } = await store.twoFactor.state(userId);
    return { enabled: enabledAt !== null, enabled_at: timestamp(enabledAt), recovery_codes_left: recoveryCodesLeft };
  };
  /** A session alone must not weaken the second factor: it may be stolen. */
  const requireBoth = async (c: Context<AppEnv>, proof: { password: string; code: string }) => {
    const { user } = c.get('session');
    await requirePassword(deps, c, proof.password);
    if (!(await store.twoFactor.isEnabled(user.id))) throw notEnabled();
    await requireSecondFactor(deps, user.id, proof.code);
    return user.id;
  };
  return {
    consoleGetTwoFactor: async (c) => c.json(await state(c.get('session').user.id), 200),

    consoleBeginTwoFactor: async (c) => {
      const { user } = c.get('session');
      await requirePassword(deps, c, c.req.valid('json').password);
      const secret = await store.twoFactor.begin(user.id);
      return c.json({ secret, uri: totpUri(secret, user.email) }, 201);
    },

    consoleConfirmTwoFactor: async (c) => {
      const { sessionId, user } = c.get('session');
      const { codes, hashes } = newCodes(user.id);
      const confirmation = { code: normalizeCode(c.req.valid('json').code), hashes, keepSession: sessionId };
      await attemptCode(deps.store.rateLimits, user.id, () => store.twoFactor.confirm(user.id, confirmation));
      return c.json({ recovery_codes: codes }, 200);
    },

    consoleReplaceRecoveryCodes: async (c) => {
      const userId = await requireBoth(c, c.req.valid('json'));
      const { codes, hashes } = newCodes(userId);
      if (!(await store.twoFactor.replaceRecoveryCodes(userId, hashes))) throw notEnabled();
      return c.json({ recovery_codes: codes }, 201);
    },

    consoleDisableTwoFactor: async (c) => {
      const userId = await requireBoth(c, c.req.valid('json'));
      if (!(await store.twoFactor.disable(userId))) throw notEnabled();
      return c.json(await state(userId), 200);
    },

    operatorResetTwoFactor: async (c) => {
      const reset = await store.twoFactor.reset(c.req.valid('param').id, { operator_id: c.get('session').user.id });
      if (reset === null) throw new ReelmendError('not_found', 'There is no such person.');
      if (!reset) throw notEnabled();
      return c.json({ reset: true as const }, 200);
    },
  };
}

/**
 * Passes users without a second factor. Throws ReelmendError `second_factor_required` without a code, `wrong_code`, or
 * `rate_limit_exceeded`. Uses the code up. Returns whether there is a second factor.
 */
export async function requireSecondFactor(deps: WithConsole, userId: string, code: string | undefined): Promise<boolean> {
  const { store } = deps.console;
  if (!(await store.twoFactor.isEnabled(userId))) return false;
  if (code === undefined) throw secondFactorRequired();
  const entered = { text: normalizeCode(code), recoveryHash: hashRecoveryCode(userId, code, deps.keyPepper) };
  await attemptCode(deps.store.rateLimits, userId, () => store.twoFactor.use(userId, entered));
  return true;
}

/** Throws ReelmendError `wrong_password` or `rate_limit_exceeded`. */
async function requirePassword(deps: WithConsole, c: Context<AppEnv>, password: string): Promise<void> {
  const { passwords, proxyHops, store } = deps.console;
  const { id, email } = c.get('session').user;
  const ip = clientIp(c, proxyHops);
  const stored = await store.users.passwordOf(id);
  const verify = () => passwords.verify(password, stored, ip);
  const quota = deps.options?.rateLimits?.auth;
  if (await attemptPassword(deps.store.rateLimits, { email, ip, quota, verify })) return;
  throw new ReelmendError('wrong_password', 'The password is wrong.', { param: '/password' });
}

function notEnabled(): ReelmendError {
  return new ReelmendError('two_factor_not_enabled', 'Two-factor authentication is not enabled.');
}

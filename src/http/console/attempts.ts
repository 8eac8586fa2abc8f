/** Limits how many wrong passwords and codes can be tried. */
import { createHash } from 'node:crypto';
import { ReelmendError } from '../../domain/errors.ts';
import type { RateLimitStore, RatePolicy } from '../../store/types.ts';
import { defaultQuotas, rateLimitExceeded } from '../middleware/rate-limit.ts';
import { authWindowS } from './guard.ts';

interface Attempt {
  /** whose attempts count together */
  key: string;
  policy: RatePolicy;
  /** the error when there are too many */
  refusal: string;
  /** checks the secret; what it throws does not count as a failure */
  verify(): Promise<boolean>;
}

/** Whether the secret is right. Only failures count. Throws ReelmendError `rate_limit_exceeded`. */
async function attempt(limits: RateLimitStore, { key, policy, refusal, verify }: Attempt): Promise<boolean> {
  // Counted before the check: guesses that run side by side must not all pass.
  const taken = await limits.take(key, 'auth', policy);
  if (!taken.allowed) throw rateLimitExceeded(refusal, taken);
  const isRight = await verify().catch(async (error: unknown) => {
    await limits.giveBack(key, 'auth', policy);
    throw error;
  });
  if (isRight) await limits.forget(key, 'auth');
  return isRight;
}

/** wrong codes of a user in an hour, from all IP addresses together: with six digits, a guesser needs years */
const codePolicy = { limit: 10, windowS: 3600 };

/**
 * Throws ReelmendError `wrong_code` if `verify` rejects the code, or `rate_limit_exceeded`. Failures count per user and not per IP
 * address: whoever gets here knows the password, so nobody else can use up the owner's attempts.
 */
export async function attemptCode(limits: RateLimitStore, userId: string, verify: () => Promise<boolean>): Promise<void> {
  const isRight = await attempt(limits, { key: `code:${userId}`, policy: codePolicy, refusal: 'Too many wrong codes.', verify });
  if (!isRight) throw new ReelmendError('wrong_code', 'The code is wrong, was used already, or has expired.', { param: '/code' });
}

export interface PasswordAttempt extends Pick<Attempt, 'verify'> {
  email: string;
  /** the client's IP address */
  ip: string;
  /** failures in ten minutes; default 30 */
  quota?: number | undefined;
}

/**
 * Whether the password is right. Failures count for each pair of email and IP address: a guesser is stopped, and the owner can
 * still sign in from elsewhere. Throws ReelmendError `rate_limit_exceeded`. Stores neither email nor IP address.
 */
export function attemptPassword(limits: RateLimitStore, { email, ip, quota = defaultQuotas.auth, verify }: PasswordAttempt): Promise<boolean> {
  const name = createHash('sha256').update(`${ip}\n${email.toLowerCase()}`).digest('base64url');
  const policy = { limit: quota, windowS: authWindowS };
  return attempt(limits, { key: `password:${name}`, policy, refusal: 'Too many wrong passwords for this email from this IP address.', verify });
}

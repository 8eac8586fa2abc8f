import { createMiddleware } from 'hono/factory';
import { hashApiKey, parseApiKey } from '../../domain/api-key.ts';
import { notApproved } from '../../domain/approval.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { KeyPrincipal, KeyStore, Principal } from '../../store/types.ts';
import type { AppEnv } from '../env.ts';

export interface AuthenticateOptions {
  keys: KeyStore;
  keyPepper: string;
}

const invalid = () => new ReelmendError('invalid_api_key', 'The API key is not valid.');

/** The key of an Authorization header. Two headers arrive joined by a comma, which no key contains. */
function bearerKey(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    throw new ReelmendError(
      'missing_api_key',
      'The request has no API key. Send it as "Authorization: Bearer <API_KEY>".',
    );
  }
  // Also the scheme alone: the variable of the key is empty.
  if (!/^Bearer /i.test(header)) {
    throw new ReelmendError('invalid_api_key', 'The header Authorization must have the form "Authorization: Bearer <API_KEY>".');
  }
  const match = /^Bearer +([0-9A-Za-z_]+)$/i.exec(header);
  if (match?.[1] === undefined) throw invalid();
  return match[1];
}

/** Throws ReelmendError `account_pending_approval` for live mode if the account is not approved. */
export function assertApproved({ mode, account }: Pick<Principal, 'mode' | 'account'>): void {
  if (mode === 'test' || account.approvalStatus === 'approved') return;
  throw notApproved(account.approvalStatus);
}

/**
 * Concurrent requests with one key share a single look-up, since polling clients would otherwise repeat the same query
 * many times at once. Results are not cached, so a revoked key is refused immediately.
 */
function sharedLookUps(keys: KeyStore): (hash: Buffer) => Promise<KeyPrincipal | null> {
  const pending = new Map<string, Promise<KeyPrincipal | null>>();
  return (hash) => {
    const id = hash.toString('base64');
    let lookUp = pending.get(id);
    if (lookUp === undefined) {
      lookUp = keys.authenticate(hash).finally(() => pending.delete(id));
      pending.set(id, lookUp);
    }
    return lookUp;
  };
}

/**
 * Bearer authentication. Refuses a malformed key, or one with a wrong checksum, without a look-up. Throws ReelmendError
 * `missing_api_key` or `invalid_api_key`.
 */
export function authenticate({ keys, keyPepper }: AuthenticateOptions) {
  const lookUp = sharedLookUps(keys);
  return createMiddleware<AppEnv>(async (c, next) => {
    const key = bearerKey(c.req.header('Authorization'));
    const parsed = parseApiKey(key);
    if (parsed === null) throw invalid();
    const principal = await lookUp(hashApiKey(key, keyPepper));
    if (principal === null || principal.mode !== parsed.mode) throw invalid();
    c.set('principal', principal);
    await next();
  });
}

/** Runs after `authenticate`. Throws ReelmendError `account_pending_approval` for live keys of unapproved accounts. */
export function requireApproval() {
  return createMiddleware<AppEnv>(async (c, next) => {
    assertApproved(c.get('principal'));
    await next();
  });
}

/** Idempotency keys of customers: each belongs to the job, preview or upload that it created. */
import { and, eq, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { Mode } from '../domain/job.ts';
import { idempotencyKeys } from './schema.ts';
import type { Idempotency } from './types.ts';

/** The condition of the key's row. An expired key counts as new. */
export const isKey = (accountId: string, mode: Mode, { key }: Idempotency) =>
  and(
    eq(idempotencyKeys.accountId, accountId),
    eq(idempotencyKeys.mode, mode),
    eq(idempotencyKeys.key, key),
    sql`${idempotencyKeys.expiresAt} > now()`,
  );

/**
 * Returns what a key has created. Throws ReelmendError `idempotency_key_reused` if the request had another body, such as that of another kind
 * of resource, or if `what` it created was deleted.
 */
export function assertReplayable<R extends { deletedAt: Date | null }>(found: { fingerprint: string; created: R | null }, { fingerprint }: Idempotency, what: (created: R) => string): R {
  const { created } = found;
  if (created === null || found.fingerprint !== fingerprint) {
    throw new ReelmendError('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
  }
  if (created.deletedAt !== null) {
    throw new ReelmendError('idempotency_key_reused', `The ${what(created)} made with this Idempotency-Key was deleted.`);
  }
  return created;
}

/** For a key that was neither new nor found: it has expired in between. */
export const keyIsExpiring = () => new ReelmendError('service_unavailable', 'The Idempotency-Key is expiring just now; retry.');

/** When the key of something ends that is deleted now: 24 h after its request, even if it was to be kept longer. */
export const endAfterDeletion = sql`least(expires_at, greatest(created_at + interval '24 hours', now()))`;

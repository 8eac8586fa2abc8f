/** Deletion certificates, the audit log with its signed head, and the public keys. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CertificatePayload } from '../../contract/types.gen.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { Principal } from '../../store/types.ts';
import { auditPage } from '../audit-page.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { secureTierRequired } from '../measurement.ts';
import { jobNotFound } from '../validation.ts';

/** Retry-After of a pending certificate, seconds */
const pendingRetryS = 5;
const defaultCertificateWaitMs = 3000;
const firstPollMs = 25;
const longestPollMs = 400;

function assertSecureKey({ tier }: Principal): void {
  if (tier !== 'secure') throw secureTierRequired();
}

/** The payload of a compact JWS, without verifying it. */
function payloadOf(jws: string): CertificatePayload {
  return JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString('utf8')) as CertificatePayload;
}

export function evidenceHandlers(
  deps: HttpDeps,
): Pick<Handlers, 'getDeletionCertificate' | 'listAuditLog' | 'getJwks'> {
  const { certificates, jobs } = deps.store;
  return {
    getDeletionCertificate: async (c) => {
      const principal = c.get('principal');
      assertSecureKey(principal);
      const { account, mode } = principal;
      const { id } = c.req.valid('param');
      const found = await certificates.get(account.id, mode, id);
      // A Standard job never has a certificate, but while it exists the correct error is `job_not_deleted`.
      if (found?.state === 'not_deleted' || (found === null && (await jobs.get(account.id, mode, id)) !== null)) {
        throw new ReelmendError('job_not_deleted', 'The job is not deleted, so it has no certificate.');
      }
      if (found === null) throw jobNotFound();
      if (found.state === 'pending') {
        const message = 'The job is deleted. Its certificate is issued once the storage has confirmed the deletion.';
        throw new ReelmendError('certificate_pending', message, { retryAfterS: pendingRetryS });
      }
      return c.json({ certificate: found.jws, payload: payloadOf(found.jws) }, 200);
    },

    listAuditLog: async (c) => {
      const principal = c.get('principal');
      assertSecureKey(principal);
      return c.json(await auditPage(deps, principal.account.id, c.req.valid('query')), 200);
    },

    getJwks: async (c) => {
      c.header('Cache-Control', 'public, max-age=300');
      return c.json(await deps.evidence.jwks(), 200);
    },
  };
}

/**
 * Waits for the certificate of a job that was just deleted. Returns null for Standard jobs, and if the storage does not
 * confirm in time. Never rejects: the deletion has already happened.
 */
export async function issuedCertificate(
  { store, logger, options }: HttpDeps,
  { principal, jobId, signal }: { principal: Principal; jobId: string; signal: AbortSignal },
): Promise<string | null> {
  if (principal.tier !== 'secure') return null;
  const end = performance.now() + (options?.certificateWaitMs ?? defaultCertificateWaitMs);
  try {
    for (let pause = firstPollMs; ; pause = Math.min(pause * 2, longestPollMs)) {
      const found = await store.certificates.get(principal.account.id, principal.mode, jobId);
      if (found?.state === 'issued') return found.jws;
      if (found === null || performance.now() + pause > end) return null;
      await sleep(pause, undefined, { signal });
    }
  } catch (err) {
    if (!signal.aborted) logger.error({ err, job_id: jobId }, 'the certificate of a deleted job could not be read');
    return null;
  }
}

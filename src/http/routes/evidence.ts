/** Deletion certificates, the audit log with its signed head, and the public keys. */
import type { CertificatePayload } from '../../contract/types.gen.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { Principal } from '../../store/types.ts';
import { auditPage } from '../audit-page.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { secureTierRequired } from '../request-checks.ts';
import { jobNotFound } from '../validation.ts';

/** Retry-After of a pending certificate, seconds */
const pendingRetryS = 5;

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

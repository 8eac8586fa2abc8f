/**
 * Deletion certificates: signed statements that every stored object of a job is gone. The fields follow the sanitization
 * certificate of NIST SP 800-88: what was deleted, how, how it was verified, when, and by whom. A certificate claims
 * logical deletion that the storage itself confirmed; it does not claim that the medium was purged.
 */
import { z } from 'zod';
import type { Jwks, SigningKey } from './signing-keys.ts';
import { EvidenceError, sign, verify } from './signature.ts';

const timestamp = z.iso.datetime({ precision: 3 });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const certificatePayload = z.strictObject({
  id: z.string().regex(/^cert_[0-9a-hjkmnp-tv-z]{26}$/),
  version: z.literal(1),
  job_id: z.string(),
  account_id: z.string(),
  objects: z.array(
    z.strictObject({
      /** opaque storage key */
      key: z.string(),
      role: z.enum(['original', 'output', 'segment', 'upload', 'poster', 'thumbnail', 'clip']),
      /** S3 version id; null if the storage keeps none */
      version: z.string().nullable(),
      /** of the stored bytes; null if the upload never finished */
      sha256: sha256.nullable(),
      size_bytes: z.number().int().nonnegative().nullable(),
      /** time when the storage confirmed that no version of the key exists */
      verified_absent_at: timestamp,
    }),
  ),
  method: z.literal('logical deletion, verified absent'),
  storage: z.enum(['filesystem', 's3']),
  actor: z.enum(['customer', 'retention', 'operator']),
  deleted_at: timestamp,
  issued_at: timestamp,
  /** position of the deletion in the account's audit log */
  audit: z.strictObject({ sequence: z.number().int().positive(), hash: sha256 }),
});
export type CertificatePayload = z.infer<typeof certificatePayload>;

export function signCertificate(payload: CertificatePayload, key: SigningKey): Promise<string> {
  return sign(certificatePayload.parse(payload), 'reelmend-deletion-certificate+jws', key);
}

/** Returns what the certificate states. Throws EvidenceError when it is not valid. */
export async function verifyCertificate(jws: string, keys: Jwks): Promise<CertificatePayload> {
  const parsed = certificatePayload.safeParse(await verify(jws.trim(), 'reelmend-deletion-certificate+jws', keys));
  if (!parsed.success)
    throw new EvidenceError('The certificate lacks a field or has an unknown one.', { cause: parsed.error });
  return parsed.data;
}

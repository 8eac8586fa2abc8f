/** JWS (RFC 7515, compact) with Ed25519 over payloads in canonical JSON (RFC 8785). */
import { CompactSign, compactVerify, decodeProtectedHeader, importJWK } from 'jose';
import { jcs } from '../domain/audit.ts';
import { isCanonicalBase64url } from './base64url.ts';
import type { Jwks, SigningKey } from './signing-keys.ts';

/** The `typ` of each kind of document; verification compares it, so that one kind cannot pass for another. */
export type DocumentType = 'reelmend-deletion-certificate+jws' | 'reelmend-audit-head+jws';

export async function sign(payload: object, type: DocumentType, key: SigningKey): Promise<string> {
  return new CompactSign(new TextEncoder().encode(jcs(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: type })
    .sign(await importJWK(key.privateJwk, 'EdDSA'));
}

/** Why a document was refused, in one sentence that may be shown to anyone. */
export class EvidenceError extends Error {
  override readonly name = 'EvidenceError';
}

/**
 * Verifies a signed document and returns its payload. Throws EvidenceError if the document is not a JWS, names an unknown
 * key, has another type, was changed, or is not canonical.
 */
export async function verify(jws: string, type: DocumentType, keys: Jwks): Promise<unknown> {
  if (!isCanonical(jws)) throw new EvidenceError('The document is not a JSON Web Signature in canonical base64url.');
  const header = readHeader(jws);
  if (header.typ !== type) throw new EvidenceError(`The document is not a ${type}.`);
  const key = keys.keys.find((candidate) => candidate.kid === header.kid);
  if (key === undefined) throw new EvidenceError('The document is signed with a key that is not in the key set.');
  const imported = await importJWK(key, 'EdDSA');
  const verified = await compactVerify(jws, imported, { algorithms: ['EdDSA'] }).catch((cause: unknown) => {
    throw new EvidenceError('The signature does not match the document: it was changed.', { cause });
  });
  const text = new TextDecoder('utf-8', { fatal: true }).decode(verified.payload);
  const payload: unknown = JSON.parse(text);
  if (jcs(payload) !== text) throw new EvidenceError('The payload is not canonical JSON.');
  return payload;
}

/**
 * Three parts in the base64url of RFC 7515: no padding, no other alphabet, no unused bits set. A lenient decoder would
 * accept several spellings of one document.
 */
function isCanonical(jws: string): boolean {
  const parts = jws.split('.');
  return parts.length === 3 && parts.every(isCanonicalBase64url);
}

function readHeader(jws: string): { typ?: unknown; kid?: unknown } {
  try {
    return decodeProtectedHeader(jws);
  } catch (cause) {
    throw new EvidenceError('The document is not a JSON Web Signature.', { cause });
  }
}

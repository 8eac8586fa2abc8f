/**
 * Verifies audit logs and deletion certificates in the browser, with WebCrypto and the published keys. The rules are the
 * same as in the command line's offline verifier: compact JWS (RFC 7515) with Ed25519 (RFC 8037) over canonical JSON
 * (RFC 8785), and entries linked by SHA-256.
 */
import canonicalize from 'canonicalize';

export interface PublicKey {
  kid: string;
  /** base64url, 32 bytes */
  x: string;
}

export interface Entry {
  account_id: string;
  sequence: number;
  id: string;
  kind: string;
  job_id: string | null;
  at: string;
  data: Record<string, unknown>;
  previous_hash: string;
  hash: string;
}

export interface Head {
  account_id: string;
  size: number;
  hash: string;
  signed_at: string;
}

export type LogVerification =
  | { ok: true; size: number; hash: string }
  | { ok: false; index: number; reason: string }
  /** each entry is valid, but the log does not end where its head says */
  | { ok: false; index: number; reason: string; atHead: true };

/** A document is invalid; `message` says why, in a sentence for users. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';
}

/** This browser cannot verify anything here, whatever the document; `message` says what helps. */
export class UnsupportedBrowserError extends Error {
  override readonly name = 'UnsupportedBrowserError';
}

const genesis = '0'.repeat(64);
const headFields = ['account_id', 'hash', 'signed_at', 'size'];
const entryFields = ['account_id', 'at', 'data', 'hash', 'id', 'job_id', 'kind', 'previous_hash', 'sequence'];

/**
 * Verifies a whole log: all entries, oldest first, and the signed head. Throws VerificationError if the head is invalid;
 * otherwise returns the first invalid entry, if any. `onProgress` receives the number of checked entries.
 */
export async function verifyAuditLog(
  entries: readonly Entry[],
  headJws: string,
  keys: readonly PublicKey[],
  onProgress: (checked: number) => void = () => {},
): Promise<LogVerification> {
  const head = await verifyHead(headJws, keys);
  let previous = genesis;
  for (const [index, entry] of entries.entries()) {
    const reason = await entryProblem(entry, { index, previous, head });
    if (reason !== null) return { ok: false, index, reason };
    previous = entry.hash;
    if (index % 100 === 99) onProgress(index + 1);
  }
  onProgress(entries.length);
  return endLogVerification(entries.length, previous, head);
}

export async function verifyHead(jws: string, keys: readonly PublicKey[]): Promise<Head> {
  const head = await verifyJws(jws, 'reelmend-audit-head+jws', keys);
  if (!hasExactly(head, headFields) || typeof head['size'] !== 'number')
    throw new VerificationError('The head lacks a field or has an unknown one.');
  return head as unknown as Head;
}

/** Returns the payload of a valid certificate. Throws VerificationError for an invalid one. */
export function verifyCertificate(jws: string, keys: readonly PublicKey[]): Promise<Record<string, unknown>> {
  return verifyJws(jws, 'reelmend-deletion-certificate+jws', keys);
}

async function entryProblem(
  entry: Entry,
  at: { index: number; previous: string; head: Head },
): Promise<string | null> {
  if (!hasExactly(entry, entryFields)) return 'The entry lacks a field or has an unknown one.';
  if (entry.account_id !== at.head.account_id) return 'The entry belongs to another account.';
  if (entry.sequence !== at.index + 1)
    return `The entry has the sequence ${entry.sequence} where ${at.index + 1} belongs.`;
  if (entry.previous_hash !== at.previous) return 'The entry does not follow the one before it.';
  // It has no hash if its data is what no entry can have: a number beyond all, or half a character.
  if ((await hashEntry(entry).catch(() => null)) !== entry.hash) return 'The entry was changed: its hash does not match its content.';
  if (at.index >= at.head.size) return `The signed head counts ${at.head.size} entries, and this one is beyond them.`;
  return null;
}

function endLogVerification(count: number, last: string, head: Head): LogVerification {
  if (count < head.size) {
    const reason = `The log ends after ${count} entries, before its signed head, which counts ${head.size}.`;
    return { ok: false, index: count, reason, atHead: true };
  }
  if (last !== head.hash)
    return { ok: false, index: Math.max(0, count - 1), reason: 'The last entry is not the one that the head signs.', atHead: true };
  return { ok: true, size: count, hash: last };
}

async function hashEntry(entry: Entry): Promise<string> {
  const { hash: _hash, ...rest } = entry;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(jcs(rest)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const notCanonical = 'The document is not a JSON Web Signature in canonical base64url.';

async function verifyJws(
  jws: string,
  type: string,
  keys: readonly PublicKey[],
): Promise<Record<string, unknown>> {
  // Browsers offer WebCrypto over https and on localhost only.
  if (globalThis.crypto?.subtle === undefined)
    throw new UnsupportedBrowserError('This browser can verify only over https. Use `reelmend verify` on the command line.');
  const parts = jws.trim().split('.');
  const [head, body, signature] = parts;
  if (parts.length !== 3 || !head || !body || !signature)
    throw new VerificationError(notCanonical);
  const header = parseObject(head, 'The document is not a JSON Web Signature.');
  if (header['typ'] !== type) throw new VerificationError(`The document is not a ${type}.`);
  if (header['alg'] !== 'EdDSA' || header['crit'] !== undefined)
    throw new VerificationError('The document is signed in a way that is not known here.');
  const key = keys.find((candidate) => candidate.kid === header['kid']);
  if (key === undefined) throw new VerificationError('The document is signed with a key that is not in the key set.');
  const signed = new TextEncoder().encode(`${head}.${body}`);
  const publicKey = await importKey(key);
  if (!(await crypto.subtle.verify('Ed25519', publicKey, fromBase64Url(signature), signed)))
    throw new VerificationError('The signature does not match the document: it was changed.');
  const payload = parseObject(body, 'The payload is no JSON object.');
  if (jcs(payload) !== textOf(body)) throw new VerificationError('The payload is not canonical JSON.');
  return payload;
}

async function importKey({ x }: PublicKey): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('raw', fromBase64Url(x), 'Ed25519', false, ['verify']);
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'NotSupportedError') throw error;
    throw new UnsupportedBrowserError('This browser does not know Ed25519. Use a newer one, or `reelmend verify` on the command line.');
  }
}

function parseObject(base64url: string, refusal: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(textOf(base64url));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // falls through to the error below
  }
  throw new VerificationError(refusal);
}

function textOf(base64url: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(fromBase64Url(base64url));
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  // No encoding has a length of 4n + 1; `atob` throws for it.
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw new VerificationError(notCanonical);
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  // Accepts only the canonical encoding: a lenient decoder ignores the last bits.
  const spelled = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  if (spelled !== text) throw new VerificationError(notCanonical);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function jcs(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new VerificationError('The document holds what JSON cannot say.');
  return text;
}

function hasExactly(value: unknown, fields: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const names = Object.keys(value).sort();
  return names.length === fields.length && names.every((name, index) => name === fields[index]);
}

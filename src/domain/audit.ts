/**
 * The hash chain of the audit log: every entry contains the hash of the entry before it. Changing, removing, inserting or
 * moving an entry breaks every later hash. The store appends entries; src/evidence verifies them.
 */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** `previous_hash` of an account's first entry. */
export const genesisHash = '0'.repeat(64);

/** An entry in the form that is hashed, stored and exported. */
export interface AuditEntry {
  account_id: string;
  /** 1, 2, 3 … without gaps, per account */
  sequence: number;
  /** `evt_…` */
  id: string;
  kind: string;
  job_id: string | null;
  /** RFC 3339 UTC with milliseconds */
  at: string;
  data: Record<string, unknown>;
  /** lower-case hex SHA-256 of the entry before; 64 zeros for the first */
  previous_hash: string;
  /** lower-case hex SHA-256 over the JCS form (RFC 8785) of all the other fields */
  hash: string;
}

export function hashAuditEntry(entry: Omit<AuditEntry, 'hash'>): string {
  const { account_id, sequence, id, kind, job_id, at, data, previous_hash } = entry;
  return sha256Hex(jcs({ account_id, sequence, id, kind, job_id, at, data, previous_hash }));
}

/** JSON in the canonical form of RFC 8785. Throws TypeError for values that JSON does not have (NaN, lone surrogates). */
export function jcs(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('Expected a JSON value for canonicalization but received undefined');
  return text;
}

export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

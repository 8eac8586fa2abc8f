/**
 * Offline verification of an exported audit log, from the export and the published keys alone. The signed head states the
 * number of entries, so that a log that was cut at its end does not pass.
 */
import { z } from 'zod';
import { type AuditEntry, genesisHash, hashAuditEntry } from '../domain/audit.ts';
import type { Jwks, SigningKey } from './signing-keys.ts';
import { EvidenceError, sign, verify } from './signature.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const auditHead = z.strictObject({
  account_id: z.string(),
  /** number of entries, = sequence of the last one; 0 for an empty log */
  size: z.number().int().nonnegative(),
  /** hash of the last entry; 64 zeros for an empty log */
  hash: sha256,
  signed_at: z.iso.datetime({ precision: 3 }),
});
export type AuditHead = z.infer<typeof auditHead>;

const auditEntry: z.ZodType<AuditEntry> = z.strictObject({
  account_id: z.string(),
  sequence: z.number().int().positive(),
  id: z.string(),
  kind: z.string(),
  job_id: z.string().nullable(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
  previous_hash: sha256,
  hash: sha256,
});

/** An export: all entries, oldest first, and the head as a compact JWS. `account_id` is whose log the file says that it is. */
export const auditExport = z.object({ account_id: z.unknown().optional(), entries: z.array(z.unknown()), head: z.string() });
export type AuditExport = z.infer<typeof auditExport>;

export type AuditVerifyResult =
  | { ok: true; size: number; hash: string }
  /** `index` counts from 0; equal to the number of entries when some are missing at the end */
  | { ok: false; index: number; reason: string }
  /** each entry is valid, but the log does not end where its head says */
  | { ok: false; index: number; reason: string; atHead: true };

export function signHead(head: AuditHead, key: SigningKey): Promise<string> {
  return sign(auditHead.parse(head), 'reelmend-audit-head+jws', key);
}

export async function verifyHead(jws: string, keys: Jwks): Promise<AuditHead> {
  const parsed = auditHead.safeParse(await verify(jws.trim(), 'reelmend-audit-head+jws', keys));
  if (!parsed.success) throw new EvidenceError('The head lacks a field or has an unknown one.', { cause: parsed.error });
  return parsed.data;
}

/** Returns the first invalid entry, if any. Throws EvidenceError if the head's own signature is not valid, or it is of another account. */
export async function verifyAuditLog(log: AuditExport, keys: Jwks): Promise<AuditVerifyResult> {
  const head = await verifyHead(log.head, keys);
  if (log.account_id !== undefined && log.account_id !== head.account_id) {
    throw new EvidenceError('The log names another account than its signed head.');
  }
  let previous = genesisHash;
  for (const [index, raw] of log.entries.entries()) {
    const problem = checkEntry(raw, index, previous, head);
    if (problem !== null) return { ok: false, index, reason: problem };
    previous = (raw as AuditEntry).hash;
  }
  return checkEnd(log.entries.length, previous, head);
}

function checkEntry(raw: unknown, index: number, previous: string, head: AuditHead): string | null {
  if (!auditEntry.safeParse(raw).success) return 'The entry lacks a field or has an unknown one.';
  // Not what the schema returns: it leaves out members of `data` that are called `__proto__`.
  const entry = raw as AuditEntry;
  if (entry.account_id !== head.account_id) return 'The entry belongs to another account.';
  if (entry.sequence !== index + 1) return `The entry has the sequence ${entry.sequence} where ${index + 1} belongs.`;
  if (entry.previous_hash !== previous) return 'The entry does not follow the one before it.';
  if (hashOf(entry) !== entry.hash) return 'The entry was changed: its hash does not match its content.';
  if (index >= head.size) return `The signed head counts ${head.size} entries, and this one is beyond them.`;
  return null;
}

/** null for data that no entry can have: a number beyond all, or half a character. */
function hashOf(entry: AuditEntry): string | null {
  try {
    return hashAuditEntry(entry);
  } catch {
    return null;
  }
}

function checkEnd(count: number, last: string, head: AuditHead): AuditVerifyResult {
  if (count < head.size) {
    return {
      ok: false,
      index: count,
      reason: `The log ends after ${count} entries, before its signed head, which counts ${head.size}.`,
      atHead: true,
    };
  }
  if (last !== head.hash)
    return { ok: false, index: Math.max(0, count - 1), reason: 'The last entry is not the one that the head signs.', atHead: true };
  return { ok: true, size: count, hash: last };
}

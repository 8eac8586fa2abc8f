import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AuditEntry, genesisHash, hashAuditEntry } from '../../src/domain/audit.ts';
import { type AuditExport, signHead, verifyAuditLog } from '../../src/evidence/audit-log.ts';
import { verifyAuditLog as verifyInConsole } from '../../src/console/evidence/verify.ts';
import { generateSigningKey, type Jwks, type SigningKey } from '../../src/evidence/signing-keys.ts';

const account_id = 'acct_00000000000000000000000000';
let key: SigningKey;
let keys: Jwks;

beforeAll(async () => {
  key = await generateSigningKey();
  keys = { keys: [key.publicJwk] };
});

function chain(size: number): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (let sequence = 1; sequence <= size; sequence++) {
    const content = {
      account_id,
      sequence,
      id: `evt_${String(sequence).padStart(26, '0')}`,
      kind: sequence % 2 ? 'job.created' : 'job.completed',
      job_id: null,
      at: new Date(1_700_000_000_000 + sequence).toISOString(),
      data: { credits: sequence, nested: { ü: ['x', null, 1.5] } },
      previous_hash: entries.at(-1)?.hash ?? genesisHash,
    };
    entries.push({ ...content, hash: hashAuditEntry(content) });
  }
  return entries;
}

async function exported(entries: AuditEntry[]): Promise<AuditExport> {
  const hash = entries.at(-1)?.hash ?? genesisHash;
  const head = await signHead({ account_id, size: entries.length, hash, signed_at: '2026-01-01T00:00:00.000Z' }, key);
  return { entries, head };
}

/** Ways to tamper with entry `i` of a log; each returns the index that the verifier must name. */
const tampering: Record<string, (entries: AuditEntry[], i: number) => number> = {
  'flips data': (e, i) => {
    e[i] = { ...e[i]!, data: { credits: 999 } };
    return i;
  },
  'flips the time': (e, i) => {
    e[i] = { ...e[i]!, at: '2020-01-01T00:00:00.000Z' };
    return i;
  },
  'rewrites an entry with a fitting hash of its own': (e, i) => {
    const changed = { ...e[i]!, kind: 'job.deleted' };
    e[i] = { ...changed, hash: hashAuditEntry(changed) };
    return i + 1 < e.length ? i + 1 : i;
  },
  drops: (e, i) => {
    e.splice(i, 1);
    return i;
  },
  inserts: (e, i) => {
    e.splice(i, 0, { ...e[i]! });
    return i + 1;
  },
  swaps: (e, i) => {
    const j = i + 1 < e.length ? i + 1 : i - 1;
    [e[i], e[j]] = [e[j]!, e[i]!];
    return Math.min(i, j);
  },
  truncates: (e, i) => {
    e.length = i;
    return i;
  },
};

describe('the audit log verifier', () => {
  it('accepts whole logs, the empty one too', async () => {
    for (const size of [0, 1, 5]) {
      expect(await verifyAuditLog(await exported(chain(size)), keys)).toMatchObject({ ok: true, size });
    }
  });

  for (const [name, tamper] of Object.entries(tampering)) {
    it(`names the first bad index when somebody ${name}`, async () => {
      const whole = await exported(chain(9));
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 8 }), async (i) => {
          const entries = structuredClone(whole.entries) as AuditEntry[];
          const index = tamper(entries, i);
          expect(await verifyAuditLog({ entries, head: whole.head }, keys)).toMatchObject({ ok: false, index });
        }),
        { numRuns: 20 },
      );
    });
  }

  for (const [name, member] of [
    ['a member that schemas leave out', '"__proto__":{"credits":9}'],
    ['a number beyond all', '"x":1e400'],
    ['half a character', '"x":"\\ud800"'],
  ] as const) {
    it(`names an entry whose data has got ${name}, as that of the console does`, async () => {
      const { entries, head } = await exported(chain(3));
      const text = JSON.stringify(entries).replace('"data":{"credits":2,', `"data":{"credits":2,${member},`);
      const changed = JSON.parse(text) as AuditEntry[];
      const expected = { ok: false, index: 1, reason: 'The entry was changed: its hash does not match its content.' };
      expect(await verifyAuditLog({ entries: changed, head }, keys)).toEqual(expected);
      expect(await verifyInConsole(changed, head, keys.keys)).toEqual(expected);
    });
  }

  it('refuses a head of another key, of another log, or changed by one character', async () => {
    const log = await exported(chain(3));
    const other = await generateSigningKey();
    await expect(verifyAuditLog(log, { keys: [other.publicJwk] })).rejects.toThrow('key that is not in the key set');
    const flipped = log.head.replace(/\.([A-Za-z0-9_-])/, (_, c: string) => `.${c === 'A' ? 'B' : 'A'}`);
    await expect(verifyAuditLog({ ...log, head: flipped }, keys)).rejects.toThrow();
    const longer = await exported(chain(4));
    expect(await verifyAuditLog({ ...log, head: longer.head }, keys)).toMatchObject({ ok: false, index: 3 });
  });
});

/** The browser's verifier against the service's own: what one accepts or refuses, the other does, in the same words. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type AuditEntry, genesisHash, hashAuditEntry } from '../../src/domain/audit.ts';
import { verifyAuditLog as verifyOnServer } from '../../src/evidence/audit-log.ts';
import { signHead } from '../../src/evidence/audit-log.ts';
import { type CertificatePayload, signCertificate, verifyCertificate as verifyCertificateOnServer } from '../../src/evidence/certificate.ts';
import { generateSigningKey, type Jwks, type SigningKey } from '../../src/evidence/signing-keys.ts';
import { type Entry, verifyAuditLog, verifyCertificate } from '../../src/console/evidence/verify.ts';

const accountId = 'acct_01jdq4s9xkf5v8t2m6w0c3rhbz';
let key: SigningKey;
let stranger: SigningKey;
let keys: Jwks;

beforeAll(async () => {
  key = await generateSigningKey();
  stranger = await generateSigningKey();
  keys = { keys: [key.publicJwk] };
});

function makeLog(data: readonly Record<string, unknown>[]): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (const [index, detail] of data.entries()) {
    const bare = {
      account_id: accountId,
      sequence: index + 1,
      id: `evt_${String(index).padStart(26, '0')}`,
      kind: index % 2 === 0 ? 'job.created' : 'retention.changed',
      job_id: index % 2 === 0 ? 'job_01jdq4s9xkf5v8t2m6w0c3rhbz' : null,
      at: '2026-11-21T08:00:07.512Z',
      data: detail,
      previous_hash: entries.at(-1)?.hash ?? genesisHash,
    };
    entries.push({ ...bare, hash: hashAuditEntry(bare) });
  }
  return entries;
}

async function headOf(entries: readonly AuditEntry[], signer = key, change: object = {}): Promise<string> {
  const last = entries.at(-1)?.hash ?? genesisHash;
  const head = { account_id: accountId, size: entries.length, hash: last, signed_at: '2026-11-21T08:00:08.000Z', ...change };
  return signHead(head, signer);
}

/** What both verifiers say; the message where one throws. */
async function verifyInBoth(entries: readonly AuditEntry[], head: string) {
  const message = (error: unknown) => ({ refused: (error as Error).message });
  const server = await verifyOnServer({ entries: [...entries], head }, keys).catch(message);
  const browser = await verifyAuditLog(entries as readonly Entry[], head, keys.keys).catch(message);
  return { server, browser };
}

const details = fc.array(
  fc.dictionary(fc.string({ maxLength: 8 }), fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null))),
  { maxLength: 6 },
);

describe('an audit log verified in the browser', () => {
  it('holds for every log that the service makes, with its size and hash', async () => {
    await fc.assert(
      fc.asyncProperty(details, async (data) => {
        const entries = makeLog(data);
        const { server, browser } = await verifyInBoth(entries, await headOf(entries));
        expect(browser).toEqual({ ok: true, size: entries.length, hash: entries.at(-1)?.hash ?? genesisHash });
        expect(browser).toEqual(server);
      }),
      { numRuns: 40 },
    );
  });

  const entries = makeLog([{ a: 1 }, { b: 'ü€😀' }, { c: null }, { d: 1e21 }, {}]);
  const rehashed = (entry: AuditEntry): AuditEntry => ({ ...entry, hash: hashAuditEntry(entry) });
  const changes: Record<string, AuditEntry[]> = {
    'a changed detail': entries.with(1, { ...entries[1]!, data: { b: 'other' } }),
    'a changed and rehashed entry': entries.with(1, rehashed({ ...entries[1]!, data: { b: 'other' } })),
    'a dropped entry': entries.toSpliced(2, 1),
    'a dropped first entry': entries.slice(1),
    'a cut end': entries.slice(0, 3),
    'an added entry': [...entries, makeLog([{}, {}, {}, {}, {}, { extra: true }])[5]!],
    'two swapped entries': entries.with(1, entries[2]!).with(2, entries[1]!),
    'an entry of another account': entries.with(3, rehashed({ ...entries[3]!, account_id: 'acct_01jdq4s9xkf5v8t2m6w0c3rhb0' })),
    'an entry with one more field': entries.with(0, { ...entries[0]!, note: 'hello' } as AuditEntry),
    'an entry without its time': entries.with(0, Object.fromEntries(Object.entries(entries[0]!).filter(([name]) => name !== 'at')) as unknown as AuditEntry),
  };
  for (const [name, changed] of Object.entries(changes)) {
    it(`finds ${name}, as the command line does`, async () => {
      const { server, browser } = await verifyInBoth(changed, await headOf(entries));
      expect(browser).toMatchObject({ ok: false });
      expect(browser).toEqual(server);
    });
  }

  it('refuses a head that proves nothing, in the words of the command line', async () => {
    const good = await headOf(entries);
    const [header, payload, signature] = good.split('.') as [string, string, string];
    const otherPayload = Buffer.from(JSON.stringify({ size: 9 })).toString('base64url');
    const heads = [
      await headOf(entries, stranger),
      `${header}.${otherPayload}.${signature}`,
      `${header}.${payload}.${Buffer.from(Buffer.from(signature, 'base64url').map((byte, index) => (index === 0 ? byte ^ 1 : byte))).toString('base64url')}`,
      `${header}.${payload}.${signature.slice(0, 85)}`,
      'not a signature',
      '',
    ];
    for (const head of heads) {
      const { server, browser } = await verifyInBoth(entries, head);
      expect(browser, head).toHaveProperty('refused');
      expect(browser, head).toEqual(server);
    }
  });
});

describe('a certificate verified in the browser', () => {
  const payload: CertificatePayload = {
    id: 'cert_01jdq4s9xkf5v8t2m6w0c3rhbz',
    version: 1,
    job_id: 'job_01jdq4s9xkf5v8t2m6w0c3rhbz',
    account_id: accountId,
    objects: [
      {
        key: 'jobs/1/output.mp4',
        role: 'output',
        version: null,
        sha256: createHash('sha256').update('output').digest('hex'),
        size_bytes: 1234,
        verified_absent_at: '2026-11-21T08:00:07.512Z',
      },
    ],
    method: 'logical deletion, verified absent',
    storage: 'filesystem',
    actor: 'customer',
    deleted_at: '2026-11-21T08:00:07.100Z',
    issued_at: '2026-11-21T08:00:08.000Z',
    audit: { sequence: 4, hash: genesisHash },
  };

  it('yields the payload that was signed', async () => {
    const jws = await signCertificate(payload, key);
    expect(await verifyCertificate(jws, keys.keys)).toEqual(payload);
    expect(await verifyCertificateOnServer(jws, keys)).toEqual(payload);
  });

  it('is refused when it was changed, signed by a stranger, or is another kind of document', async () => {
    const jws = await signCertificate(payload, key);
    const [header, body, signature] = jws.split('.') as [string, string, string];
    const changed = Buffer.from(Buffer.from(body, 'base64url').toString().replace('customer', 'retentio')).toString('base64url');
    await expect(verifyCertificate(`${header}.${changed}.${signature}`, keys.keys)).rejects.toThrow(/was changed/);
    await expect(verifyCertificate(await signCertificate(payload, stranger), keys.keys)).rejects.toThrow(/not in the key set/);
    await expect(verifyCertificate(await headOf([]), keys.keys)).rejects.toThrow(/is not a reelmend-deletion-certificate/);
  });

  it('is neither valid nor refused where the browser cannot verify', async () => {
    const jws = await signCertificate(payload, key);
    const unsupported = (text: RegExp) => {
      const wanted = { name: 'UnsupportedBrowserError', message: expect.stringMatching(text) };
      return expect(verifyCertificate(jws, keys.keys)).rejects.toMatchObject(wanted);
    };
    try {
      vi.stubGlobal('crypto', {});
      await unsupported(/only over https/);
      const importKey = () => Promise.reject(new DOMException('Algorithm: Unrecognized name', 'NotSupportedError'));
      vi.stubGlobal('crypto', { subtle: { importKey } });
      await unsupported(/does not know Ed25519/);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

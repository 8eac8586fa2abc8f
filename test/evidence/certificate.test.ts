import { createPublicKey, verify as verifyRaw } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CertificatePayload, signCertificate, verifyCertificate } from '../../src/evidence/certificate.ts';
import { generateSigningKey, type SigningKey } from '../../src/evidence/keys.ts';
import { signHead } from '../../src/evidence/audit-log.ts';

const payload: CertificatePayload = {
  id: 'cert_00000000000000000000000000',
  version: 1,
  job_id: 'job_00000000000000000000000000',
  account_id: 'acct_00000000000000000000000000',
  objects: [
    {
      key: 'jobs/x/1/original',
      role: 'original',
      version: null,
      sha256: 'a'.repeat(64),
      size_bytes: 12,
      verified_absent_at: '2026-01-01T00:00:00.000Z',
    },
  ],
  method: 'logical deletion, verified absent',
  storage: 'filesystem',
  actor: 'customer',
  deleted_at: '2026-01-01T00:00:00.000Z',
  issued_at: '2026-01-01T00:00:01.000Z',
  audit: { sequence: 3, hash: 'b'.repeat(64) },
};
let key: SigningKey;
let jws: string;

beforeAll(async () => {
  key = await generateSigningKey();
  jws = await signCertificate(payload, key);
});

describe('a deletion certificate', () => {
  it('is read back by its holder, and by two verifiers that are not ours', async () => {
    const keys = { keys: [key.publicJwk] };
    expect(await verifyCertificate(jws, keys)).toEqual(payload);
    await expect(compactVerify(jws, await importJWK(key.publicJwk, 'EdDSA'))).resolves.toBeDefined();
    const [header, body, signature] = jws.split('.') as [string, string, string];
    const { kty, crv, x } = key.publicJwk;
    const nodeKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
    expect(verifyRaw(null, Buffer.from(`${header}.${body}`), nodeKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('is refused when any one character of it is another', async () => {
    const keys = { keys: [key.publicJwk] };
    for (let i = 0; i < jws.length; i += 7) {
      // the unused low bits of a part's last character carry nothing
      if (i === jws.length - 1 || jws[i] === '.' || jws[i + 1] === '.') continue;
      const changed = jws.slice(0, i) + (jws[i] === 'x' ? 'y' : 'x') + jws.slice(i + 1);
      await expect(verifyCertificate(changed, keys), `character ${i}`).rejects.toThrow();
    }
  });

  it('is not confused with another signed document, nor with text', async () => {
    const keys = { keys: [key.publicJwk] };
    const head = await signHead(
      { account_id: payload.account_id, size: 0, hash: '0'.repeat(64), signed_at: payload.issued_at },
      key,
    );
    await expect(verifyCertificate(head, keys)).rejects.toThrow('is not a framelift-deletion-certificate');
    await expect(verifyCertificate('hello', keys)).rejects.toThrow('no JSON Web Signature');
  });

  it('never carries the private key into what is published', () => {
    expect(Object.keys(key.publicJwk)).not.toContain('d');
  });
});

import { createPublicKey, verify as verifyRaw } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CertificatePayload, signCertificate, verifyCertificate } from '../../src/evidence/certificate.ts';
import { generateSigningKey, type SigningKey } from '../../src/evidence/signing-keys.ts';
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

  it('is refused when any one character of it is another, the bits that carry nothing included', async () => {
    const keys = { keys: [key.publicJwk] };
    for (let i = 0; i < jws.length; i += 1) {
      if (jws[i] === '.' || (i % 7 > 0 && i < jws.length - 1 && jws[i + 1] !== '.')) continue;
      const changed = jws.slice(0, i) + (jws[i] === 'x' ? 'y' : 'x') + jws.slice(i + 1);
      await expect(verifyCertificate(changed, keys), `character ${i}`).rejects.toThrow();
    }
  });

  it('is refused in any other spelling of the same bytes', async () => {
    const keys = { keys: [key.publicJwk] };
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const strayBit = jws.slice(0, -1) + alphabet[alphabet.indexOf(jws.at(-1)!) + 1]!;
    const [header, body, signature] = jws.split('.') as [string, string, string];
    const spellings = [
      strayBit,
      `${jws}==`,
      `${header}=.${body}.${signature}`,
      `${header}.${body}.${Buffer.from(signature, 'base64url').toString('base64')}`,
      `${header}.${body}.${signature.slice(0, 20)}\n${signature.slice(20)}`,
      `${header}.${body}.${signature.slice(0, 20)}!${signature.slice(20)}`,
    ];
    expect(Buffer.from(strayBit.split('.')[2]!, 'base64url')).toEqual(Buffer.from(signature, 'base64url'));
    for (const spelling of spellings) await expect(verifyCertificate(spelling, keys), spelling).rejects.toThrow('canonical');
  });

  it('is not confused with another signed document, nor with text', async () => {
    const keys = { keys: [key.publicJwk] };
    const head = await signHead(
      { account_id: payload.account_id, size: 0, hash: '0'.repeat(64), signed_at: payload.issued_at },
      key,
    );
    await expect(verifyCertificate(head, keys)).rejects.toThrow('is not a reelmend-deletion-certificate');
    await expect(verifyCertificate('hello', keys)).rejects.toThrow('not a JSON Web Signature');
  });

  it('never carries the private key into what is published', () => {
    expect(Object.keys(key.publicJwk)).not.toContain('d');
  });
});

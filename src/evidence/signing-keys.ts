/** Ed25519 signing keys as JWKs (RFC 8037): generation, schemas of their public part, and pinning. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { z } from 'zod';
import { isCanonicalBase64url } from './base64url.ts';

export const publicJwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z
    .string()
    .length(43)
    .refine(isCanonicalBase64url, 'Expected canonical base64url'),
  kid: z.string().min(1),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
});
export type PublicJwk = z.infer<typeof publicJwk>;

export const jwks = z.object({ keys: z.array(publicJwk).min(1) });
export type Jwks = z.infer<typeof jwks>;

/** The keys of a set that have one of the RFC 7638 thumbprints, which is computed from the key itself. */
export async function pinnedKeys(set: Jwks, thumbprints: readonly string[]): Promise<Jwks> {
  const computed = await Promise.all(set.keys.map(({ kty, crv, x }) => calculateJwkThumbprint({ kty, crv, x })));
  return { keys: set.keys.filter((_key, at) => thumbprints.includes(computed[at]!)) };
}

export interface SigningKey {
  /** RFC 7638 thumbprint of the public key */
  kid: string;
  publicJwk: PublicJwk;
  privateJwk: PublicJwk & { d: string };
}

export async function generateSigningKey(): Promise<SigningKey> {
  const pair = await generateKeyPair('Ed25519', { extractable: true });
  const { x, d } = await exportJWK(pair.privateKey);
  if (x === undefined || d === undefined) throw new Error('the generated Ed25519 key has no exportable parts');
  const bare = { kty: 'OKP' as const, crv: 'Ed25519' as const, x };
  const kid = await calculateJwkThumbprint(bare);
  const published: PublicJwk = { ...bare, kid, alg: 'EdDSA', use: 'sig' };
  return { kid, publicJwk: published, privateJwk: { ...published, d } };
}

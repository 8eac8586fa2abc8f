/** Signs heads and certificates with the current key, and publishes every key there ever was. */
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { type AuditHead, signHead } from './audit-log.ts';
import { type CertificatePayload, signCertificate } from './certificate.ts';
import { generateSigningKey, type Jwks, type PublicJwk, publicJwk, type SigningKey } from './keys.ts';

/** Where signing keys are kept; the store implements it. */
export interface SigningKeyStore {
  current(): Promise<EncryptedSigningKey | null>;
  /** oldest first, without private parts */
  list(): Promise<{ kid: string; publicJwk: Record<string, unknown>; createdAt: Date; retiredAt: Date | null }[]>;
  /** keeps the key unless there is a current one */
  addFirst(key: EncryptedSigningKey): Promise<void>;
  rotate(key: EncryptedSigningKey): Promise<void>;
}

export interface EncryptedSigningKey {
  kid: string;
  publicJwk: Record<string, unknown>;
  /** sealed private JWK */
  privateJwk: Buffer;
}

export type CertificateSigner = (payload: CertificatePayload) => Promise<string>;

export interface Evidence {
  /** compact JWS of a log's head */
  signHead(head: AuditHead): Promise<string>;
  /** Makes compact JWSs of deletion certificates with the current key, and needs no store for it. */
  certificateSigner(): Promise<CertificateSigner>;
  /** public keys, oldest first, retired ones included */
  jwks(): Promise<Jwks>;
  /** Makes a new key that signs from now on; returns its `kid`. */
  rotate(): Promise<string>;
  /** Throws when the database holds a signing key that REELMEND_KEY_PEPPER does not open: it is not this database's. */
  assertDecrypts(): Promise<void>;
}

/** The first key is made when it is first needed. */
export function createEvidence({ keys, cipher }: { keys: SigningKeyStore; cipher: SecretCipher }): Evidence {
  let opened: SigningKey | undefined;
  const current = async (): Promise<SigningKey> => {
    const shelved = (await keys.current()) ?? (await makeFirst(keys, cipher));
    if (opened?.kid !== shelved.kid) opened = open(shelved, cipher);
    return opened;
  };
  return {
    signHead: async (head) => signHead(head, await current()),
    async certificateSigner() {
      const key = await current();
      return (payload) => signCertificate(payload, key);
    },
    async jwks() {
      await current();
      const all = await keys.list();
      return { keys: all.map((key) => publicJwk.parse(key.publicJwk)) };
    },
    async assertDecrypts() {
      if ((await keys.current()) !== null) await current();
    },
    async rotate() {
      const key = await generateSigningKey();
      await keys.rotate(seal(key, cipher));
      return key.kid;
    },
  };
}

async function makeFirst(keys: SigningKeyStore, cipher: SecretCipher): Promise<EncryptedSigningKey> {
  await keys.addFirst(seal(await generateSigningKey(), cipher));
  const kept = await keys.current();
  if (kept === null) throw new Error('the first signing key was not kept');
  return kept;
}

function seal({ kid, publicJwk, privateJwk }: SigningKey, cipher: SecretCipher): EncryptedSigningKey {
  return { kid, publicJwk: { ...publicJwk }, privateJwk: cipher.encrypt('signing-key', kid, JSON.stringify(privateJwk)) };
}

function open({ kid, publicJwk: published, privateJwk }: EncryptedSigningKey, cipher: SecretCipher): SigningKey {
  const whole = JSON.parse(cipher.decrypt('signing-key', kid, privateJwk)) as PublicJwk & { d: string };
  return { kid, publicJwk: publicJwk.parse(published), privateJwk: whole };
}

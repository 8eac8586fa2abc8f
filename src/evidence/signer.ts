/** Signs log heads and deletion certificates with the current key, and publishes all keys, including retired ones. */
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { type AuditHead, signHead } from './audit-log.ts';
import { type CertificatePayload, signCertificate } from './certificate.ts';
import { generateSigningKey, type Jwks, type PublicJwk, publicJwk, type SigningKey } from './signing-keys.ts';

/** Storage of signing keys; src/store/signing-keys.ts implements it. */
export interface SigningKeyStore {
  current(): Promise<EncryptedSigningKey | null>;
  /** oldest first, without private parts */
  list(): Promise<{ kid: string; publicJwk: Record<string, unknown>; createdAt: Date; retiredAt: Date | null }[]>;
  /** stores the key unless there is a current one */
  addFirst(key: EncryptedSigningKey): Promise<void>;
  rotate(key: EncryptedSigningKey): Promise<void>;
}

export interface EncryptedSigningKey {
  kid: string;
  publicJwk: Record<string, unknown>;
  /** encrypted private JWK */
  privateJwk: Buffer;
}

export type CertificateSigner = (payload: CertificatePayload) => Promise<string>;

export interface Evidence {
  /** compact JWS of a log's head */
  signHead(head: AuditHead): Promise<string>;
  /** Reads the current key once; the signer it returns makes compact JWSs of certificates without the database. */
  certificateSigner(): Promise<CertificateSigner>;
  /** public keys, oldest first, retired ones included */
  jwks(): Promise<Jwks>;
  /** Generates a new key that signs from now on; returns its `kid`. */
  rotate(): Promise<string>;
  /** Throws if REELMEND_KEY_PEPPER does not decrypt the current signing key, and so belongs to another database. */
  assertDecrypts(): Promise<void>;
}

/** The first key is generated when it is first needed. */
export function createEvidence({ keys, cipher }: { keys: SigningKeyStore; cipher: SecretCipher }): Evidence {
  let decrypted: SigningKey | undefined;
  const current = async (): Promise<SigningKey> => {
    const stored = (await keys.current()) ?? (await addFirst(keys, cipher));
    if (decrypted?.kid !== stored.kid) decrypted = decrypt(stored, cipher);
    return decrypted;
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
      await keys.rotate(encrypt(key, cipher));
      return key.kid;
    },
  };
}

async function addFirst(keys: SigningKeyStore, cipher: SecretCipher): Promise<EncryptedSigningKey> {
  await keys.addFirst(encrypt(await generateSigningKey(), cipher));
  const kept = await keys.current();
  if (kept === null) throw new Error('the first signing key was not kept');
  return kept;
}

function encrypt({ kid, publicJwk, privateJwk }: SigningKey, cipher: SecretCipher): EncryptedSigningKey {
  return { kid, publicJwk: { ...publicJwk }, privateJwk: cipher.encrypt('signing-key', kid, JSON.stringify(privateJwk)) };
}

function decrypt({ kid, publicJwk: published, privateJwk }: EncryptedSigningKey, cipher: SecretCipher): SigningKey {
  const plain = JSON.parse(cipher.decrypt('signing-key', kid, privateJwk)) as PublicJwk & { d: string };
  return { kid, publicJwk: publicJwk.parse(published), privateJwk: plain };
}

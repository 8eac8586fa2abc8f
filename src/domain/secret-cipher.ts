/**
 * Secrets at rest: AES-256-GCM under keys derived (HKDF-SHA-256, RFC 5869) from the server's pepper, so that a copy
 * of the database alone opens nothing. Pure; the store keeps what comes out.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface SecretCipher {
  /** `purpose` and `owner` are bound to the result: a sealed secret cannot be moved to another row. */
  encrypt(purpose: SecretPurpose, owner: string, plain: string): Buffer;
  /** Throws Error when the pepper is another, or anything was changed. */
  decrypt(purpose: SecretPurpose, owner: string, sealed: Buffer): string;
}

export type SecretPurpose = 'signing-key' | 'webhook-secret';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** A sealed secret is nonce (12 bytes), tag (16) and ciphertext. */
export function createSecretCipher(pepper: string): SecretCipher {
  const keys = new Map<SecretPurpose, Buffer>();
  const keyOf = (purpose: SecretPurpose): Buffer => {
    const known = keys.get(purpose);
    if (known) return known;
    const key = Buffer.from(hkdfSync('sha256', pepper, '', `reelmend ${purpose}`, 32));
    keys.set(purpose, key);
    return key;
  };
  return {
    encrypt(purpose, owner, plain) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keyOf(purpose), nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    decrypt(purpose, owner, sealed) {
      try {
        const nonce = sealed.subarray(0, nonceBytes);
        const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
        const decipher = createDecipheriv(algorithm, keyOf(purpose), nonce, { authTagLength: tagBytes });
        decipher.setAAD(Buffer.from(owner)).setAuthTag(tag);
        return decipher.update(sealed.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new Error(
          `A ${purpose.replace('-', ' ')} cannot be opened: REELMEND_KEY_PEPPER is not the one it was made under.`,
          { cause },
        );
      }
    },
  };
}

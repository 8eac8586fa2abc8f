/**
 * Encryption of secrets at rest: AES-256-GCM under keys derived (HKDF-SHA-256, RFC 5869) from the server's pepper. A copy
 * of the database alone reveals no secret.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface SecretCipher {
  /** `purpose` and `owner` are authenticated: an encrypted secret cannot be moved to another row. */
  encrypt(purpose: SecretPurpose, owner: string, plaintext: string): Buffer;
  /** Throws Error if pepper, purpose or owner differ, or the bytes were changed. */
  decrypt(purpose: SecretPurpose, owner: string, encrypted: Buffer): string;
}

export type SecretPurpose = 'signing-key' | 'webhook-secret' | 'totp-secret';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** An encrypted secret is nonce (12 bytes), tag (16 bytes) and ciphertext. */
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
    encrypt(purpose, owner, plaintext) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keyOf(purpose), nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    decrypt(purpose, owner, encrypted) {
      try {
        const nonce = encrypted.subarray(0, nonceBytes);
        const tag = encrypted.subarray(nonceBytes, nonceBytes + tagBytes);
        const decipher = createDecipheriv(algorithm, keyOf(purpose), nonce, { authTagLength: tagBytes });
        decipher.setAAD(Buffer.from(owner)).setAuthTag(tag);
        return decipher.update(encrypted.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new Error(
          `A ${purpose.replace('-', ' ')} cannot be decrypted: REELMEND_KEY_PEPPER differs from the one that encrypted it.`,
          { cause },
        );
      }
    },
  };
}

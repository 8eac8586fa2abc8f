/**
 * Time-based one-time passwords (RFC 6238) as every authenticator app knows them: SHA-1, 6 digits, 30 s. HMAC-SHA-1 is not
 * weakened by the collisions of SHA-1.
 */
import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

const algorithm = 'SHA1';
const digits = 6;
const periodS = 30;
/** steps before and after the current one that are accepted: clocks differ, and people type slowly (RFC 6238 §5.2) */
const window = 1;
const issuer = 'Reelmend';

/** 160 random bits (RFC 4226 §4), in base32 without padding. */
export function generateTotpSecret(): string {
  const bytes = randomBytes(20);
  return new Secret({ buffer: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer }).base32;
}

/** The URI that authenticator apps read from a QR code. */
export function totpUri(secret: string, label: string): string {
  return new TOTP({ issuer, label, secret: Secret.fromBase32(secret), algorithm, digits, period: periodS }).toString();
}

/** Whether a text has the form of a code. */
export const isTotpCode = (text: string): boolean => /^[0-9]{6}$/.test(text);

/** The time step that a code belongs to; null when it is not valid at `nowMs`. The caller must accept no step twice. */
export function stepOfCode(secret: string, code: string, nowMs: number): number | null {
  if (!isTotpCode(code)) return null;
  const delta = TOTP.validate({ token: code, secret: Secret.fromBase32(secret), algorithm, digits, period: periodS, timestamp: nowMs, window });
  return delta === null ? null : Math.floor(nowMs / 1000 / periodS) + delta;
}

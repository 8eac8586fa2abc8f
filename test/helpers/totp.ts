/** Codes of an authenticator app, implemented from RFC 4226 and RFC 6238 without the service's own library. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => base32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** RFC 4226 §5.3, 6 digits. */
export function hotp(key: Buffer, counter: number): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const digest = createHmac('sha1', key).update(message).digest();
  const truncated = digest.readUInt32BE(digest[19]! & 15) & 0x7fffffff;
  return String(truncated % 1_000_000).padStart(6, '0');
}

/** Waits, if less than 5 s of the current step are left, for the next one. For tests that use the adjacent steps. */
export async function inMidStep(): Promise<void> {
  const leftMs = 30_000 - (Date.now() % 30_000);
  if (leftMs < 5000) await sleep(leftMs + 10);
}

/** The code of a secret in base32 now, or some steps of 30 s later. */
export const totp = (secret: string, stepsLater = 0): string => hotp(fromBase32(secret), Math.floor(Date.now() / 30_000) + stepsLater);

/**
 * API keys: prefix (the mode), 32 random base62 characters and 6 base62 characters of CRC32, so that a mistyped key
 * is refused without a look-up. Kept as HMAC-SHA-256 under the server's pepper with the last four characters.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Mode } from './job.ts';

export const keyPrefixes: Readonly<Record<Mode, string>> = { test: 'svc_test_', live: 'svc_live_' };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const keyPattern = /^(svc_(?:test|live)_)([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export interface ParsedKey {
  mode: Mode;
  /** the last four characters, for people to tell keys apart */
  lastFour: string;
}

/** 32 uniformly distributed characters, about 190 bits: bytes past the largest multiple of 62 are thrown away. */
function randomCharacters(): string {
  let text = '';
  while (text.length < randomLength) {
    for (const byte of randomBytes(randomLength)) {
      if (byte < 248 && text.length < randomLength) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** The 6 characters that end a key: CRC32 of what stands before them, in base62, most significant first. */
export function keyChecksum(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let i = 0; i < checksumLength; i += 1) {
    checksum = alphabet[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return checksum;
}

/** A new key; whoever calls shows it once and stores only `hashApiKey` of it. */
export function generateApiKey(mode: Mode): { key: string; lastFour: string } {
  const text = keyPrefixes[mode] + randomCharacters();
  const key = text + keyChecksum(text);
  return { key, lastFour: key.slice(-4) };
}

/** What a well-formed key says of itself; null when its form or its checksum is wrong. */
export function parseApiKey(key: string): ParsedKey | null {
  const match = keyPattern.exec(key);
  if (match === null) return null;
  const [, prefix, random, checksum] = match;
  if (keyChecksum(`${prefix}${random}`) !== checksum) return null;
  return { mode: prefix === keyPrefixes.test ? 'test' : 'live', lastFour: key.slice(-4) };
}

/** HMAC-SHA-256 of the key under the server's pepper, 32 bytes: what the database keeps. */
export function hashApiKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

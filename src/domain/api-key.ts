/**
 * API keys: a prefix for the mode, 32 random base62 characters, and the CRC32 in 6 base62 characters, so that a mistyped
 * key is refused without a database query. Stored as HMAC-SHA-256 under the server's pepper, with the last four
 * characters.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Mode } from './job.ts';

const keyPrefixes: Readonly<Record<Mode, string>> = { test: 'svc_test_', live: 'svc_live_' };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const keyPattern = /^(svc_(?:test|live)_)([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/**
 * Access of a key. `read_only`: reads, but changes nothing. `create_only`: sends videos and creates jobs, but reads nothing
 * that existed before. src/http/middleware/key-access.ts applies it to the operations.
 */
export const keyAccesses = ['full', 'read_only', 'create_only'] as const;
export type KeyAccess = (typeof keyAccesses)[number];

/** longest name of a key, characters */
export const longestKeyName = 100;

export interface ParsedKey {
  mode: Mode;
  /** the last four characters, which identify the key to people */
  lastFour: string;
}

/** 32 uniformly distributed characters, about 190 bits. Bytes from 248 (4 × 62) on are discarded to stay uniform. */
function randomCharacters(): string {
  let text = '';
  while (text.length < randomLength) {
    for (const byte of randomBytes(randomLength)) {
      if (byte < 248 && text.length < randomLength) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** The last 6 characters of a key: CRC32 of the text before them, in base62, most significant digit first. */
export function keyChecksum(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let i = 0; i < checksumLength; i += 1) {
    checksum = alphabet[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return checksum;
}

/** A new key. The caller shows it once and stores only its `hashApiKey`. */
export function generateApiKey(mode: Mode): { key: string; lastFour: string } {
  const text = keyPrefixes[mode] + randomCharacters();
  const key = text + keyChecksum(text);
  return { key, lastFour: key.slice(-4) };
}

/** The parts of a well-formed key; null when its form or checksum is wrong. */
export function parseApiKey(key: string): ParsedKey | null {
  const match = keyPattern.exec(key);
  if (match === null) return null;
  const [, prefix, random, checksum] = match;
  if (keyChecksum(`${prefix}${random}`) !== checksum) return null;
  return { mode: prefix === keyPrefixes.test ? 'test' : 'live', lastFour: key.slice(-4) };
}

/** HMAC-SHA-256 of the key under the server's pepper, 32 bytes; the database stores this. */
export function hashApiKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

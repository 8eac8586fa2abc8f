/**
 * Identifiers in the TypeID format: a prefix that names the kind, `_`, and a UUIDv7 (sortable by time, not guessable) in
 * Crockford base32. The package `typeid-js` is not used: it depends on an old release of `uuid`, and encoding is ten lines.
 */
import { uuidv7obj } from 'uuidv7';

export type IdPrefix = 'job' | 'prv' | 'acct' | 'key' | 'evt' | 'cert' | 'user' | 'sess' | 'upl' | 'hook' | 'log' | 'inv';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** `prefix` + `_` + 26 lower-case Crockford base32 characters (128 bits, the first 2 bits are zero padding). */
export function newId(prefix: IdPrefix): string {
  return encode(prefix, BigInt(`0x${uuidv7obj().toHex()}`));
}

/** No identifier that was made at this time or later is smaller. */
export function smallestIdAt(prefix: IdPrefix, time: Date): string {
  // A UUIDv7 begins with 48 bits of milliseconds.
  return encode(prefix, BigInt(time.getTime()) << 80n);
}

function encode(prefix: IdPrefix, uuid: bigint): string {
  let bits = uuid;
  let text = '';
  for (let position = 0; position < 26; position++) {
    text = alphabet[Number(bits & 31n)]! + text;
    bits >>= 5n;
  }
  return `${prefix}_${text}`;
}

/** Whether a text has the form of an identifier of that kind. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text.slice(prefix.length + 1));
}

/** Recovery codes: each replaces the code of an authenticator app once. */
import { createHmac, randomInt } from 'node:crypto';

const count = 10;
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const groups = 4;
const groupLength = 4;

const group = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Ten codes of 80 random bits in Crockford's base32, such as `7k3f-9m2q-x4hd-0vtn`. */
export const generateRecoveryCodes = (): string[] =>
  Array.from({ length: count }, () => Array.from({ length: groups }, group).join('-'));

/**
 * Normalises typed text: no spaces and hyphens, lower case, and digits for the letters that Crockford's base32 reads as
 * digits.
 */
export const normalizeCode = (text: string): string =>
  text.replaceAll(/[ -]/g, '').toLowerCase().replaceAll('o', '0').replaceAll(/[il]/g, '1');

/** The database stores only this hash. The same code of two users has two hashes. */
export function hashRecoveryCode(userId: string, code: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`reelmend recovery code\n${userId}\n${normalizeCode(code)}`).digest();
}

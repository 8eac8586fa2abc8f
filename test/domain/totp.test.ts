/** Codes of authenticator apps against the vectors of the RFCs and a second implementation; recovery codes. */
import { describe, expect, it } from 'vitest';
import { generateRecoveryCodes, hashRecoveryCode, normalizeCode } from '../../src/domain/recovery-codes.ts';
import { generateTotpSecret, stepOfCode, totpUri } from '../../src/domain/totp.ts';
import { fromBase32, hotp } from '../helpers/totp.ts';

/** ASCII `12345678901234567890`, the key of both RFCs */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('a code', () => {
  // RFC 6238, appendix B has 8 digits; 6 digits are the last of them (RFC 4226 §5.3).
  const vectors = [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ] as const;
  it.each(vectors)('of RFC 6238 at %i s is valid in its step and the next to it, and in no other', (seconds, eight) => {
    const code = eight.slice(2);
    const step = Math.floor(seconds / 30);
    const atStep = (other: number) => stepOfCode(rfcSecret, code, other * 30_000);
    expect([-1, 0, 1].map((offset) => atStep(step + offset))).toEqual([step, step, step]);
    expect([-3, -2, 2, 3, 1000].map((offset) => atStep(step + offset))).toEqual([null, null, null, null, null]);
  });

  it('is that of a second implementation, which has the vectors of RFC 4226', () => {
    const key = Buffer.from('12345678901234567890');
    expect(fromBase32(rfcSecret)).toEqual(key);
    const rfc4226 = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'];
    expect(rfc4226.map((_, counter) => hotp(key, counter))).toEqual(rfc4226);
    for (let round = 0; round < 50; round++) {
      const secret = generateTotpSecret();
      const step = 50_000_000 + round * 7919;
      expect(stepOfCode(secret, hotp(fromBase32(secret), step), step * 30_000 + 29_999), secret).toBe(step);
    }
  });

  it.each(['', '12345', '1234567', '28708२', '２８７０８２', 'abcdef', ' 287082', '287082\n', '-28708', '2870.2'])('%j is none', (text) => {
    expect(stepOfCode(rfcSecret, text, 59_000)).toBeNull();
  });
});

describe('a secret', () => {
  it('has 160 bits and is another each time', () => {
    const secrets = Array.from({ length: 20 }, generateTotpSecret);
    expect(new Set(secrets).size).toBe(20);
    for (const secret of secrets) {
      expect(secret).toMatch(/^[A-Z2-7]{32}$/);
      expect(fromBase32(secret)).toHaveLength(20);
    }
  });

  it('is in the URI that apps read, with all parameters and a label that is escaped', () => {
    const uri = new URL(totpUri(rfcSecret, 'a&b?c=d:"@example.com'));
    expect([uri.protocol, uri.host]).toEqual(['otpauth:', 'totp']);
    expect(decodeURIComponent(uri.pathname)).toBe('/Reelmend:a&b?c=d:"@example.com');
    const facts = { issuer: 'Reelmend', secret: rfcSecret, algorithm: 'SHA1', digits: '6', period: '30' };
    expect(Object.fromEntries(uri.searchParams)).toEqual(facts);
  });
});

describe('recovery codes', () => {
  it('are ten of 80 bits, no two alike', () => {
    const codes = Array.from({ length: 20 }, generateRecoveryCodes).flat();
    expect(codes).toHaveLength(200);
    expect(new Set(codes).size).toBe(200);
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
    expect(new Set(codes.join('').replaceAll('-', '')).size).toBe(32);
  });

  it('may be typed with spaces, in capitals, and with letters for digits', () => {
    expect(normalizeCode('7K3F 9M2Q-x4hd OiL1')).toBe('7k3f9m2qx4hd0111');
    const hash = (user: string, code: string, pepper = 'pepper') => hashRecoveryCode(user, code, pepper).toString('hex');
    expect(hash('a', '7K3F 9M2Q x4hd 0vtn')).toBe(hash('a', '7k3f-9m2q-x4hd-0vtn'));
    expect(hash('a', '7k3f-9m2q-x4hd-0vtn')).not.toBe(hash('b', '7k3f-9m2q-x4hd-0vtn'));
    expect(hash('a', '7k3f-9m2q-x4hd-0vtn')).not.toBe(hash('a', '7k3f-9m2q-x4hd-0vtn', 'other'));
  });
});

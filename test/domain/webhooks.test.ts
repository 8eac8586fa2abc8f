import { describe, expect, it } from 'vitest';
import { nextAttemptInS, parseRetryAfter, webhookScheduleS } from '../../src/domain/webhooks.ts';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';

describe('the schedule of attempts', () => {
  it('makes ten attempts within a day, at the documented times', () => {
    const gaps: number[] = [];
    for (let failed = 1; ; failed++) {
      const gap = nextAttemptInS({ failed, retryAfterS: null, random: 0.5 });
      if (gap === null) break;
      gaps.push(gap);
    }
    const times = gaps.reduce((sums, gap) => [...sums, sums.at(-1)! + gap], [0]);
    expect(times).toEqual([0, 5, 30, 120, 600, 1800, 7200, 21_600, 43_200, 86_400]);
    expect(times).toEqual([...webhookScheduleS]);
  });

  it('spreads by a tenth, and is never sooner than the receiver asks for', () => {
    expect(nextAttemptInS({ failed: 2, retryAfterS: null, random: 0 })).toBe(22.5);
    expect(nextAttemptInS({ failed: 2, retryAfterS: null, random: 1 })).toBeCloseTo(27.5);
    expect(nextAttemptInS({ failed: 1, retryAfterS: 60, random: 0 })).toBe(60);
    expect(nextAttemptInS({ failed: 1, retryAfterS: 1, random: 0.5 })).toBe(5);
    expect(nextAttemptInS({ failed: 1, retryAfterS: 1e9, random: 0.5 })).toBe(86_400);
    expect(nextAttemptInS({ failed: 10, retryAfterS: 60, random: 0 })).toBeNull();
  });
});

describe('Retry-After', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  for (const [text, seconds] of [
    ['120', 120],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    ['99999999999', null],
    ['', null],
    [undefined, null],
  ] as const) {
    it(`${text} is ${seconds}`, () => expect(parseRetryAfter(text, now)).toBe(seconds));
  }
});

describe('the cipher', () => {
  const cipher = createSecretCipher('pepper pepper pepper');
  const encrypted = cipher.encrypt('webhook-secret', 'acct_1', 'secret');

  it('decrypts what it encrypted, and never encrypts a value to the same bytes twice', () => {
    expect(cipher.decrypt('webhook-secret', 'acct_1', encrypted)).toBe('secret');
    expect(cipher.encrypt('webhook-secret', 'acct_1', 'secret')).not.toEqual(encrypted);
    expect(encrypted.toString('latin1')).not.toContain('secret');
  });

  it('opens nothing under another pepper, purpose or owner, nor what was changed or cut', () => {
    const attempts = [
      () => createSecretCipher('another pepper').decrypt('webhook-secret', 'acct_1', encrypted),
      () => cipher.decrypt('signing-key', 'acct_1', encrypted),
      () => cipher.decrypt('webhook-secret', 'acct_2', encrypted),
      ...Array.from({ length: encrypted.length }, (_, at) => () => {
        const changed = Buffer.from(encrypted);
        changed[at]! ^= 1;
        return cipher.decrypt('webhook-secret', 'acct_1', changed);
      }),
      ...[0, 11, 20, encrypted.length - 1].map(
        (size) => () => cipher.decrypt('webhook-secret', 'acct_1', encrypted.subarray(0, size)),
      ),
    ];
    for (const attempt of attempts) expect(attempt).toThrow('REELMEND_KEY_PEPPER');
  });
});

/** How many attempts a transfer that is continued gets. */
import { describe, expect, it } from 'vitest';
import { Attempts } from '../../src/net/retry.ts';

/** Failed attempts until the counter gives up, at most 10,000; the n-th try (1, 2, …) brings `bytes(n)`. */
function triesUntilExhausted(limit: number, bytes: (n: number) => number): number {
  const attempts = new Attempts(limit);
  for (let n = 1; n <= 10_000; n += 1) {
    attempts.note(bytes(n));
    if (attempts.exhausted) return n;
  }
  return 10_000;
}

describe('a transfer that is continued', () => {
  it.each([1, 3, 4])('ends after %i attempts in a row that bring nothing', (limit) => {
    expect(triesUntilExhausted(limit, () => 0)).toBe(limit);
    expect(triesUntilExhausted(limit, () => 16 * 1024 - 1)).toBe(limit);
    if (limit > 1) expect(triesUntilExhausted(limit, (n) => (n === limit - 1 ? 16 * 1024 : 0))).toBe(2 * limit - 1);
  });

  it.each([64 * 1024, 150_000, 2 ** 20])('goes on while attempts bring %i bytes', (bytes) => {
    expect(triesUntilExhausted(3, () => bytes)).toBe(10_000);
    expect(triesUntilExhausted(3, (n) => (n % 3 === 0 ? 3 * bytes : 0))).toBe(10_000);
  });

  it('ends when a server feeds it in crumbs for long', () => {
    // 48 free ones, then a quarter of the average pays for a quarter of the attempts.
    expect(triesUntilExhausted(3, () => 16 * 1024)).toBe(64);
  });

  it('counts repetitions from the last progress', () => {
    const attempts = new Attempts(4);
    const seen = [0, 0, 20_000, 0, 0].map((bytes) => {
      attempts.note(bytes);
      return attempts.repetition;
    });
    expect(seen).toEqual([1, 2, 1, 1, 2]);
  });
});

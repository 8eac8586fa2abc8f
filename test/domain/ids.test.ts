import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';

describe('identifiers', () => {
  for (const prefix of ['job', 'acct', 'key', 'evt', 'cert', 'user', 'sess'] as const) {
    it(`of kind ${prefix} have the prefix and 26 Crockford characters`, () => {
      expect(newId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
    });
  }
  it('are unique and sort by the time they were made', () => {
    const made = Array.from({ length: 5000 }, () => newId('job'));
    expect(new Set(made).size).toBe(made.length);
    expect(made.toSorted()).toEqual(made);
  });
});

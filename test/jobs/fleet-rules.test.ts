/** The rules of a fleet, without its workers: which accounts wait, and how often a worker polls. */
import { describe, expect, it } from 'vitest';
import { accountsToSkip } from '../../src/jobs/fair-share.ts';
import { followedShare, pollFactor } from '../../src/jobs/fleet-size.ts';
import type { AccountLoad } from '../../src/store/index.ts';

describe('accountsToSkip', () => {
  const load = (account: string, running: number, waiting: number, quota: number | null = null): AccountLoad => ({ account, running, waiting, quota });
  it.each<[string, AccountLoad[], { perAccount?: number; lastServed?: string }, string[]]>([
    ['one account alone is served', [load('a', 9, 9)], { lastServed: 'a' }, []],
    ['the account with fewer slots is served', [load('a', 3, 9), load('b', 1, 1)], {}, ['a']],
    ['an account that has nothing to run does not hold others back', [load('a', 3, 9), load('b', 1, 0)], {}, []],
    ['with equally many, accounts take turns', [load('a', 0, 9), load('b', 0, 1)], { lastServed: 'a' }, ['a']],
    ['with equally many elsewhere, none waits', [load('a', 1, 9), load('b', 1, 1)], { lastServed: 'c' }, []],
    ['an account at its limit waits, even alone', [load('a', 2, 9)], { perAccount: 2 }, ['a']],
    ['an account at its limit does not hold others back', [load('a', 2, 9), load('b', 5, 9)], { perAccount: 2, lastServed: 'b' }, ['a', 'b']],
    ['an account has a quota of its own, below the limit of all', [load('a', 1, 9, 1), load('b', 1, 9)], { perAccount: 4 }, ['a']],
    ['and one above it', [load('a', 4, 9, 6)], { perAccount: 4 }, []],
    ['below the limit the fewest are served', [load('a', 1, 9), load('b', 0, 9)], { perAccount: 2 }, ['a']],
  ])('%s', (_, loads, options, skipped) => {
    expect(accountsToSkip(loads, { perAccount: 0, lastServed: undefined, ...options })).toEqual(skipped);
  });
});

describe('a large fleet', () => {
  it.each([[1, 1, 1], [4, 1, 1], [8, 2, 1], [40, 10, 0.2], [1000, 10, 0.008]])(
    'of %i workers: each polls at %f times the interval and follows %f of the announcements of one row',
    (alive, factor, share) => {
      expect([pollFactor(alive), followedShare(alive, 1)]).toEqual([factor, share]);
    },
  );

  it('looks for many rows with as many more workers', () => {
    expect([followedShare(1000, 25), followedShare(1000, 64), followedShare(1000, 500)]).toEqual([0.2, 0.512, 1]);
  });
});

/** The rules of a fleet, without its workers: which accounts wait, and how often a worker polls. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { accountsToSkip, virtualTimeOf } from '../../src/jobs/fair-share.ts';
import { followedShare, leaseSweepsPerSecond, pollsPerSecond, sharedIntervalMs } from '../../src/jobs/fleet-size.ts';
import { periodicTasks } from '../../src/jobs/periodic-tasks.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { WorkerDescription } from '../../src/jobs/worker-description.ts';
import type { AccountLoad } from '../../src/store/index.ts';

const load = (account: string, change: Partial<AccountLoad> = {}): AccountLoad => ({ account, running: 0, waits: true, quota: null, virtualStart: 0, virtualFinish: 0, ...change });
/** an account whose last row began and will end at these virtual times */
const served = (account: string, virtualStart: number, virtualFinish: number, change: Partial<AccountLoad> = {}) => load(account, { virtualStart, virtualFinish, ...change });

describe('accountsToSkip', () => {
  it.each<[string, AccountLoad[], number, string[]]>([
    ['one account alone is served', [served('a', 500, 540)], 0, []],
    ['the account that has used less machine time is served', [served('a', 100, 140), served('b', 90, 130)], 0, ['a']],
    ['even if it has more slots', [served('a', 100, 140, { running: 1 }), served('b', 96, 100, { running: 7 })], 0, ['a']],
    ['an account that is new is served before one with work under way', [served('a', 500, 540, { running: 4 }), load('b')], 0, ['a']],
    ['one that was away does not make up for the past', [served('a', 500, 540), served('b', 3, 7), served('c', 460, 490)], 0, ['a']],
    ['an account that has nothing to run does not hold others back', [served('a', 100, 140), served('b', 10, 50, { waits: false })], 0, []],
    ['accounts that have used equally much are served as they come', [load('a'), load('b')], 0, []],
    ['an account at its limit waits, even alone', [load('a', { running: 2 })], 2, ['a']],
    ['an account at its limit does not hold others back', [load('a', { running: 2 }), served('b', 50, 90, { running: 5 })], 2, ['a', 'b']],
    ['an account has a quota of its own, below the limit of all', [load('a', { running: 1, quota: 1 }), served('b', 5, 9, { running: 1 })], 4, ['a']],
    ['and one above it', [load('a', { running: 4, quota: 6 })], 4, []],
  ])('%s', (_, loads, perAccount, skipped) => {
    expect(accountsToSkip(loads, perAccount)).toEqual(skipped);
  });
});

describe('virtualTimeOf', () => {
  it('is that of the last row that began, of accounts with waiting rows', () => {
    expect(virtualTimeOf([served('a', 100, 140), served('b', 90, 130), served('c', 900, 940, { waits: false })])).toBe(100);
  });

  it('is 0 if nothing has run', () => {
    expect([virtualTimeOf([]), virtualTimeOf([load('a')])]).toEqual([0, 0]);
  });
});

describe('a large fleet', () => {
  afterEach(() => vi.restoreAllMocks());
  const between = (random: number) => vi.spyOn(Math, 'random').mockReturnValue(random);
  const fleets = [1, 10, 20, 40, 100, 1000, 1200];

  it.each([
    ['polls', 1000, pollsPerSecond],
    ['sweeps', 5000, leaseSweepsPerSecond],
  ])('%s no more often than a small one in all', (_, shortestMs, perSecond) => {
    between(0.5);
    for (const alive of fleets) {
      const ms = sharedIntervalMs({ alive }, { shortestMs, perSecond });
      expect(ms).toBeGreaterThanOrEqual(shortestMs);
      if (ms < 60_000) expect((alive * 1000) / ms).toBeLessThanOrEqual(perSecond + 1e-9);
    }
  });

  it('keeps the interval of a small one up to twenty workers, and a minute at most', () => {
    const interval = (alive: number) => sharedIntervalMs({ alive }, { shortestMs: 1000, perSecond: pollsPerSecond });
    between(0.5);
    expect([1, 20, 40, 1000, 5000].map(interval)).toEqual([1000, 1000, 2000, 50_000, 60_000]);
    between(0);
    expect(interval(1000)).toBeCloseTo(40_000, 3);
    between(1);
    expect(interval(1000)).toBeCloseTo(60_000, 3);
  });

  it('looks for expired leases less often with each worker', () => {
    between(0.5);
    const fleet = { alive: 1 };
    const worker = { config: { leaseSeconds: 20 }, tuning: defaultTuning, fleet } as WorkerContext;
    const tasks = periodicTasks(worker, [], new WorkerDescription(worker));
    const { everyMs } = tasks.find(({ name }) => name === 'leases')!;
    expect(everyMs()).toBe(5000);
    fleet.alive = 100;
    expect(everyMs()).toBe(25_000);
  });

  it.each([[1, 1], [4, 1], [40, 0.2], [1000, 0.008]])('of %i workers: each follows %f of the announcements of one row', (alive, share) => {
    expect(followedShare({ alive }, 1)).toBe(share);
  });

  it('looks for many rows with as many more workers', () => {
    expect([25, 64, 500].map((rows) => followedShare({ alive: 1000 }, rows))).toEqual([0.2, 0.512, 1]);
  });
});

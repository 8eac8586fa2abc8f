import { describe, expect, it } from 'vitest';
import { FairSemaphore, type FairSemaphoreOptions } from '../../src/domain/fair-semaphore.ts';

const never = new AbortController().signal;
const busy = new Error('busy');
const semaphore = (change: Partial<FairSemaphoreOptions> = {}) =>
  new FairSemaphore({ total: 4, each: 2, waitMs: 5000, refusal: () => busy, ...change });

/** Starts tasks that run until their `end` is called. */
function works(of: FairSemaphore) {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (caller: string, signal = never) =>
    of.run(
      caller,
      () => {
        started.push(caller);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
      signal,
    );
  const endOne = async () => {
    ends.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, run, endOne };
}

describe('the slots of a fair semaphore', () => {
  it('let one caller have only its own share', async () => {
    const { started, run, endOne } = works(semaphore());
    const all = [run('a'), run('a'), run('a'), run('b'), run('c'), run('d')];
    expect(started).toEqual(['a', 'a', 'b', 'c']);
    for (let i = 0; i < 6; i += 1) await endOne();
    await Promise.all(all);
    expect(started).toEqual(['a', 'a', 'b', 'c', 'd', 'a']);
  });

  it('go to callers in turn, however many works one of them has waiting', async () => {
    const { started, run, endOne } = works(semaphore({ total: 1 }));
    const all = [run('a'), run('a'), run('a'), run('a'), run('b'), run('b'), run('c')];
    for (let i = 0; i < 7; i += 1) await endOne();
    await Promise.all(all);
    expect(started.join('')).toBe('abcabaa');
  });

  it('without other bounds, are all for one caller, whose works start in order', async () => {
    const { started, run, endOne } = works(new FairSemaphore({ total: 3 }));
    const names: number[] = [];
    const all = Array.from({ length: 10 }, (_, index) => run('a').then(() => names.push(index)));
    for (let ended = 0; ended < 10; ended += 1) {
      expect(started).toHaveLength(Math.min(10, 3 + ended));
      await endOne();
    }
    await Promise.all(all);
    expect(names).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('have a line of bounded length, and each caller a part of it', async () => {
    const full = (reason: string) => new Error(reason);
    const { run, endOne } = works(semaphore({ total: 1, waiting: 3, waitingEach: 2, refusal: full }));
    const all = [run('a'), run('a'), run('a')];
    await expect(run('a')).rejects.toThrow('caller');
    all.push(run('b'));
    await expect(run('c')).rejects.toThrow('all');
    for (let i = 0; i < 4; i += 1) await endOne();
    await Promise.all(all);
  });

  it('refuse what waited in vain, and give its turn to the next', async () => {
    const { started, run, endOne } = works(semaphore({ total: 1, each: 1, waitMs: 20 }));
    const first = run('a');
    await expect(run('b')).rejects.toBe(busy);
    await endOne();
    await first;
    const second = run('c');
    expect(started).toEqual(['a', 'c']);
    await endOne();
    await second;
  });

  it('forget a caller that goes away while it waits', async () => {
    const { started, run, endOne } = works(semaphore({ total: 1, each: 1 }));
    const first = run('a');
    const gone = new AbortController();
    const waiting = run('b', gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(run('b', gone.signal)).rejects.toThrow('gone');
    const next = run('c');
    await endOne();
    await endOne();
    await Promise.all([first, next]);
    expect(started).toEqual(['a', 'c']);
  });

  it('keep no record of callers that were refused', async () => {
    const of = semaphore({ total: 1, waiting: 0 });
    const { run, endOne } = works(of);
    const first = run('a');
    for (const caller of ['b', 'c', 'd']) await expect(run(caller)).rejects.toBe(busy);
    expect(of.callers).toBe(1);
    await endOne();
    await first;
    expect(of.callers).toBe(0);
  });

  it('are free again after a work that fails', async () => {
    const of = semaphore({ total: 1, each: 1, waitMs: 20 });
    for (let i = 0; i < 3; i += 1) {
      await expect(of.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    }
  });
});

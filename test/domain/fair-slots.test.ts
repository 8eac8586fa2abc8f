import { describe, expect, it } from 'vitest';
import { FairSlots } from '../../src/domain/fair-slots.ts';

const never = new AbortController().signal;
const busy = new Error('busy');
const slots = (change: { total?: number; each?: number; waitMs?: number } = {}) =>
  new FairSlots({ total: 4, each: 2, waitMs: 5000, refusal: () => busy, ...change });

/** Works that run until they are told to end. */
function works(of: FairSlots) {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (caller: string, signal = never) =>
    of.run(caller, signal, () => {
      started.push(caller);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const endOne = async () => {
    ends.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, run, endOne };
}

describe('17.17: fair slots', () => {
  it('let one caller have only its own share', async () => {
    const { started, run, endOne } = works(slots());
    const all = [run('a'), run('a'), run('a'), run('b'), run('c'), run('d')];
    expect(started).toEqual(['a', 'a', 'b', 'c']);
    for (let i = 0; i < 6; i += 1) await endOne();
    await Promise.all(all);
    expect(started).toEqual(['a', 'a', 'b', 'c', 'd', 'a']);
  });

  it('refuse what waited in vain, and give its turn to the next', async () => {
    const { started, run, endOne } = works(slots({ total: 1, each: 1, waitMs: 20 }));
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
    const { started, run, endOne } = works(slots({ total: 1, each: 1 }));
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

  it('are free again after a work that fails', async () => {
    const of = slots({ total: 1, each: 1, waitMs: 20 });
    for (let i = 0; i < 3; i += 1) {
      await expect(of.run('a', never, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    }
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Gate } from '../../src/media/gate.ts';

describe('a gate', () => {
  it('lets as many through as it has places, in order', async () => {
    const gate = new Gate(3);
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const work = (index: number) => async () => {
      begun.push(index);
      most = Math.max(most, ++running);
      await sleep(5);
      running -= 1;
      if (index === 2) throw new Error('failed');
      return index;
    };
    const results = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => gate.run(work(index))));
    expect(most).toBe(3);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(9);
  });

  it('forgets who gives up while waiting', async () => {
    const gate = new Gate(1);
    const abort = new AbortController();
    let release = () => {};
    const first = gate.run(() => new Promise<void>((resolve) => (release = resolve)));
    let ran = false;
    const second = gate.run(async () => (ran = true), abort.signal);
    const third = gate.run(async () => 'third');
    abort.abort(new Error('gave up'));
    await expect(second).rejects.toThrow('gave up');
    release();
    await first;
    expect(await third).toBe('third');
    expect(ran).toBe(false);
    await expect(gate.run(async () => {}, abort.signal)).rejects.toThrow('gave up');
  });
});

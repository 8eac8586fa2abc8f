import { expect, it } from 'vitest';
import { orAfter } from '../../src/domain/or-after.ts';

const never = new Promise<string>(() => {});
const late = () => 'late';

it('gives the outcome of work that ends in time, and leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  expect(await orAfter(Promise.resolve('done'), 60_000, late)).toBe('done');
  await expect(orAfter(Promise.reject(new Error('broken')), 60_000, late)).rejects.toThrow('broken');
  expect(timers()).toBe(before);
});

it('gives the other outcome when the time is over, or the signal aborts', async () => {
  expect(await orAfter(never, 1, late)).toBe('late');
  expect(await orAfter(never, 60_000, late, AbortSignal.abort())).toBe('late');
  const stop = new AbortController();
  const waiting = orAfter(never, 60_000, late, stop.signal);
  stop.abort();
  expect(await waiting).toBe('late');
});

it('rejects with what the other outcome throws', async () => {
  const refuse = () => {
    throw new Error('too late');
  };
  await expect(orAfter(never, 1, refuse)).rejects.toThrow('too late');
});

/** Rows that the queue gave out in a response that was lost. */
import { EventEmitter } from 'node:events';
import type { WorkerEvents } from 'graphile-worker';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LostRows } from '../../src/jobs/lost-rows.ts';
import { NotFetching } from '../../src/jobs/not-fetching.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }));
afterEach(() => void vi.useRealTimers());

describe('rows that may be lost', () => {
  it.each([
    ['polls that fetch nothing on purpose', new NotFetching('no GPU'), 1],
    ['polls that fail, not yet', new Error('the connection broke'), 0],
  ])('are freed after five seconds, with %s meanwhile', async (_name, error, times) => {
    const unlockRows = vi.fn(async () => 1);
    const events = new EventEmitter() as WorkerEvents;
    const rows = new LostRows({ workers: { unlockRows } as never });
    rows.follow(events);
    events.emit('pool:create', { workerPool: { id: 'pool-1' } } as never);
    const fail = (of: Error) => events.emit('worker:getJob:error', { error: of } as never);
    fail(new Error('the connection broke'));
    for (let second = 0; second < 7; second += 1) {
      vi.advanceTimersByTime(1000);
      fail(error);
    }
    await rows.free();
    expect(unlockRows).toHaveBeenCalledTimes(times);
  });
});

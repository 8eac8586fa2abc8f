/** When a runner polls. Graphile Worker and the clock are stood in for. */
import { EventEmitter } from 'node:events';
import type { WorkerEvents } from 'graphile-worker';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { QueuePoller } from '../../src/jobs/queue-poller.ts';

const fleet = { intervalMs: 1000 };
const nudge = vi.fn();
let events: WorkerEvents;
let poller: QueuePoller;
beforeEach(() => {
  vi.useFakeTimers();
  nudge.mockReset();
  fleet.intervalMs = 1000;
  events = new EventEmitter();
  poller = new QueuePoller({ intervalMs: () => fleet.intervalMs, retryMs: 1000 });
  poller.follow(events);
  emit('pool:create', { workerPool: { nudge } });
});
afterEach(() => {
  poller.stop();
  vi.useRealTimers();
});

const emit = (name: string, payload: object = {}) => (events as unknown as EventEmitter).emit(name, payload);
/** Lets this time pass; returns how often a slot was woken. */
function nudgesIn(ms: number): number {
  nudge.mockClear();
  vi.advanceTimersByTime(ms);
  return nudge.mock.calls.length;
}

it('one slot polls for all', () => {
  expect(nudgesIn(10_000)).toBe(10);
  expect(nudge.mock.calls.every(([slots]) => slots === 1)).toBe(true);
});

it('follows the size of the fleet while it runs', () => {
  fleet.intervalMs = 50_000;
  // The next poll was due already.
  expect(nudgesIn(1000)).toBe(1);
  expect(nudgesIn(100_000)).toBe(2);
  fleet.intervalMs = 1000;
  expect(nudgesIn(50_000)).toBe(1);
  expect(nudgesIn(5000)).toBe(5);
});

it('wakes another slot for each row that a poll finds, until one finds nothing', () => {
  expect(nudgesIn(1000)).toBe(1);
  emit('job:start');
  emit('job:start');
  expect(nudge).toHaveBeenCalledTimes(3);
  emit('worker:getJob:empty');
  // A notification reported this one.
  emit('job:start');
  expect(nudge).toHaveBeenCalledTimes(3);
});

it('tries again soon when the queue could not be read, however many slots failed', () => {
  fleet.intervalMs = 50_000;
  nudgesIn(1000);
  for (let slot = 0; slot < 12; slot++) emit('worker:getJob:error');
  expect(nudgesIn(1000)).toBe(1);
  expect(nudgesIn(49_000)).toBe(0);
});

it.each(['pool:gracefulShutdown', 'pool:forcefulShutdown'])('wakes no slot after %s, and those of the next pool again', (end) => {
  emit(end);
  emit('worker:getJob:error');
  expect(nudgesIn(5000)).toBe(0);
  emit('pool:create', { workerPool: { nudge } });
  expect(nudgesIn(1000)).toBe(1);
});

it('ends', () => {
  poller.stop();
  expect(nudgesIn(100_000)).toBe(0);
});

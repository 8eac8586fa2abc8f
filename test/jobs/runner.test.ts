/** When queue runners start and stop; Graphile Worker itself is stood in for. */
import type { Runner } from 'graphile-worker';
import pg from 'pg';
import pino from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { keepRunner, pollIntervalMs } from '../../src/jobs/runner.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { eventually } from '../helpers/wait.ts';

const { run } = vi.hoisted(() => ({ run: vi.fn() }));
vi.mock('graphile-worker', async (original) => ({ ...(await original<object>()), run }));

const worker = { logger: pino({ level: 'silent' }), tuning: { pollIntervalMs: 100 }, fleet: { alive: 1 }, lifetime: { idleMs: Number.POSITIVE_INFINITY } } as WorkerContext;
const connections = { pool: new pg.Pool(), preparedStatements: true, stopListening: async () => {}, end: async () => {} };

/** Runs until it is stopped, or until `fail`. */
function fakeRunner() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = vi.fn(() => Promise.resolve(resolve()));
  return { runner: { promise, stop } as unknown as Runner, stop, fail: () => reject(new Error('the database is gone')) };
}

describe('a kept runner', () => {
  afterEach(() => run.mockReset());

  it('stops a runner whose start succeeds only after stop was called', async () => {
    const [first, second] = [fakeRunner(), fakeRunner()];
    const late = Promise.withResolvers<Runner>();
    run.mockResolvedValueOnce(first.runner).mockReturnValueOnce(late.promise);
    const kept = await keepRunner(worker, connections, { tasks: {}, concurrency: 1 });
    first.fail();
    await eventually(() => run.mock.calls.length === 2, 'it is started again');
    let hasStopped = false;
    void kept.stop().then(() => (hasStopped = true));
    late.resolve(second.runner);
    await eventually(() => hasStopped);
    expect(second.stop).toHaveBeenCalled();
  });

  it('stops the one that runs', async () => {
    const only = fakeRunner();
    run.mockResolvedValueOnce(only.runner);
    const kept = await keepRunner(worker, connections, { tasks: {}, concurrency: 1 });
    await kept.stop();
    expect(only.stop).toHaveBeenCalled();
    expect(run).toHaveBeenCalledTimes(1);
  });
});

describe('the interval of polls', () => {
  const intervalMs = (alive: number, idleMs = Number.POSITIVE_INFINITY) => pollIntervalMs({ ...worker, fleet: { alive }, lifetime: { idleMs } as WorkerContext['lifetime'] });

  it('follows the size of the fleet', () => {
    expect(intervalMs(1)).toBe(100);
    expect(intervalMs(1000)).toBeGreaterThanOrEqual(40_000);
  });

  it('is no longer than the time after which an idle worker ends, nor shorter than that of one worker', () => {
    expect([intervalMs(1000, 5000), intervalMs(1000, 0)]).toEqual([5000, 100]);
  });
});

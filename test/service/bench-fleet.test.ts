/** `npm run bench:fleet`: what it measures happens, whatever the machine's speed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { steadyState, type WorkerEvent } from '../../scripts/fleet/steady-state.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { findS3Server } from '../helpers/s3.ts';
import { hangMs } from '../helpers/wait.ts';

const script = fileURLToPath(new URL('../../scripts/bench-fleet.ts', import.meta.url));
const positive = z.number().positive();
// What idle workers do is subtracted, and PostgreSQL's counters lag behind.
const atLeastZero = z.number().nonnegative();
const cost = z.object({ statements: positive, transactions: atLeastZero, wal_kb: atLeastZero, database_cpu_ms: atLeastZero });
const run = z.object({ segments: z.literal(4), for_each_segment: cost });
const wait = z.object({ seconds: z.array(positive).length(1), median_in_segments: positive });
const output = z.object({
  scaling: z.array(
    z.object({
      workers: positive,
      segments: positive,
      segments_per_second: positive,
      of_ideal: positive,
      utilisation: positive,
      window_s: positive,
      ramp_s: atLeastZero,
      tail_s: atLeastZero,
      gap_ms: z.object({ median: positive, p95: positive, max: positive }),
      busy_cores: positive,
      one_video: z.object({ segments: z.literal(4), seconds: positive, first_segment_after_s: positive }),
    }),
  ),
  database: z.object({ idle_worker_per_second: z.object({ statements: positive }), short_segments: run, long_segments: run }),
  short_beside_long: z.object({ same_account: wait, other_account: wait }),
  recovery: z.object({ killed: z.literal(1), segments: z.literal(8), made_again: z.number(), done_after_s: positive }),
  // The difference between two measurements of a few seconds.
  idle_in_large_fleet: z.object({ workers: z.literal(1), fleet: z.literal(1000), idle_worker_per_second: z.object({ statements: z.number(), database_cpu_ms: z.number() }) }),
  backlog: z.array(z.object({ due_rows: positive, load_ms: positive, fetch_ms: positive })).length(2),
});

const isThere = (await findS3Server()) !== null;

it.runIf(isThere && isLongRun)('measures a small fleet', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--quick'], { timeout: hangMs });
  const { scaling, recovery } = output.parse(JSON.parse(stdout));
  expect(scaling.map(({ workers }) => workers)).toEqual([1, 2]);
  expect(scaling.map(({ segments }) => segments)).toEqual([6, 12]);
  // No worker can be faster than its device.
  for (const { of_ideal: part } of scaling) expect(part).toBeLessThanOrEqual(1.01);
  // Each worker that was killed held one segment.
  expect(recovery.made_again).toBeLessThanOrEqual(1);
});

it.each([['--workers', 'two'], ['--speed', '0']])('refuses %s %s', async (...args) => {
  await expect(promisify(execFile)(process.execPath, [script, ...args], { timeout: hangMs })).rejects.toMatchObject({ code: 2 });
});

describe('the throughput', () => {
  /** [begin, end] of the segments of each worker */
  const eventsOf = (...workers: [number, number][][]): WorkerEvent[] =>
    workers.flatMap((spans, worker) =>
      spans.flatMap(([begun, ended], segment): WorkerEvent[] => [
        { worker, job: `job_${worker}`, segment, kind: 'begun', at: 1000 * begun },
        { worker, job: `job_${worker}`, segment, kind: 'ended', at: 1000 * ended },
      ]),
    );
  const events = eventsOf([[0, 4], [4, 8], [8.5, 12.5], [13, 17]], [[2, 6], [7, 11], [11, 15]]);

  it('is measured while all devices have work: ramp and tail are not part of it', () => {
    const steady = steadyState(events, 2);
    expect(steady).toMatchObject({ rampS: 2, windowS: 13, tailS: 2, gapsMs: { median: 500, p95: 1000, max: 1000 } });
    // Of the first worker 0.5, 1, 1 and 0.5 segments are in the window from 2 to 15.
    expect(steady.segments).toBeCloseTo(6, 6);
    expect(steady.utilisation).toBeCloseTo(24 / 26, 6);
  });

  it('does not count what was done before all jobs existed', () => {
    expect(steadyState(events, 2, 7000)).toMatchObject({ rampS: 7, windowS: 8 });
  });

  it.each([['a device had nothing to do', 3], ['the devices worked one after the other', 2]])('is not stated when %s', (_, workers) => {
    const few = workers === 3 ? events : eventsOf([[0, 4]], [[5, 9]]);
    expect(() => steadyState(few, workers)).toThrow('too few segments');
  });
});

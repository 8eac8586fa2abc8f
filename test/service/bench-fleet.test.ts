/** `npm run bench:fleet`: what it measures happens, whatever the machine's speed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
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
      busy_cores: positive,
      one_video: z.object({ segments: z.literal(4), seconds: positive, first_segment_after_s: positive }),
    }),
  ),
  database: z.object({ idle_worker_per_second: z.object({ statements: positive }), short_segments: run, long_segments: run }),
  short_beside_long: z.object({ same_account: wait, other_account: wait }),
  recovery: z.object({ killed: z.literal(1), segments: z.literal(8), made_again: z.number(), done_after_s: positive }),
});

const isThere = (await findS3Server()) !== null;

it.runIf(isThere)('measures a small fleet', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--quick'], { timeout: hangMs });
  const { scaling, recovery } = output.parse(JSON.parse(stdout));
  expect(scaling.map(({ workers }) => workers)).toEqual([1, 2]);
  expect(scaling.map(({ segments }) => segments)).toEqual([3, 6]);
  // No worker can be faster than its device.
  for (const { of_ideal: part } of scaling) expect(part).toBeLessThanOrEqual(1.01);
  // Each worker that was killed held one segment.
  expect(recovery.made_again).toBeLessThanOrEqual(1);
});

it.each([['--workers', 'two'], ['--speed', '0']])('refuses %s %s', async (...args) => {
  await expect(promisify(execFile)(process.execPath, [script, ...args], { timeout: hangMs })).rejects.toMatchObject({ code: 2 });
});

/** A scratch disk without a free block, on which not even a folder can be made: jobs wait for it as they do where space is short. */
import type * as Files from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { enhanceResult, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import type { World } from '../helpers/worker-world.ts';
import { cutInto, fleetJobs, segmented, setUpFleet } from './fleet-suite.ts';

const disk = vi.hoisted(() => ({ isFull: false, refused: 0 }));

/** As ext4 answers. A test cannot fill the disk of the machine. */
vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof Files>();
  const mkdir = (path: string, options: never) => {
    if (!disk.isFull || !path.includes('/scratch/worker-')) return files.mkdir(path, options);
    disk.refused++;
    return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, mkdir'), { code: 'ENOSPC' }));
  };
  return { ...files, mkdir };
});

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { create, ended, long, now, planned, rich } = fleetJobs(() => ({ world, shop }));

const attempts = 5;
const tuning = { insufficientDisk: { retryDelayS: 0.1, patienceS: 600, maxWaitS: 600 } };
const failuresOf = (job: JobRecord) => world.sql`SELECT failures + coalesce((SELECT sum(failures) FROM segments WHERE job_id = id), 0)::int AS failures FROM jobs WHERE id = ${job.id}`;

it.each(['a whole video', 'a segment'])('costs no attempt: %s', async (what) => {
  [disk.isFull, disk.refused] = [true, 0];
  const job = await (what === 'a segment' ? long(await rich()) : create(await rich()));
  if (what === 'a segment') await planned(job, cutInto(8).count);
  else [shop.media.onProbe, shop.media.onEnhance] = [async () => probeResult, async () => enhanceResult];
  await shop.worker({ config: { ...segmented, workerConcurrency: 1 }, tuning }).start();
  await eventually(async () => disk.refused > 2 * attempts || (await now(job))?.status === 'error');
  expect(await failuresOf(job)).toEqual([{ failures: 0 }]);
  disk.isFull = false;
  await ended(job);
});

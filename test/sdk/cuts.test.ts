/** The client behind a network that breaks again and again, in the middle of everything that it does. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReelmend, type Reelmend } from '../../src/sdk/index.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { createCustomer, createSite, type Site } from '../helpers/service.ts';
import { Wire } from '../helpers/wire.ts';

let dir: string;
let site: Site;
let wire: Wire;
let reelmend: Reelmend;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-cuts-'));
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '300' });
  wire = new Wire(new URL((await site.start('start')).url));
  const { key } = await createCustomer(site, { mode: 'test' });
  reelmend = createReelmend({ baseUrl: await wire.listen(), apiKey: key, maxRetries: 8 });
});
afterAll(async () => {
  wire.close();
  await site.close();
  await rm(dir, { recursive: true, force: true });
});

const journeys = isLongRun ? 200 : 6;
const atOnce = 3;

let cuts = 0;

/** Cuts the network for moments, until the signal is aborted. */
async function cutAgainAndAgain(signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; cuts++) {
    await sleep(1000 * Math.random());
    wire.cut();
    await sleep(150 * Math.random());
    wire.mend();
  }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Two parts, a job, its events, its result in a file and in memory. Returns the job's id. */
async function useAll(number: number): Promise<string> {
  const bytes = randomBytes(9_000_000);
  const upload = await reelmend.uploads.create(new Blob([bytes]), { name: 'film.mov' });
  expect(upload).toMatchObject({ status: 'ready', sha256: sha256(bytes) });
  const { id } = await reelmend.jobs.create({ upload_id: upload.id, resolution: '1080p' });
  let last: string | undefined;
  for await (const { job } of reelmend.jobs.events(id)) last = 'status' in job ? job.status : 'deleted';
  expect(last).toBe('done');
  const { output } = await reelmend.waitForJob(id);
  const path = join(dir, `${number}.mp4`);
  await reelmend.jobs.download(id, path);
  expect(sha256(await readFile(path))).toBe(output!.sha256);
  expect((await reelmend.jobs.downloadBlob(id)).size).toBe(output!.size_bytes);
  return id;
}

it('sends, waits and fetches nevertheless, and creates no job twice', async () => {
  const over = new AbortController();
  const cutting = cutAgainAndAgain(over.signal);
  const made: string[] = [];
  // A fast machine may be through with all journeys before there were enough cuts.
  for (let number = 0; number < journeys || cuts <= journeys; number += atOnce) {
    made.push(...(await Promise.all(Array.from({ length: atOnce }, (_, place) => useAll(number + place)))));
  }
  over.abort();
  await cutting;
  expect(cuts).toBeGreaterThan(journeys);
  const listed: string[] = [];
  for await (const { id } of reelmend.jobs.all()) listed.push(id);
  expect(listed.toSorted()).toEqual(made.toSorted());
});

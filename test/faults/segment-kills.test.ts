/**
 * Two workers share long videos and are killed with -9 at random moments, whatever they are doing: planning, making a piece,
 * storing it, joining, destroying pieces. `KILLS_SEED` repeats a run as far as timing allows.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually } from '../helpers/wait.ts';
import { seeded } from '../helpers/worker-cluster.ts';
import { leaseBeyondHanging } from '../helpers/worker-fakes.ts';
import { spawnWorker, testStorage, type WorkerProcess } from '../helpers/worker-process.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

const seed = Number(process.env['KILLS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = seeded(seed);
const rounds = isLongRun ? 50 : 3;
const segments = { count: 4, pieceS: 2.4 };

let world: World;
let dataDir: string;
const slots: (WorkerProcess | undefined)[] = [undefined, undefined];
const killed: WorkerProcess[] = [];

beforeAll(async () => {
  console.log(`segment kills: KILLS_SEED=${seed}`);
  world = await createWorld();
  dataDir = await mkdtemp(join(tmpdir(), 'reelmend-kills-'));
});
afterAll(async () => {
  await Promise.all(slots.map(async (worker) => worker?.end('SIGKILL')));
  await world.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** Leases last, so that none is lost because the machine is busy. */
const start = () => spawnWorker({ url: world.url, dataDir, leaseSeconds: leaseBeyondHanging, enhanceMs: 150, segments });

async function fillSlots(): Promise<void> {
  for (const [index, worker] of slots.entries()) slots[index] = worker ?? start();
  await Promise.all(slots.map((worker) => worker!.waitForOutput('started')));
}

async function kill(index: number): Promise<void> {
  const worker = slots[index]!;
  slots[index] = undefined;
  await worker.end('SIGKILL');
  killed.push(worker);
}

/** What time does to the leases of the dead. More than once: the server may still carry out their last statement. */
async function expireLeasesOfTheDead(): Promise<void> {
  for (const { child } of killed) {
    const owner = `worker-${child.pid}-%`;
    await world.sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE lease_owner LIKE ${owner}`;
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE lease_owner LIKE ${owner}`;
    await world.sql`UPDATE workers SET heartbeat_at = now() - interval '1 day' WHERE id LIKE ${owner}`;
  }
}

/** Numbers of the segments of a job that were begun, as often as they were. */
const begun = (id: string, workers: (WorkerProcess | undefined)[]) =>
  workers.flatMap((worker) => worker?.printed() ?? []).filter((line) => line.startsWith(`begun ${id} `)).map((line) => Number(line.split(' ')[2]));

async function stored(): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of testStorage(dataDir).list('jobs/')) keys.push(key);
  return keys;
}

interface Loss {
  kills: number;
  /** segments that were done before the first kill */
  done: number[];
}

/** Kills one worker, or both, at a random moment of the job's life; sometimes again soon after. */
async function killAtRandom(id: string, jobMs: number): Promise<Loss> {
  const doneNow = async () => (await world.sql<{ number: number }[]>`SELECT number FROM segments WHERE job_id = ${id} AND state = 'done'`).map(({ number }) => number);
  const loss: Loss = { kills: 0, done: [] };
  const blows = random() < 0.3 ? 2 : 1;
  for (let blow = 0; blow < blows; blow++) {
    await sleep(random() * jobMs);
    if (blow === 0) loss.done = await doneNow();
    const indices = random() < 0.3 ? [0, 1] : [random() < 0.5 ? 0 : 1];
    await Promise.all(indices.map(kill));
    loss.kills += indices.length;
    await expireLeasesOfTheDead();
    await fillSlots();
  }
  return loss;
}

it(`loses at most one segment for each of the workers killed in ${rounds} jobs, charges once, and leaves nothing behind`, async () => {
  let jobMs = 0;
  let stories = 0;
  await fillSlots();
  for (let round = 0; round <= rounds; round++) {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const beganAt = performance.now();
    // The first job is left alone: it tells how long one takes.
    const loss = round === 0 ? { kills: 0, done: [] } : await killAtRandom(job.id, 1.2 * jobMs);
    stories += loss.kills;
    const where = `KILLS_SEED=${seed}, round ${round}`;
    await eventually(async () => {
      await expireLeasesOfTheDead();
      return !['queued', 'running'].includes((await world.store.jobs.get(account.id, 'live', job.id))!.status);
    }, `the job ends (${where})`);
    jobMs ||= performance.now() - beganAt;

    expect((await world.store.jobs.get(account.id, 'live', job.id))!.status, where).toBe('done');
    const all = begun(job.id, [...slots, ...killed]);
    expect(new Set(all).size, where).toBe(segments.count);
    expect(all.length, where).toBeLessThanOrEqual(segments.count + loss.kills);
    for (const number of loss.done) expect(all.filter((each) => each === number), where).toHaveLength(1);
    expect((await world.store.accounts.get(account.id))!.credits, where).toBe(0);
    expect(await world.store.ledgerCheck(), where).toEqual([]);
    const kinds = (await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 50 })).map(({ kind }) => kind).toReversed();
    expect(kinds, where).toEqual(['job.created', 'job.started', 'job.completed']);
  }
  console.log(`${rounds} jobs, ${stories} workers killed`);
  // The original and the result of each job; no piece, and no half file.
  await eventually(async () => (await stored()).length === 2 * (rounds + 1), 'pieces are destroyed');
  expect((await stored()).filter((key) => key.includes('/segments/'))).toEqual([]);
  expect(await readdir(join(dataDir, 'storage/incoming'))).toEqual([]);
  await eventually(async () => (await readdir(join(dataDir, 'scratch'))).length <= 2, 'scratch folders of the dead are removed');
  await eventually(async () => (await world.sql`SELECT 1 FROM segments`).length === 0, 'rows of segments go with their pieces');
});

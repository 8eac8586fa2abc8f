import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { Account } from '../../src/store/types.ts';
import { spawnWorker, testStorage, type WorkerProcess, type WorkerProcessOptions } from '../helpers/worker-process.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let dataDir: string;
let account: Account;
let workers: WorkerProcess[] = [];
/** seconds: whoever waits for such a lease to expire fails the test */
const leaseBeyondHanging = (10 * hangMs) / 1000;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'reelmend-crash-'));
  account = await fundedAccount(world.store, 30);
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
  workers = [];
  await rm(dataDir, { recursive: true, force: true });
  expect(await world.store.ledgerCheck()).toEqual([]);
});

async function start(change: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess> {
  const worker = spawnWorker({ url: world.url, dataDir, leaseSeconds: 2, enhanceMs: 200, ...change });
  workers.push(worker);
  await worker.waitForOutput('started');
  return worker;
}
const create = async () => (await world.store.jobs.create(jobInput(account))).job;
const now = (job: JobRecord) => world.store.jobs.get(account.id, 'live', job.id);
const done = (job: JobRecord) => eventually(async () => (await now(job))?.status === 'done');
async function storedKeys(): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of testStorage(dataDir).list('jobs/')) keys.push(key);
  return keys;
}

/** One job was done once: one charge, one completion, and nothing lies about but its two objects. */
async function expectCleanEnd(job: JobRecord): Promise<void> {
  expect((await world.store.accounts.get(account.id))?.credits).toBe(0);
  const events = await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 50 });
  expect(events.map((event) => event.kind).reverse()).toEqual(['job.created', 'job.started', 'job.completed']);
  await eventually(async () => (await storedKeys()).length === 2);
  expect(await storedKeys()).toContain((await world.store.jobs.resultFiles(job.id))?.outputKey);
  const living = workers.filter((worker) => worker.child.exitCode === null && worker.child.signalCode === null).length;
  await eventually(async () => (await readdir(join(dataDir, 'scratch')).catch(() => [])).length <= living);
  const rows = () => world.sql`SELECT * FROM graphile_worker._private_jobs WHERE payload ->> 'jobId' = ${job.id}`;
  await eventually(async () => (await rows()).length === 0).catch(async (error: unknown) => {
    throw new Error(`Left in the queue: ${JSON.stringify(await rows())}`, { cause: error });
  });
}

describe('kill -9 of a worker', () => {
  /** from the death to the end of the job; the best of several: the machine may be busy with other tests */
  let soonestMs = Infinity;
  for (const stallAt of ['download', 'enhance', 'put'] as const) {
    it(`during ${stallAt}: another worker ends the job, charged once`, async () => {
      const victim = await start({ stallAt });
      const job = await create();
      await victim.waitForOutput('reached');
      expect(await victim.end('SIGKILL')).toBe('SIGKILL');
      const killedAt = performance.now();
      await start();
      await done(job);
      soonestMs = Math.min(soonestMs, performance.now() - killedAt);
      await expectCleanEnd(job);
    });
  }

  it('the other worker waits for little more than the lease of two seconds', () => {
    expect(soonestMs).toBeLessThan(15_000);
  });

  it('while another worker is there: that one takes the job up', async () => {
    const victim = await start({ stallAt: 'enhance' });
    const job = await create();
    await victim.waitForOutput('reached');
    await start();
    await victim.end('SIGKILL');
    await done(job);
    await expectCleanEnd(job);
  });

  // Five, as the service has it, in the long run.
  const maxCrashes = isLongRun ? defaultTuning.maxCrashes : 2;
  it(`again and again: after ${maxCrashes} crashes the job fails and is refunded`, async () => {
    expect(defaultTuning.maxCrashes).toBe(5);
    const job = await create();
    for (let crash = 1; crash <= maxCrashes; crash++) {
      const victim = await start({ stallAt: 'download', maxCrashes });
      await victim.waitForOutput('reached');
      await victim.end('SIGKILL');
      expect((await now(job))?.status).toBe('running');
    }
    await start({ maxCrashes });
    await eventually(async () => (await now(job))?.status === 'error');
    expect((await now(job))!.error?.code).toBe('processing_failed');
    expect((await world.store.accounts.get(account.id))?.credits).toBe(30);
  });
});

describe('SIGTERM', () => {
  it('gives the running job back at once: another takes it without waiting for the lease', async () => {
    const first = await start({ leaseSeconds: leaseBeyondHanging, enhanceMs: -1 });
    const job = await create();
    await first.waitForOutput('enhance');
    const second = await start({ leaseSeconds: leaseBeyondHanging });
    expect(await first.end('SIGTERM')).toBe(0);
    await second.waitForOutput('enhance');
    await done(job);
    expect(await readdir(join(dataDir, 'scratch'))).toHaveLength(1);
    await expectCleanEnd(job);
  });

  it('leaves no scratch folder and no lock behind', async () => {
    const only = await start({ leaseSeconds: leaseBeyondHanging, enhanceMs: -1 });
    const job = await create();
    await only.waitForOutput('enhance');
    expect(await only.end('SIGTERM')).toBe(0);
    expect(await readdir(join(dataDir, 'scratch'))).toEqual([]);
    const [row] = await world.sql`SELECT lease_owner, status FROM jobs WHERE id = ${job.id}`;
    expect(row).toEqual({ lease_owner: null, status: 'running' });
    const queue = await world.sql`SELECT locked_by FROM graphile_worker.jobs WHERE key = ${`step:${job.id}`}`;
    expect(queue).toEqual([{ locked_by: null }]);
    await world.store.jobs.delete(account.id, 'live', job.id);
  });
});

describe('a worker that sleeps through its lease', () => {
  it('changes nothing when it wakes up, and what it stored is destroyed', async () => {
    const sleeper = await start({ enhanceMs: 1500 });
    const job = await create();
    await sleeper.waitForOutput('enhance');
    sleeper.child.kill('SIGSTOP');
    await start({ enhanceMs: 200 });
    await done(job);
    const before = await now(job);
    sleeper.child.kill('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 4000));
    expect(await now(job)).toEqual(before);
    await expectCleanEnd(job);
  });
});

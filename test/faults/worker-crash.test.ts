import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { periodicTasks } from '../../src/jobs/periodic-tasks.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { WorkerDescription } from '../../src/jobs/worker-description.ts';
import type { Account } from '../../src/store/types.ts';
import { spawnWorker, testStorage, type WorkerProcess, type WorkerProcessOptions } from '../helpers/worker-process.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually } from '../helpers/wait.ts';
import { leaseBeyondHanging } from '../helpers/worker-fakes.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let dataDir: string;
let account: Account;
let workers: WorkerProcess[] = [];
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
  const worker = spawnWorker({ url: world.url, dataDir, leaseSeconds: leaseBeyondHanging, enhanceMs: 200, ...change });
  workers.push(worker);
  await worker.waitForOutput('started');
  return worker;
}
/** What time does to the traces of a worker that is dead or stopped. Returns how many jobs it had. */
async function expireTracesOf({ child }: WorkerProcess): Promise<number> {
  const owner = `worker-${child.pid}-%`;
  const expired = await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE lease_owner LIKE ${owner}`;
  await world.sql`UPDATE workers SET heartbeat_at = now() - interval '1 day' WHERE id LIKE ${owner}`;
  return expired.count;
}
const expireLeaseOf = async (victim: WorkerProcess) => expect(await expireTracesOf(victim)).toBe(1);
/** The database may execute a renewal that a stopped worker had sent just before. So the lease is expired again and again, until another worker has the job. */
const takenFrom = (stopped: WorkerProcess) => eventually(async () => (await expireTracesOf(stopped)) === 0);
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
  for (const stallAt of ['download', 'enhance', 'put'] as const) {
    it(`during ${stallAt}: another worker ends the job, charged once`, async () => {
      const victim = await start({ stallAt });
      const job = await create();
      await victim.waitForOutput('reached');
      expect(await victim.end('SIGKILL')).toBe('SIGKILL');
      await expireLeaseOf(victim);
      await start();
      await done(job);
      await expectCleanEnd(job);
    });
  }

  it.each([[2, 500], [20, 5000], [3600, 5000]])('with a lease of %i s, other workers look for expired ones every %i ms', (leaseSeconds, everyMs) => {
    const worker = { config: { leaseSeconds }, tuning: defaultTuning, fleet: { alive: 1 } } as WorkerContext;
    const tasks = periodicTasks(worker, [], new WorkerDescription(worker));
    expect(tasks.find(({ name }) => name === 'leases')!.everyMs()).toBe(everyMs);
  });

  it('while another worker is there: that one takes the job up when the lease has expired by itself', async () => {
    const victim = await start({ stallAt: 'enhance', leaseSeconds: 4 });
    const job = await create();
    await victim.waitForOutput('reached');
    await start({ leaseSeconds: 4 });
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
      await expireLeaseOf(victim);
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
    await start();
    await takenFrom(sleeper);
    await done(job);
    const before = await now(job);
    sleeper.child.kill('SIGCONT');
    await sleeper.waitForOutput('leaves the enhancement');
    // It ends when its step has ended.
    expect(await sleeper.end('SIGTERM')).toBe(0);
    expect(await now(job)).toEqual(before);
    await expectCleanEnd(job);
  });
});

describe('a machine that stands still with its only worker, longer than a lease', () => {
  it('goes on with the job, and counts no crash', async () => {
    const leaseSeconds = 2;
    const only = await start({ leaseSeconds, enhanceMs: 1500, maxCrashes: 1 });
    const job = await create();
    await only.waitForOutput('enhance');
    only.child.kill('SIGSTOP');
    await sleep(1000 * leaseSeconds + 500);
    only.child.kill('SIGCONT');
    await done(job);
    await expectCleanEnd(job);
  });
});

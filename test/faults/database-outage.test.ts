import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStore, type Store } from '../../src/store/index.ts';
import { createWorkshop, enhanceResult, hang, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let wire: Wire;
let store: Store;
let url: string;
beforeAll(async () => {
  world = await createWorld();
  shop = await createWorkshop(world);
  wire = new Wire(new URL(world.url));
  url = await wire.listen();
  store = createStore({ url });
});
afterAll(async () => {
  await shop.close();
  await store.close();
  wire.close();
  await world.close();
});

describe('a database that is away for longer than the lease', () => {
  it('stops the work, and the job is done once when it is back', async () => {
    const account = await fundedAccount(world.store, 60);
    const job = (await world.store.jobs.create(jobInput(account))).job;
    let aborted = false;
    let wasCut = false;
    let hangs = false;
    shop.media.onEnhance = async ({ signal }) => {
      if (wasCut) return enhanceResult;
      hangs = true;
      return hang(signal).finally(() => (aborted = wasCut));
    };
    const lease = { config: { leaseSeconds: 6 }, tuning: { heartbeatsPerLease: 6 } };
    const worker = shop.worker({ deps: { databaseUrl: url, store }, ...lease });
    await worker.start();
    await eventually(() => hangs);
    wire.cut();
    wasCut = true;
    expect(await store.ping()).toBe(false);
    await eventually(() => aborted);
    expect(await world.store.jobs.get(account.id, 'live', job.id)).toMatchObject({ status: 'running' });
    wire.mend();
    const isDone = (id: string) => async () => (await world.store.jobs.get(account.id, 'live', id))?.status === 'done';
    await eventually(isDone(job.id));
    expect(shop.media.enhancements.length).toBeGreaterThanOrEqual(2);
    expect(await world.sql`SELECT crashes FROM jobs WHERE id = ${job.id}`).toEqual([{ crashes: 0 }]);
    const second = (await world.store.jobs.create(jobInput(account))).job;
    await eventually(isDone(second.id));
    expect(await world.store.ledgerCheck()).toEqual([]);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(0);
    await worker.stop();
  });
});

describe('a worker that is stopped while the database is away', () => {
  it('returns its job to the queue when the database is back within the grace period', async () => {
    const account = await fundedAccount(world.store, 60);
    const job = (await world.store.jobs.create(jobInput(account))).job;
    shop.media.onEnhance = ({ signal }) => hang(signal);
    const worker = shop.worker({ deps: { databaseUrl: url, store }, config: { leaseSeconds: 600 }, tuning: { stopGraceMs: hangMs } });
    await worker.start();
    await eventually(() => shop.media.running === 1);
    wire.cut();
    expect(await store.ping()).toBe(false);
    const stopped = worker.stop();
    await eventually(() => shop.media.running === 0);
    await sleep(1000);
    wire.mend();
    await stopped;
    const [row] = await world.sql`SELECT crashes, lease_owner FROM jobs WHERE id = ${job.id}`;
    expect(row).toEqual({ crashes: 0, lease_owner: null });
    expect(shop.errors.filter((line) => line.includes('did not stop cleanly'))).toEqual([]);
  });
});

/** A database that is cut off for moments, again and again, from a worker that is busy with every kind of work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createStore, type Store } from '../../src/store/index.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorkshop, enhanceResult, type Workshop } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let wire: Wire;
let url: string;
let store: Store;
beforeAll(async () => {
  world = await createWorld();
  shop = await createWorkshop(world);
  wire = new Wire(new URL(world.url));
  url = await wire.listen();
  store = createStore({ url, cipher: testCipher });
});
afterAll(async () => {
  await shop.close();
  await store.close();
  wire.close();
  await world.close();
});

const cuts = isLongRun ? 300 : 20;
const modes = ['live', 'live', 'live', 'live', 'test', 'test', 'test', 'test'] as const;
const webhookUrl = 'https://receiver.example.com/hook';

it('does all of it, charges once, and stops in order', async () => {
  const account = await fundedAccount(world.store, modes.length * 30 * (cuts + 1));
  shop.media.onEnhance = () => sleep(100 * Math.random(), enhanceResult);
  shop.net.onPost = () => sleep(50 * Math.random(), {});
  const lease = { config: { workerConcurrency: 4, leaseSeconds: 10 }, tuning: { heartbeatsPerLease: 10, maxCrashes: 1, stopGraceMs: hangMs } };
  const worker = shop.worker({ deps: { databaseUrl: url, store }, ...lease });
  await worker.start();
  const createJobs = () => Promise.all(modes.map((mode) => world.store.jobs.create(jobInput(account, { mode, webhookUrl }))));
  for (let cut = 0; cut < cuts; cut++) {
    await createJobs();
    await sleep(250 * Math.random());
    wire.cut();
    await sleep(300 * Math.random());
    wire.mend();
  }
  await createJobs();
  await eventually(async () => (await world.sql`SELECT 1 FROM jobs WHERE status NOT IN ('done', 'error')`).length === 0, 'all jobs have ended');
  expect(await world.sql`SELECT status, count(*)::int AS jobs FROM jobs GROUP BY status`).toEqual([{ status: 'done', jobs: modes.length * (cuts + 1) }]);
  await eventually(async () => (await world.sql`SELECT 1 FROM webhook_deliveries WHERE state = 'pending'`).length === 0, 'all webhooks are delivered');
  expect(await world.store.ledgerCheck()).toEqual([]);
  await worker.stop();
  expect(shop.errors.filter((line) => line.includes('did not stop cleanly'))).toEqual([]);
});

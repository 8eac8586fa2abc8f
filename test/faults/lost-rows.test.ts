/** A row of the queue that the database has given to a worker and that never arrived there. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorkshop, enhanceResult, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let wire: Wire;
let url: string;
beforeAll(async () => {
  world = await createWorld();
  shop = await createWorkshop(world);
  wire = new Wire(new URL(world.url));
  url = await wire.listen();
});
afterAll(async () => {
  await shop.close();
  wire.close();
  await world.close();
});

/** Whoever gives a row of the queue away waits while another holds the advisory lock `barrier`. */
const barrier = 1;
const installBarrier = () => world.sql.unsafe(`
  CREATE FUNCTION wait_at_barrier() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${barrier}); RETURN NEW; END $$;
  CREATE TRIGGER barrier BEFORE UPDATE ON graphile_worker._private_jobs FOR EACH ROW
    WHEN (OLD.locked_at IS NULL AND NEW.locked_at IS NOT NULL AND NEW.key LIKE 'step:%') EXECUTE FUNCTION wait_at_barrier()`);
const waiting = () => world.sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${barrier} AND NOT granted`;

it('is run soon after the connection broke, by the same worker, and not as a second attempt', async () => {
  const account = await fundedAccount(world.store, 60);
  await installBarrier();
  // Only the queue's connection goes through the wire: leases and heartbeats go on.
  await shop.worker({ deps: { databaseUrl: url } }).start();
  let id = '';
  let attempts = 0;
  shop.media.onEnhance = async () => {
    attempts = (await row())!.attempts;
    return enhanceResult;
  };
  const row = async () => (await world.sql<{ locked: boolean; attempts: number }[]>`SELECT locked_at IS NOT NULL AS locked, attempts
    FROM graphile_worker.jobs WHERE key = ${`step:${id}`}`)[0];
  await world.sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${barrier})`;
    id = (await world.store.jobs.create(jobInput(account))).job.id;
    await eventually(async () => (await waiting()).length > 0, 'the worker fetches the row');
    wire.cut();
  });
  await eventually(async () => (await row())?.locked, 'the database has given the row away');
  expect(shop.media.enhancements).toEqual([]);
  wire.mend();
  await eventually(async () => (await world.store.jobs.get(account.id, 'live', id))?.status === 'done', 'the job is done');
  expect(shop.media.enhancements).toHaveLength(1);
  expect(attempts).toBe(1);
});

/** Rows of the queue whose completion does not reach the database. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorkshop, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let wire: Wire;
beforeAll(async () => {
  world = await createWorld();
  shop = await createWorkshop(world);
  wire = new Wire(new URL(world.url));
});
afterAll(async () => {
  await shop.close();
  wire.close();
  await world.close();
});

it('do not keep the worker from further rows of this kind when the database is back', async () => {
  const ends: (() => void)[] = [];
  let ran = 0;
  const extraTasks = {
    held: () => new Promise<void>((resolve) => ends.push(resolve)),
    later: async () => void ran++,
  };
  const queue = (task: keyof typeof extraTasks) => world.sql`SELECT graphile_worker.add_job(${task})`;
  // Only the queue's connection goes through the wire: leases and heartbeats go on.
  await shop.worker({ deps: { databaseUrl: await wire.listen(), extraTasks } }).start();
  for (let row = 0; row < 5; row++) await queue('held');
  await eventually(() => ends.length === 5, 'all rows are running');
  wire.cut();
  // Not at once, because Graphile completes rows together that end together.
  for (const end of ends) {
    end();
    await sleep(50);
  }
  await eventually(() => shop.errors.filter((line) => line.includes('Failed to complete jobs')).length >= 4, 'the completions fail');
  wire.mend();
  await queue('later');
  await eventually(() => ran === 1, 'the worker takes a row again');
  expect(ran).toBe(1);
});

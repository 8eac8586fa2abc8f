/** The queue of a worker whose database is away for a moment. Only the queue's connection goes through the wire: leases and heartbeats go on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWorkshop, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let wire: Wire;
let url: string;
beforeEach(async () => {
  world = await createWorld();
  shop = await createWorkshop(world, { scheduled: false });
  wire = new Wire(new URL(world.url));
  url = await wire.listen();
});
afterEach(async () => {
  await shop.close();
  wire.close();
  await world.close();
});

/** A worker with a task that runs until the test ends it, and one that is counted. */
function heldTasks() {
  const ends: (() => void)[] = [];
  let ran = 0;
  const extraTasks = {
    held: () => new Promise<void>((resolve) => ends.push(resolve)),
    later: async () => void ran++,
  };
  return {
    ends,
    queue: (task: keyof typeof extraTasks) => world.sql`SELECT graphile_worker.add_job(${task})`,
    start: () => shop.worker({ deps: { databaseUrl: url, extraTasks } }).start(),
    ranLater: () => ran,
  };
}

/** The worker's row ends while the database is away. */
async function endRunner({ ends, queue, start }: ReturnType<typeof heldTasks>): Promise<void> {
  await start();
  await queue('held');
  await eventually(() => ends.length === 1, 'the row is running');
  wire.cut();
  ends[0]!();
  await eventually(() => shop.errors.some((line) => line.includes('a queue runner ended')), 'the runner ends');
}

describe('a worker takes rows of each kind when the database is back', () => {
  it('after rows of this kind whose completion did not reach it', async () => {
    const { ends, queue, start, ranLater } = heldTasks();
    await start();
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
    await eventually(() => ranLater() === 1, 'the worker takes a row again');
    expect(ranLater()).toBe(1);
  });

  it('after a restart in which the ids of the tasks could not be read', async () => {
    const held = heldTasks();
    await endRunner(held);
    // Its next one asks for the ids, and is cut off before the answer.
    const waiting = () => world.sql`SELECT 1 FROM pg_locks WHERE relation = 'graphile_worker._private_tasks'::regclass AND NOT granted`;
    await world.sql.begin(async (tx) => {
      await tx`LOCK TABLE graphile_worker._private_tasks IN SHARE MODE`;
      wire.mend();
      await eventually(async () => (await waiting()).length > 0, 'the next runner asks for the ids');
      wire.cut();
    });
    await sleep(200);
    wire.mend();
    await held.queue('later');
    await eventually(() => held.ranLater() === 1, 'the worker takes a row again');
    expect(held.ranLater()).toBe(1);
  });
});

it('all that is printed when the connection breaks goes through the log, which is JSON', async () => {
  const printed = (['trace', 'error'] as const).map((method) => vi.spyOn(console, method).mockImplementation(() => {}));
  await endRunner(heldTasks());
  expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
  for (const method of printed) method.mockRestore();
});

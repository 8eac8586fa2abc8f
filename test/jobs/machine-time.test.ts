/** How the machine time of accounts is recorded, and how they share the slots by it. The clock and the workers are simulated. */
import type { JobHelpers } from 'graphile-worker';
import pino from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { accountsToSkip, FairShare, virtualTimeOf } from '../../src/jobs/fair-share.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { connect, type Db, type Tx } from '../../src/store/database.ts';
import { type AccountLoad, enhancementLoad, machineTimeQueries } from '../../src/store/machine-time.ts';
import { sql } from '../../src/store/orm.ts';
import type { Account } from '../../src/store/types.ts';
import { workerQueries } from '../../src/store/workers.ts';
import { fakeEngine } from '../helpers/segment-fakes.ts';
import type { Workshop } from '../helpers/worker-fakes.ts';
import type { World } from '../helpers/worker-world.ts';
import { fleetJobs, setUpFleet } from './fleet-suite.ts';

let world: World;
let shop: Workshop;
setUpFleet((fleet) => ({ world, shop } = fleet));
const { long, planned, rich } = fleetJobs(() => ({ world, shop }));

const tasks = [`segment_cpu:${fakeEngine}`];
const loadOf = async (account: Account) => (await world.store.workers.enhancementLoad(tasks)).find((load) => load.account === account.id)!;

/** an account whose segments wait in the queue */
async function busy(): Promise<Account> {
  const account = await rich();
  await planned(await long(account));
  return account;
}

describe('the machine time of an account', () => {
  let account: Account;
  beforeEach(async () => {
    account = await busy();
  });
  const charge = (virtualTime = 0) => world.store.machineTime.charge(account.id, virtualTime);
  const settle = (chargedS: number, usedS: number) => world.store.machineTime.settle(account.id, { chargedS, usedS });

  it('is unknown before the first row', async () => {
    expect(await loadOf(account)).toMatchObject({ virtualStart: 0, virtualFinish: 0 });
  });

  it('is estimated when a row begins, and measured when it ends', async () => {
    expect(await charge(100)).toBe(30);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 100, virtualFinish: 130 });
    await settle(30, 40);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 100, virtualFinish: 140 });
    expect(await charge()).toBe(40);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 140, virtualFinish: 180 });
    await settle(40, 80);
    // A quarter of the way from 40 to 80.
    expect(await charge()).toBe(50);
  });

  it('begins at that of the others after a pause', async () => {
    await charge(100);
    expect(await charge(5000)).toBe(30);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 5000, virtualFinish: 5030 });
  });

  it('counts for as much as it is when the estimate was too high', async () => {
    await charge(100);
    await settle(30, 1);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 100, virtualFinish: 101 });
    for (const _ of [1, 2]) await charge();
    await settle(1, 0);
    expect(await loadOf(account)).toMatchObject({ virtualStart: 102, virtualFinish: 102 });
  });

  it('includes what a running row takes beyond the estimate', async () => {
    await charge();
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_by = 'elsewhere', locked_at = now() - interval '1 hour' WHERE key LIKE '%:0'`;
    const { running, virtualFinish } = await loadOf(account);
    expect(running).toBe(1);
    expect(virtualFinish).toBeGreaterThanOrEqual(3600);
    expect(virtualFinish).toBeLessThan(3900);
  });

  it('is estimated from the other accounts before the first row has ended', async () => {
    await charge();
    await settle(30, 4);
    const other = await busy();
    expect(await world.store.machineTime.charge(other.id, 7)).toBe(4);
  });

  it('is forgotten after a time without a row, but not while one runs or waits', async () => {
    const recorded = async () => (await world.sql`SELECT virtual_finish_seconds AS at FROM account_machine_time WHERE account_id = ${account.id}`).map(({ at }) => at);
    await charge(100);
    await world.sql`UPDATE account_machine_time SET served_at = now() - interval '601 seconds'`;
    await world.store.machineTime.forget(600);
    expect(await recorded()).toEqual([130]);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key NOT LIKE '%:0'`;
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_by = 'elsewhere', locked_at = now() - interval '20 minutes'`;
    await world.store.machineTime.forget(600);
    expect(await recorded()).toEqual([130]);
    await world.sql`DELETE FROM graphile_worker._private_jobs`;
    await world.store.machineTime.forget(700);
    expect(await recorded()).toEqual([130]);
    await world.store.machineTime.forget(600);
    expect(await recorded()).toEqual([]);
  });
});

interface Row {
  account: Account;
  chargedS: number;
  usedS: number;
  endsAt: number;
}

/** Slots that work for accounts whose rows take so many seconds each. */
class Slots {
  readonly usedS = new Map<string, number>();
  readonly served: Account[] = [];
  readonly #running: Row[] = [];
  readonly #count: number;
  #now = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** Runs `rows` rows. `rowS`: seconds of each row by account; others have nothing to do. */
  async run(rows: number, rowS: ReadonlyMap<Account, number>): Promise<void> {
    for (let n = 0; n < rows; n++) {
      if (this.#running.length === this.#count) await this.#endNext();
      await this.#begin(rowS);
    }
  }

  async #endNext(): Promise<void> {
    this.#running.sort((a, b) => a.endsAt - b.endsAt);
    const { account, chargedS, usedS, endsAt } = this.#running.shift()!;
    this.#now = endsAt;
    this.usedS.set(account.id, (this.usedS.get(account.id) ?? 0) + usedS);
    await world.store.machineTime.settle(account.id, { chargedS, usedS });
  }

  async #begin(rowS: ReadonlyMap<Account, number>): Promise<void> {
    const ids = [...rowS.keys()].map(({ id }) => id);
    const loads = (await world.store.workers.enhancementLoad(tasks)).filter(({ account }) => ids.includes(account));
    const skipped = accountsToSkip(loads, 0);
    const [account, usedS] = [...rowS].find(([{ id }]) => !skipped.includes(id))!;
    const chargedS = await world.store.machineTime.charge(account.id, virtualTimeOf(loads));
    this.served.push(account);
    this.#running.push({ account, chargedS, usedS, endsAt: this.#now + usedS });
  }
}

describe('a queue with very many rows', () => {
  const accounts = ['acct_a', 'acct_b', 'acct_c'];
  const fill = (count: number, account: string, runAt: string) =>
    world.sql`SELECT graphile_worker.add_jobs(array_agg((${tasks[0]!}, json_build_object('n', n), NULL, ${runAt}::timestamptz, 3, ${`many:${account}:`} || n, 0, ARRAY[${account}])::graphile_worker.job_spec))
      FROM generate_series(1, ${count}::int) n`;
  beforeEach(async () => {
    for (const account of accounts) await fill(4000, account, '2020-01-01');
    await fill(10, 'acct_later', '2999-01-01');
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'pool', attempts = 1 WHERE key IN ('many:acct_a:1', 'many:acct_a:2', 'many:acct_later:1')`;
    await world.sql`ANALYZE graphile_worker._private_jobs`;
  });

  /** how many rows of the queue the work reads */
  async function rowsRead(work: (tx: Tx) => Promise<unknown>): Promise<number> {
    const { db, close } = connect({ url: world.url, max: 1 });
    const read = async (tx: Tx) =>
      (await tx.execute<{ rows: number }>(sql`SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int AS rows
        FROM pg_stat_xact_user_tables WHERE relname = '_private_jobs'`))[0]!.rows;
    try {
      return await db.transaction(async (tx) => {
        const before = await read(tx);
        await work(tx);
        return (await read(tx)) - before;
      });
    } finally {
      await close();
    }
  }

  it('is not read as a whole for the load of the accounts', async () => {
    let loads: AccountLoad[] = [];
    expect(await rowsRead(async (tx) => (loads = await enhancementLoad(tx, tasks)))).toBeLessThan(50);
    const shown = loads.map(({ account, running, waits }) => ({ account, running, waits })).toSorted((a, b) => a.account.localeCompare(b.account));
    expect(shown).toEqual([
      { account: 'acct_a', running: 2, waits: true },
      { account: 'acct_b', running: 0, waits: true },
      { account: 'acct_c', running: 0, waits: true },
      { account: 'acct_later', running: 1, waits: false },
    ]);
  });

  it('is not read as a whole for accounts whose machine time may be forgotten', async () => {
    const owners = await Promise.all([1, 2, 3].map(rich));
    await fill(1, owners[0]!.id, '2999-01-01');
    await fill(1, owners[1]!.id, '2020-01-01');
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'pool', attempts = 1 WHERE key = ${`many:${owners[1]!.id}:1`}`;
    for (const { id } of owners) await world.store.machineTime.charge(id, 0);
    await world.sql`UPDATE account_machine_time SET served_at = now() - interval '1 hour'`;
    expect(await rowsRead((tx) => machineTimeQueries(tx as unknown as Db).forget(600))).toBeLessThan(50);
    const kept = await world.sql<{ id: string }[]>`SELECT account_id AS id FROM account_machine_time`;
    expect(kept.map(({ id }) => id).toSorted()).toEqual([owners[0]!.id, owners[1]!.id].toSorted());
  });

  it('is not read as a whole for the locks of dead workers', async () => {
    expect(await rowsRead((tx) => workerQueries(tx as unknown as Db).reapDead(60))).toBeLessThan(50);
    expect(await rowsRead((tx) => workerQueries(tx as unknown as Db).unlockRows(['pool'], { except: [], lockedForS: 60 }))).toBeLessThan(50);
  });
});

describe('accounts with work', () => {
  it.each([1, 3, 8])('get equal machine time on %i slots, whatever the length of their segments', async (count) => {
    const [first, second] = [await busy(), await busy()];
    const slots = new Slots(count);
    const rowS = new Map([[first, 40], [second, 4]]);
    await slots.run(200, rowS);
    const [a, b] = [slots.usedS.get(first.id)!, slots.usedS.get(second.id)!];
    // No more apart than what runs at a time.
    expect(Math.abs(a - b)).toBeLessThanOrEqual(40 * count);
    expect(slots.served.filter((account) => account === second).length).toBeGreaterThan(150);
  });

  it('do not wait for one that is new, nor it for them', async () => {
    const [old, newcomer] = [await busy(), await busy()];
    const slots = new Slots(4);
    await slots.run(100, new Map([[old, 30]]));
    const before = slots.served.length;
    await slots.run(40, new Map([[old, 30], [newcomer, 30]]));
    const since = slots.served.slice(before);
    expect(since[0]).toBe(newcomer);
    expect(since.filter((account) => account === newcomer).length).toBeGreaterThanOrEqual(19);
    expect(since.filter((account) => account === newcomer).length).toBeLessThanOrEqual(22);
  });

  it('with a short job get the next slot beside one with jobs of an hour', async () => {
    const [long, short] = [await busy(), await busy()];
    const slots = new Slots(2);
    await slots.run(6, new Map([[short, 5]]));
    await slots.run(6, new Map([[long, 3600]]));
    await slots.run(3, new Map([[long, 3600], [short, 5]]));
    expect(slots.served.slice(-3)).toEqual([short, short, short]);
  });
});

describe('a row of the queue', () => {
  const helpers = { job: { flags: { acct_1: true } } } as unknown as JobHelpers;
  /** Runs one row of the account whose machine time is recorded like this. */
  async function runRow(machineTime: object, task: () => Promise<void>): Promise<void> {
    const worker = { store: { machineTime }, config: {}, logger: pino({ level: 'silent' }) } as unknown as WorkerContext;
    await new FairShare(worker).charge({ segment_cpu: task }).segment_cpu!({}, helpers);
  }

  it('is charged to its account when it begins, and settled when it ends, even if it fails', async () => {
    const machineTime = { charge: vi.fn(async () => 30), settle: vi.fn(async () => {}) };
    await expect(runRow(machineTime, () => Promise.reject(new Error('the row failed')))).rejects.toThrow('the row failed');
    expect(machineTime.charge.mock.calls).toEqual([['acct_1', 0]]);
    expect(machineTime.settle.mock.calls).toEqual([['acct_1', { chargedS: 30, usedS: expect.any(Number) as number }]]);
  });

  it.each(['charge', 'settle'])('runs although its machine time cannot be recorded: %s', async (failing) => {
    const machineTime = { charge: async () => 30, settle: async () => {}, [failing]: () => Promise.reject(new Error('the database is away')) };
    const task = vi.fn(async () => {});
    await runRow(machineTime, task);
    expect(task).toHaveBeenCalledTimes(1);
  });
});

it('a slot that loses the row that it chose again and again takes one of any account, except those at their limit', async () => {
  const load = { running: 1, waits: true, quota: null, virtualStart: 100 };
  const loads = [{ ...load, account: 'used more', virtualFinish: 140 }, { ...load, account: 'used less', virtualFinish: 130 }, { ...load, account: 'full', virtualFinish: 110, quota: 1 }];
  const worker = { store: { workers: { enhancementLoad: async () => loads } }, config: {} } as unknown as WorkerContext;
  const share = new FairShare(worker);
  for (const _ of [1, 2, 3]) {
    expect((await share.skipped(tasks)).toSorted()).toEqual(['full', 'used more']);
    expect(share.foundNothing()).toBe(true);
  }
  expect(await share.skipped(tasks)).toEqual(['full']);
  expect(share.foundNothing()).toBe(false);
});

/** Set-up of most tests of workers: one database per file, and for each test a workshop and an account with credits. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { eventually } from './wait.ts';
import { createWorkshop, type Workshop } from './worker-fakes.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from './worker-world.ts';

export interface Suite {
  world: World;
  shop: Workshop;
  account: Account;
}

interface SuiteOptions {
  credits: number;
  /** whether the scheduled tasks run; default true */
  scheduled?: boolean;
  /** receives the parts before each test */
  use: (suite: Suite) => void;
  /** after each test, once its workers have stopped */
  afterWork?: (suite: Suite) => Promise<void>;
}

export function setUpWorkers({ credits, scheduled, use, afterWork }: SuiteOptions): void {
  let world: World;
  let suite: Suite;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    const shop = await createWorkshop(world, scheduled === undefined ? {} : { scheduled });
    suite = { world, shop, account: await fundedAccount(world.store, credits) };
    use(suite);
  });
  afterEach(async () => {
    await suite.shop.close();
    await afterWork?.(suite);
  });
}

const scratchFilesOf = ({ shop }: Suite) => readdir(join(shop.dataDir, 'scratch')).catch(() => []);

/** For `afterWork`: checks that the ledger is correct and that the workers left no files. */
export async function leavesNothing(suite: Suite): Promise<void> {
  expect(await suite.world.store.ledgerCheck()).toEqual([]);
  expect(await scratchFilesOf(suite)).toEqual([]);
}

/** Actions on the jobs of the test's account. `suite` returns the parts of the current test. */
export function jobsOf(suite: () => Suite) {
  const now = (job: JobRecord) => suite().world.store.jobs.get(suite().account.id, job.mode, job.id);
  return {
    now,
    create: async (change: Partial<CreateJob> = {}) => (await suite().world.store.jobs.create(jobInput(suite().account, change))).job,
    ended: (job: JobRecord, status: 'done' | 'error') => eventually(async () => (await now(job))?.status === status),
    credits: async () => (await suite().world.store.accounts.get(suite().account.id))!.credits,
    /** kinds of the audit log's entries, oldest first */
    kinds: async (job: JobRecord) => {
      const entries = await auditEntries(suite().world.store, { accountId: suite().account.id, jobId: job.id, limit: 50 });
      return entries.map(({ kind }) => kind).reverse();
    },
    scratchFiles: () => scratchFilesOf(suite()),
  };
}

/** Set-up of the tests of accounts and jobs in the store: one database per file, whose books are right after each test. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { auditEntries, createWorld, type World } from './worker-world.ts';

/** `use` receives the database before the first test. */
export function setUpStore(use: (world: World) => void): void {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
    use(world);
  });
  afterAll(() => world.close());
  afterEach(async () => expect(await world.store.ledgerCheck()).toEqual([]));
}

export const idempotency = (key: string, fingerprint = 'a'.repeat(64)) => ({ key, fingerprint });

/** The rows of the queue for the job's next step. */
export const queueRows = ({ sql }: World, jobId: string) =>
  sql`SELECT task_identifier FROM graphile_worker.jobs WHERE key = ${`step:${jobId}`}`;

export const countJobs = async ({ sql }: World, accountId: string) =>
  Number((await sql`SELECT count(*) FROM jobs WHERE account_id = ${accountId}`)[0]!['count']);

/** Kinds of the entries of an account's audit log, oldest first. */
export const eventKinds = async ({ store }: World, accountId: string) =>
  (await auditEntries(store, { accountId, limit: 100 })).map((event) => event.kind).reverse();

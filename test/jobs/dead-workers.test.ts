/** What dead workers left is taken from them, each kind on its own. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { periodicTasks } from '../../src/jobs/periodic-tasks.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import type { WorkerDescription } from '../../src/jobs/worker-description.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => void (world = await createWorld()));
afterAll(() => world.close());

it('leases are taken from dead workers although a row of the queue cannot be', async () => {
  const { store, sql } = world;
  const account = await fundedAccount(store, 100);
  const { job } = await store.jobs.create(jobInput(account));
  await store.leases.acquire(job.id, 'ingest', 'dead', 20);
  await sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${job.id}`;
  await sql`SELECT graphile_worker.add_job('job_join', job_key := 'stuck')`;
  await sql`UPDATE graphile_worker._private_jobs SET locked_by = 'pool of the dead', locked_at = now() - interval '1 hour' WHERE key = 'stuck'`;
  await sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this row stays'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON graphile_worker._private_jobs FOR EACH ROW WHEN (OLD.key = 'stuck') EXECUTE FUNCTION refuse()`);
  const parts = { id: 'living', store, logger: pino({ level: 'silent' }), tuning: defaultTuning, metrics: createWorkerMetrics(), config: { leaseSeconds: 20 }, fleet: { alive: 1 } };
  const tasks = periodicTasks(parts as unknown as WorkerContext, [], {} as WorkerDescription);
  const failure: unknown = await tasks.find(({ name }) => name === 'leases')!.run().catch((error: unknown) => error);
  expect(await sql`SELECT lease_owner, crashes FROM jobs WHERE id = ${job.id}`).toEqual([{ lease_owner: null, crashes: 1 }]);
  expect(String(failure)).toMatch(/this row stays$/);
});

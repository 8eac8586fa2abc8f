/** worker_demand(), the query that tells an autoscaler how many workers to run. */
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import type { TaskName } from '../../src/store/queue.ts';
import type { Account } from '../../src/store/types.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { enhanceResult, type Workshop } from '../helpers/worker-fakes.ts';
import { setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import { fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 100,
  scheduled: false,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: async () => {
    await world.sql`DELETE FROM graphile_worker._private_jobs`;
  },
});

const create = async () => (await world.store.jobs.create(jobInput(account))).job;
type Asked = TaskName | 'job_enhance:cpu' | 'job_enhance:cuda';
const demand = async (tasks: Asked[], hosts = '', sql = world.sql) =>
  Number((await sql`SELECT worker_demand(${tasks}, ${hosts}) AS steps`)[0]!['steps']);

describe('the demand for workers', () => {
  it('is the number of waiting and running steps of the given kinds', async () => {
    expect(await demand(['job_enhance', 'job_ingest'])).toBe(0);
    for (let n = 0; n < 3; n++) await create();
    await world.store.jobs.create(jobInput(account, { mode: 'test' }));
    expect(await demand(['job_enhance'])).toBe(0);
    expect(await demand(['job_ingest'])).toBe(3);
    const finish = Promise.withResolvers<void>();
    shop.media.onEnhance = () => finish.promise.then(() => enhanceResult);
    await shop.worker({ config: { workerConcurrency: 1 } }).start();
    await eventually(async () => (await demand(['job_ingest'])) === 0);
    expect(await demand(['job_enhance'])).toBe(3);
    await eventually(() => shop.media.running === 1);
    expect(await demand(['job_enhance'])).toBe(3);
    finish.resolve();
    await eventually(async () => (await demand(['job_enhance', 'job_ingest'])) === 0);
  });

  it('is, for a device class, what its workers can run', async () => {
    const tasks: TaskName[] = ['job_enhance', 'job_join', 'enhance_cpu', 'segment_cpu', 'segment_cpu', 'enhance_cuda', 'segment_cuda', 'segment_cuda', 'segment_cuda', 'job_ingest'];
    for (const task of tasks) await world.sql`SELECT graphile_worker.add_job(${task}, '{}'::json)`;
    expect(await demand(['job_enhance'])).toBe(9);
    expect(await demand(['job_enhance:cpu'])).toBe(5);
    expect(await demand(['job_enhance:cuda'])).toBe(6);
    expect(await demand(['segment_cpu', 'job_ingest'])).toBe(3);
  });

  it('leaves out steps that are due later, and rows that are out of attempts', async () => {
    const [later, dead] = [await create(), await create()];
    await world.sql`UPDATE graphile_worker._private_jobs SET run_at = now() + interval '1 minute' WHERE key = ${`step:${later.id}`}`;
    await world.sql`UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE key = ${`step:${dead.id}`}`;
    expect(await demand(['job_ingest'])).toBe(0);
  });

  it('leaves out enhancements that wait because of the limit of their account', async () => {
    const other = await fundedAccount(world.store, 100);
    const add = (id: string, task: TaskName) => world.sql`SELECT graphile_worker.add_job(${task}, '{}'::json, flags := ${[id]})`;
    for (const task of ['segment_cpu', 'segment_cpu', 'segment_cuda', 'job_ingest', 'job_ingest'] satisfies TaskName[]) await add(account.id, task);
    for (const task of ['job_enhance', 'segment_cuda'] satisfies TaskName[]) await add(other.id, task);
    const limited = async (tasks: Asked[], perAccount: number) => Number((await world.sql`SELECT worker_demand(${tasks}, '', ${perAccount}) AS steps`)[0]!['steps']);
    const all: Asked[] = ['job_enhance', 'job_ingest'];
    expect([await limited(all, 0), await limited(all, 2), await limited(all, 1), await limited(['job_enhance:cuda'], 1)]).toEqual([7, 6, 4, 2]);
    // One runs somewhere: it counts as running, and takes the place of one that waits.
    await world.sql`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'elsewhere'
      WHERE id = (SELECT min(id) FROM graphile_worker.jobs WHERE task_identifier = 'segment_cpu')`;
    expect([await limited(['job_enhance'], 1), await limited(['job_enhance'], 2)]).toEqual([1, 3]);
    await world.sql`UPDATE accounts SET quotas = '{"parallel_enhancements": 3}' WHERE id = ${account.id}`;
    expect([await limited(['job_enhance'], 1), await limited(['job_enhance'], 0)]).toEqual([3, 4]);
  });

  it('leaves out what runs on other hosts', async () => {
    const finish = Promise.withResolvers<void>();
    shop.media.onEnhance = () => finish.promise.then(() => enhanceResult);
    const worker = shop.worker({ config: { workerConcurrency: 1 } });
    await worker.start();
    const jobs = [await create(), await create()];
    await eventually(async () => (await demand(['job_enhance'])) === 2 && shop.media.running === 1);
    const host = async (name: string) => world.sql`UPDATE workers SET host = ${name} WHERE id = ${worker.id}`;
    // The worker writes its own host at intervals.
    const demandOn = async (name: string, prefix: string) => (await host(name), demand(['job_enhance'], prefix));
    await eventually(async () => (await demandOn('gpu-abc-1', 'gpu-')) === 2);
    await eventually(async () => (await demandOn('cellar', 'gpu-')) === 1);
    finish.resolve();
    for (const job of jobs) await eventually(async () => (await world.store.jobs.get(account.id, 'live', job.id))?.status === 'done');
  });

  it('may be asked by a role that has no other right, and by no role without the right', async () => {
    const role = `scaler_${process.pid}`;
    await world.sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'scale'`);
    const url = new URL(world.url);
    url.username = role;
    url.password = 'scale';
    const scaler = postgres(url.href, { max: 1 });
    try {
      await create();
      await expect(demand(['job_ingest'], '', scaler)).rejects.toThrow('permission denied for function worker_demand');
      await world.sql.unsafe(`GRANT EXECUTE ON FUNCTION worker_demand TO ${role}`);
      expect(await demand(['job_ingest'], '', scaler)).toBe(1);
      for (const table of ['jobs', 'workers', 'graphile_worker.jobs']) {
        await expect(scaler.unsafe(`SELECT 1 FROM ${table}`)).rejects.toThrow('permission denied');
      }
    } finally {
      await scaler.end();
      await world.sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('is answered where the tables are in another schema', async () => {
    const database = await createTestDatabase({ migrated: false });
    const url = new URL(database.url);
    const admin = postgres(url.href, { max: 1 });
    url.searchParams.set('options', '-c search_path=films');
    const sql = postgres(url.href, { max: 1 });
    try {
      await admin`CREATE SCHEMA films`;
      await migrate({ url: url.href });
      await sql`SELECT graphile_worker.add_job('job_ingest', '{}'::json)`;
      expect(await demand(['job_ingest'], 'gpu-', sql)).toBe(1);
      const [found] = await sql`SELECT prosecdef, proconfig, has_function_privilege('public', oid, 'EXECUTE') AS "isPublic" FROM pg_proc WHERE proname = 'worker_demand'`;
      expect(found).toEqual({ prosecdef: true, proconfig: ['search_path=pg_catalog, pg_temp'], isPublic: false });
      // A later start leaves it as it is.
      expect(await migrate({ url: url.href })).toEqual([]);
    } finally {
      await Promise.all([sql.end(), admin.end()]);
      await database.drop();
    }
  });
});

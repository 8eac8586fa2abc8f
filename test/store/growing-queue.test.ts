/** Many rows come into a queue that was empty: until PostgreSQL has new statistics, it expects few. The searches for lost tasks look up each key all the same. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { certificateQueries } from '../../src/store/certificates.ts';
import { connect, type Batch, type Connection, type Db } from '../../src/store/database.ts';
import { deliveryQueries } from '../../src/store/deliveries.ts';
import { leaseQueries } from '../../src/store/leases.ts';
import { objectQueries } from '../../src/store/objects.ts';
import { requeueOrphans } from '../../src/store/segment-recovery.ts';
import { uploadQueries } from '../../src/store/uploads.ts';
import { rowsReadIn } from '../helpers/rows-read.ts';
import { createWorld, fundedAccount, type World } from '../helpers/worker-world.ts';

const count = 1000;

let world: World;
let connection: Connection;
beforeAll(async () => {
  world = await createWorld();
  connection = connect({ url: world.url, max: 1 });
  await world.sql`ANALYZE`;
  await addAll();
});
afterAll(async () => {
  await connection?.close();
  await world?.close();
});

/** Jobs, of which half are deleted and some are in segments, files of the deleted ones, deliveries and uploads, each with its task in the queue. */
async function addAll(): Promise<void> {
  const { id: accountId } = await fundedAccount(world.store, 0);
  const rows = world.sql`generate_series(1, ${2 * count}::int) i`;
  const id = (prefix: string) => world.sql`${prefix} || lpad(i::text, 26, '0')`;
  await world.sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, duration_seconds, credits_charged, step, expires_at)
    SELECT ${id('job_')}, ${accountId}, 'live', 'secure', '1080p', 'https://videos.example.com/', 60, 0, 'ingest', now() + interval '1 day' FROM ${rows}`;
  await world.sql`UPDATE jobs SET deleted_at = now() - interval '1 hour', deleted_by = 'customer', video_url = NULL WHERE id > 'job_' || lpad(${count}::text, 26, '0')`;
  await world.sql`UPDATE jobs SET step = 'segments', status = 'running', segment_plan = 'plan' WHERE id <= 'job_' || lpad(${count / 5}::text, 26, '0')`;
  await world.sql`INSERT INTO segments (job_id, number, device_class, queued, start_seconds, end_seconds, frames)
    SELECT id, number, 'cpu', number < 4, number, number + 1, 25 FROM jobs, generate_series(0, 29) number WHERE step = 'segments'`;
  await world.sql`SELECT count(graphile_worker.add_job('any', job_key := 'segment:' || job_id || ':' || number, job_key_mode := 'unsafe_dedupe')) FROM segments WHERE queued`;
  await world.sql`INSERT INTO objects (key, job_id, attempt, role) SELECT 'jobs/' || id, id, 1, 'original' FROM jobs WHERE deleted_at IS NOT NULL`;
  await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, url, next_at)
    SELECT ${id('evt_')}, ${accountId}, 'hook_1', 'job.completed', 'https://example.com/', now() - interval '1 hour' FROM ${rows} WHERE i <= ${count}::int`;
  await world.sql`INSERT INTO uploads (id, account_id, mode, key, size_bytes, part_size_bytes, expires_at, deleted_at, deleted_by)
    SELECT ${id('upl_')}, ${accountId}, 'live', 'uploads/' || i, 1, 1, now(), now() - interval '1 hour', 'customer' FROM ${rows} WHERE i <= ${count}::int`;
  for (const [table, kind] of [['jobs', 'step'], ['jobs', 'destroy'], ['webhook_deliveries', 'webhook'], ['uploads', 'destroy']] as const) {
    await world.sql`SELECT count(graphile_worker.add_job('any', job_key := ${`${kind}:`}::text || id, job_key_mode := 'unsafe_dedupe')) FROM ${world.sql(table)}`;
  }
}

it.each<[string, (db: Db) => Promise<Batch>]>([
  ['segments', (db) => requeueOrphans(db, 200)],
  ['jobs', (db) => leaseQueries(db).requeueOrphans(200)],
  ['files', (db) => objectQueries(db).requeuePendingDeletions(600, 200, { changedInS: 7200 })],
  ['certificates', (db) => certificateQueries(db).requeueDue(600, 200)],
  ['webhooks', (db) => deliveryQueries(db).requeueOverdue(600, 200)],
  ['uploads', (db) => uploadQueries(db, (_account, write) => write()).requeueOverdue(600, 200)],
])('the search for lost tasks of %s', async (_name, search) => {
  const read = await connection.db.transaction(async (tx) => {
    const rowsRead = async () => (await rowsReadIn(tx)) + (await rowsReadIn(tx, 'graphile_worker'));
    const before = await rowsRead();
    expect(await search(tx as unknown as Db)).toEqual({ found: 0, done: [], failures: [] });
    return (await rowsRead()) - before;
  });
  expect(read).toBeLessThan(10 * count);
});

/** Many videos may be enhanced in segments at a time. What looks at all of them reads each segment a few times, and not again for each job. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, type Connection, type Db } from '../../src/store/database.ts';
import { operationQueries } from '../../src/store/operations.ts';
import { replanUnserved } from '../../src/store/segment-recovery.ts';
import { rowsReadIn } from '../helpers/rows-read.ts';
import { createWorld, fundedAccount, type World } from '../helpers/worker-world.ts';

const jobs = 400;
const segmentsOfJob = 20;
/** rows of all tables */
const few = 10 * jobs * segmentsOfJob;

let world: World;
let connection: Connection;
beforeAll(async () => {
  world = await createWorld();
  connection = connect({ url: world.url, max: 1 });
  await addJobs();
});
afterAll(async () => {
  await connection?.close();
  await world?.close();
});

/** Of some of the jobs, all segments wait; some have to be joined, and some have none yet. */
async function addJobs(): Promise<void> {
  const { id: accountId } = await fundedAccount(world.store, 0);
  const id = world.sql`'job_' || lpad(i::text, 26, '0')`;
  await world.sql`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, video_url, duration_seconds, credits_charged, step, segment_plan, expires_at)
    SELECT ${id}, ${accountId}, 'live', 'standard', 'running', '1080p', 'https://videos.example.com/', 60, 0, (ARRAY['segments', 'join', 'enhance', 'enhance'])[1 + i % 4], CASE WHEN i % 4 < 2 THEN 'plan' END, now() + interval '1 day'
    FROM generate_series(1, ${jobs}::int) i`;
  await world.sql`INSERT INTO segments (job_id, number, device_class, engine, start_seconds, end_seconds, frames)
    SELECT ${id}, number, 'cpu', 'engine', number, number + 1, 25 FROM generate_series(1, ${jobs}::int) i, generate_series(1, ${segmentsOfJob}::int) number WHERE i % 4 < 2`;
  await world.sql`INSERT INTO workers (id, device_classes, engine) SELECT 'maker ' || i, '{cpu}', 'engine' FROM generate_series(1, 100) i`;
  await world.sql`ANALYZE`;
}

describe.each<[string, (db: Db) => Promise<unknown>]>([
  ['the search for jobs that wait for what no worker has', (db) => replanUnserved(db, { deviceClassS: 600, engineS: 120 }, 200)],
  ['the overview for operators and monitoring', (db) => operationQueries(db).overview()],
])('%s', (_name, look) => {
  it('reads each segment a few times', async () => {
    const rows = await connection.db.transaction(async (tx) => {
      const before = await rowsReadIn(tx);
      await look(tx as unknown as Db);
      return (await rowsReadIn(tx)) - before;
    });
    expect(rows).toBeLessThan(few);
  });
});

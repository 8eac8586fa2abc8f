/** Rows that always fail, as on a damaged page, or that somebody keeps locked: the others have their turn. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Batch } from '../../src/store/index.ts';
import { createWorld, fundedAccount, type World } from '../helpers/worker-world.ts';

let world: World;
let accountId: string;
beforeAll(async () => void (world = await createWorld()));
afterAll(() => world.close());
beforeEach(async () => {
  await world.sql.unsafe('TRUNCATE segments, workers, webhook_endpoints, webhook_deliveries, graphile_worker._private_jobs CASCADE');
  accountId = (await fundedAccount(world.store, 0)).id;
});

let next = 0;
const newIds = (prefix: string, count: number) => Array.from({ length: count }, () => `${prefix}_${String(next++).padStart(26, '0')}`);

/** Jobs that are worked on. */
async function addJobs(count: number, step: 'ingest' | 'segments'): Promise<string[]> {
  const ids = newIds('job', count);
  await world.sql`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, video_url, duration_seconds, credits_charged, step, segment_plan, expires_at)
    SELECT id, ${accountId}, 'live', 'secure', 'running', '1080p', 'https://videos.example.com/', 60, 0, ${step}, 'plan', now() + interval '1 day' FROM unnest(${ids}::text[]) id`;
  return ids;
}

async function addSegments(count: number): Promise<string[]> {
  const ids = await addJobs(count, 'segments');
  await world.sql`INSERT INTO segments (job_id, number, device_class, start_seconds, end_seconds, frames) SELECT id, 0, 'cpu', 0, 1, 25 FROM unnest(${ids}::text[]) id`;
  return ids;
}

/** While `work` runs, changes of these rows fail. */
async function failing<T>(table: string, which: string, work: () => Promise<T>): Promise<T> {
  await world.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this row stays'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW WHEN (${which}) EXECUTE FUNCTION refuse()`);
  return work().finally(() => world.sql`DROP FUNCTION refuse CASCADE`);
}

/** Whether `work` returns true at one of many calls. If it takes rows by chance, it does so at one of the first. */
async function isTrueSoon(work: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 30; i++) if (await work()) return true;
  return false;
}

describe('behind many expired leases that cannot be taken away', () => {
  const stuck = 120;

  it.each(['jobs', 'segments'] as const)('one of %s can', async (table) => {
    const ids = table === 'jobs' ? await addJobs(stuck + 1, 'ingest') : await addSegments(stuck + 1);
    const [id, state] = table === 'jobs' ? ['id', ''] : ['job_id', ", state = 'running'"];
    await world.sql.unsafe(`UPDATE ${table} SET lease_owner = 'gone', lease_expires_at = now() - interval '1 minute' ${state} WHERE ${id} = ANY ($1)`, [ids]);
    const last = ids.at(-1)!;
    await world.sql.unsafe(`UPDATE ${table} SET lease_expires_at = now() - interval '1 second' WHERE ${id} = $1`, [last]);
    const sweep = async () => (await (table === 'jobs' ? world.store.leases : world.store.segments).sweepExpired(5)).requeued.some((each) => each.startsWith(last));
    expect(await failing(table, `NEW.crashes > 0 AND NEW.${id} <> '${last}'`, () => isTrueSoon(sweep))).toBe(true);
    await world.sql.unsafe(`UPDATE ${table} SET lease_owner = NULL, lease_expires_at = NULL ${state && ", state = 'pending'"} WHERE ${id} = ANY ($1)`, [ids]);
  });
});

describe('a deleted webhook endpoint', () => {
  const endpoints = () => world.store.webhookEndpoints;
  async function addDeleted(count: number, event: 'job.completed' | 'job.failed'): Promise<string[]> {
    const ids = newIds('hook', count);
    await world.sql`INSERT INTO webhook_endpoints (id, account_id, mode, url, events, enabled, deleted_at)
      SELECT id, ${accountId}, 'live', 'https://example.com/', ARRAY[${event}], false, now() FROM unnest(${ids}::text[]) id`;
    await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, url, state, settled_at)
      SELECT replace(id, 'hook_', 'evt_'), ${accountId}, id, ${event}, 'https://example.com/', 'delivered', now() FROM unnest(${ids}::text[]) id`;
    return ids;
  }
  const isGone = async (id: string) => (await world.sql`SELECT 1 FROM webhook_endpoints WHERE id = ${id}`).length === 0;

  it('is forgotten although those before it cannot be', async () => {
    await addDeleted(12, 'job.failed');
    const [id] = await addDeleted(1, 'job.completed');
    const forget = async () => {
      await endpoints().forgetDeleted(10);
      return isGone(id!);
    };
    expect(await failing('webhook_deliveries', `NEW.event = 'job.failed'`, () => isTrueSoon(forget))).toBe(true);
  });

  it('is forgotten although somebody keeps another one locked', async () => {
    const [locked, other] = await addDeleted(2, 'job.completed');
    await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM webhook_endpoints WHERE id = ${locked!} FOR SHARE`;
      await tx`SET LOCAL idle_in_transaction_session_timeout = '2s'`;
      await endpoints().forgetDeleted(10);
    });
    expect([await isGone(locked!), await isGone(other!)]).toEqual([false, true]);
  });
});

it('a job that no worker can enhance is noticed although somebody keeps another one locked', async () => {
  const [locked, other] = await addSegments(2);
  await world.sql`INSERT INTO workers (id, device_classes) VALUES ('with a GPU', '{cuda}')`;
  await world.sql.begin(async (tx) => {
    await tx`SET LOCAL idle_in_transaction_session_timeout = '2s'`;
    await tx`SELECT 1 FROM jobs WHERE id = ${locked!} FOR UPDATE`;
    await world.store.segments.replanUnserved({ deviceClassS: 600, engineS: 600 }, 200);
  });
  const noticed = await world.sql`SELECT id FROM jobs WHERE unserved_since IS NOT NULL`;
  expect(noticed).toEqual([{ id: other }]);
  await world.store.segments.replanUnserved({ deviceClassS: 600, engineS: 600 }, 200);
  expect(await world.sql`SELECT id FROM jobs WHERE unserved_since IS NOT NULL`).toHaveLength(2);
});

describe('lost tasks', () => {
  const nets: Record<string, { add(): Promise<string[]>; keyOf(id: string): string; requeue(): Promise<Batch> }> = {
    'segments': {
      add: async () => (await addSegments(3)).map((id) => `${id}:0`),
      keyOf: (id) => `segment:${id}`,
      requeue: () => world.store.segments.requeueOrphans(200),
    },
    'certificates': {
      add: () => addDeletedJobs(),
      keyOf: (id) => `destroy:${id}`,
      requeue: () => world.store.certificates.requeueDue(0, 200),
    },
    'files of deleted jobs': {
      async add() {
        const ids = await addDeletedJobs();
        await world.sql`INSERT INTO objects (key, job_id, attempt, role, created_at) SELECT 'jobs/' || id, id, 1, 'original', now() - interval '1 hour' FROM unnest(${ids}::text[]) id`;
        return ids;
      },
      keyOf: (id) => `destroy:${id}`,
      requeue: () => world.store.objects.requeuePendingDeletions(0, 200),
    },
    'webhooks': {
      async add() {
        const ids = newIds('evt', 3);
        await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, url, next_at)
          SELECT id, ${accountId}, 'hook_1', 'job.completed', 'https://example.com/', now() - interval '1 hour' FROM unnest(${ids}::text[]) id`;
        return ids;
      },
      keyOf: (id) => `webhook:${id}`,
      requeue: () => world.store.deliveries.requeueOverdue(0, 200),
    },
    'uploads': {
      async add() {
        const ids = newIds('upl', 3);
        await world.sql`INSERT INTO uploads (id, account_id, mode, key, size_bytes, part_size_bytes, expires_at, deleted_at, deleted_by)
          SELECT id, ${accountId}, 'live', 'uploads/' || id, 1, 1, now(), now() - interval '1 hour', 'customer' FROM unnest(${ids}::text[]) id`;
        return ids;
      },
      keyOf: (id) => `destroy:${id}`,
      requeue: () => world.store.uploads.requeueOverdue(60, 200),
    },
  };

  async function addDeletedJobs(): Promise<string[]> {
    const ids = await addJobs(3, 'ingest');
    await world.sql`UPDATE jobs SET deleted_at = now() - interval '1 hour', deleted_by = 'customer', video_url = NULL WHERE id = ANY (${ids}::text[])`;
    return ids;
  }

  it.each(Object.entries(nets))('of %s are queued again although one of them cannot be', async (_name, { add, keyOf, requeue }) => {
    const ids = await add();
    for (const stuck of ids) {
      await world.sql`DELETE FROM graphile_worker._private_jobs`;
      const { done, failures } = await failing('graphile_worker._private_jobs', `NEW.key = '${keyOf(stuck)}'`, requeue);
      expect(failures).toHaveLength(1);
      expect(ids.filter((id) => done.includes(id))).toEqual(ids.filter((id) => id !== stuck));
      const queued = (await world.sql<{ key: string }[]>`SELECT key FROM graphile_worker.jobs`).map(({ key }) => key);
      expect(ids.filter((id) => queued.includes(keyOf(id)))).toEqual(ids.filter((id) => id !== stuck));
    }
  });
});

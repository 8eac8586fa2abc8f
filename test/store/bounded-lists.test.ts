/**
 * Lists, statistics and sweeps read what they show or change: their time does not grow with the jobs, files, uploads and requests
 * that an account has had in a year.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, smallestIdAt } from '../../src/domain/ids.ts';
import { certificateQueries } from '../../src/store/certificates.ts';
import { consoleJobQueries } from '../../src/store/console-jobs.ts';
import { connect, type Connection, type Db } from '../../src/store/database.ts';
import { deliveryQueries } from '../../src/store/deliveries.ts';
import type { JobFeed } from '../../src/store/job-feed.ts';
import { jobQueries } from '../../src/store/jobs.ts';
import { objectQueries } from '../../src/store/objects.ts';
import { requestLogQueries } from '../../src/store/request-log.ts';
import { statementQueries } from '../../src/store/statements.ts';
import { uploadQueries } from '../../src/store/uploads.ts';
import { webhookEndpointQueries } from '../../src/store/webhook-endpoints.ts';
import { webhookSecretQueries } from '../../src/store/webhook-secrets.ts';
import type { Account } from '../../src/store/types.ts';
import { rowsReadIn } from '../helpers/rows-read.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

const history = 20_000;
/** uploads and requests of other accounts */
const less = 5000;
/** rows of all tables that a query may read */
const few = 500;

let world: World;
let account: Account;
let connection: Connection;
beforeAll(async () => {
  world = await createWorld();
  connection = connect({ url: world.url, max: 1 });
  account = await fundedAccount(world.store, 1000);
  await addHistory(account.id);
});
afterAll(async () => {
  await connection?.close();
  await world?.close();
});

/**
 * Jobs over a year until an hour ago that still have their results. Two fifths are the account's. A few, of another account, failed.
 * And old uploads that jobs were created from.
 */
async function addHistory(accountId: string): Promise<void> {
  const owner = world.sql`CASE WHEN i % 5 < 2 THEN ${accountId} ELSE 'acct_' || lpad((i % 5)::text, 26, '0') END`;
  const number = (prefix: string) => world.sql`${prefix} || lpad(i::text, 26, '0')`;
  const jobs = world.sql`generate_series(1, ${history}::int) i, LATERAL (SELECT now() - (${history}::int - i + 2) * interval '26 minutes' AS at) times`;
  const old = world.sql`generate_series(1, ${less}::int) i, LATERAL (SELECT now() - interval '60 days' AS at) times`;
  await world.sql.begin(async (tx) => {
    // Without triggers: they would run for each row.
    await tx`SET LOCAL session_replication_role = replica`;
    await tx`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, duration_seconds, credits_charged, step, error_code, output, output_key,
        created_at, started_at, finished_at, expires_at, video_url, upload_id, metadata)
      SELECT ${number('job_')}, ${owner}, 'live', 'standard', CASE WHEN i % 35 = 4 THEN 'error' ELSE 'done' END, '1080p', 1, 3, 'enhance', CASE WHEN i % 35 = 4 THEN 'source_changed' END, '{}', 'jobs/' || i,
        at, at, at, now() + interval '1 year', CASE WHEN i > ${less}::int THEN 'https://example.com/' END, CASE WHEN i <= ${less}::int THEN ${number('upl_')} END,
        jsonb_build_object('order', repeat('7', 400)) FROM ${jobs}`;
    await tx`INSERT INTO job_names SELECT account_id, mode, id, 'film ' || right(id, 5) || '.mp4' FROM jobs`;
    await tx`INSERT INTO objects (key, job_id, attempt, role, state, size_bytes, sha256, stored_at, created_at)
      SELECT 'jobs/' || i, ${number('job_')}, 1, 'output', 'stored', 1, repeat('0', 64), at, at FROM ${jobs} WHERE i % 35 <> 4`;
    await tx`INSERT INTO uploads (id, account_id, mode, size_bytes, part_size_bytes, key, status, sha256, completed_at, expires_at, deleted_at, deleted_by, destroyed_at)
      SELECT ${number('upl_')}, ${accountId}, 'live', 1, 1, 'uploads/' || i, 'ready', repeat('0', 64), at, at, at, 'retention', at FROM ${old}`;
    await tx`INSERT INTO ledger_transfers (kind, account_id, job_id, credits, at) SELECT 'charge', ${owner}, ${number('job_')}, 3, at FROM ${jobs}`;
    await tx`INSERT INTO request_log (id, account_id, key_id, mode, request_id, at, method, path, status, duration_ms)
      SELECT ${number('log_')}, ${number('acct_')}, 'key', 'live', 'req', now() - interval '20 days', 'GET', '/', 200, 1 FROM generate_series(1, ${less}::int) i`;
  });
  // An index alone answers for pages whose rows are known to be visible to all. That takes a moment: the server of the tests commits asynchronously.
  await eventually(async () => {
    await world.sql`VACUUM ANALYZE`;
    const [table] = await world.sql`SELECT relallvisible = relpages AS done FROM pg_class WHERE oid = 'public.jobs'::regclass`;
    return table!['done'] as boolean;
  });
}

/** Number of rows of the service's tables that the work reads. Undoes its changes. */
async function rowsRead(work: (db: Db) => Promise<unknown>): Promise<number> {
  let rows = Number.NaN;
  const undone = connection.db.transaction(async (tx) => {
    const before = await rowsReadIn(tx);
    await work(tx as unknown as Db);
    rows = (await rowsReadIn(tx)) - before;
    tx.rollback();
  });
  await undone.catch((error: Error) => expect(error.message).toBe('Rollback'));
  return rows;
}

const inTurn = <T>(_: string, write: () => Promise<T>) => write();
const jobsOf = (db: Db) => jobQueries(db, connection.sql, {} as JobFeed, inTurn);
const failedJob = async (owner = account) => {
  const { job } = await world.store.jobs.create(jobInput(owner));
  await world.sql`UPDATE jobs SET status = 'error', error_code = 'processing_failed', credits_refunded = credits_charged, finished_at = now() WHERE id = ${job.id}`;
  return job.id;
};

describe('a list of jobs', () => {
  it.each(['error', 'running', 'queued'] as const)('of the status %s reads no jobs of other statuses', async (status) => {
    for (const found of [0, 1]) {
      const query = { accountId: account.id, mode: 'live', limit: 20, status } as const;
      if (found === 1 && status === 'error') await failedJob();
      if (found === 1 && status !== 'error') await world.sql`UPDATE jobs SET status = ${status} WHERE id = ${(await world.store.jobs.create(jobInput(account))).job.id}`;
      for (const list of [(db: Db) => jobsOf(db).list(query).then((page) => page.jobs), (db: Db) => consoleJobQueries(db, {} as JobFeed).list(query)]) {
        let length = -1;
        expect(await rowsRead(async (db) => void ({ length } = await list(db)))).toBeLessThan(few);
        expect(length).toBeGreaterThanOrEqual(found);
      }
    }
  });

  it('of a time reads no jobs of other times', async () => {
    const at = Date.now() - 100 * 86_400_000;
    const query = { accountId: account.id, mode: 'live', limit: 20 } as const;
    const job = { id: smallestIdAt('job', new Date(at + 60_000)), at: new Date(at + 60_000) };
    // The history has ids without times.
    await world.sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, duration_seconds, credits_charged, step, created_at, expires_at, video_url)
      VALUES (${job.id}, ${account.id}, 'live', 'standard', '1080p', 1, 3, 'enhance', ${job.at}, now() + interval '1 year', 'https://example.com/')`;
    for (const filter of [{ createdAfter: new Date(at), createdBefore: new Date(at + 120_000) }, { createdAfter: job.at, status: 'queued' as const }]) {
      let ids: string[] = [];
      const read = await rowsRead(async (db) => void (ids = (await jobsOf(db).list({ ...query, ...filter })).jobs.map(({ id }) => id)));
      expect(ids).toContain(job.id);
      expect(read).toBeLessThan(few);
    }
  });

  it('with a pair in their metadata reads no jobs without it', async () => {
    const { job } = await world.store.jobs.create({ ...jobInput(account), metadata: { order: 'A-1001', shop: 'north' } });
    // Many of the account have the other pair.
    await world.sql`INSERT INTO job_metadata SELECT account_id, mode, sha256('shop=north'), id FROM jobs WHERE account_id = ${account.id} AND status = 'done'`;
    await world.sql`ANALYZE job_metadata`;
    const list = (metadata: string, more = {}) => (db: Db) => jobsOf(db).list({ accountId: account.id, mode: 'live', limit: 20, metadata, ...more });
    for (const [query, length] of [[list('order=A-1001'), 1], [list('order=none'), 0], [list('shop=north'), 20], [list('shop=north', { startingAfter: `job_${String(9000).padStart(26, '0')}` }), 20]] as const) {
      let found: string[] = [];
      expect(await rowsRead(async (db) => void (found = (await query(db)).jobs.map(({ id }) => id)))).toBeLessThan(few);
      expect(found).toHaveLength(length);
      if (length === 1) expect(found).toEqual([job.id]);
    }
  });

  it.each([[{}], [{ status: 'done' }], [{ status: 'error' }], [{ status: 'queued' }]] as const)('with a pair in their metadata and of a time, or of the status %j, reads no others', async (more) => {
    const at = new Date(Date.now() - 50 * 86_400_000);
    const status = 'status' in more ? more.status : 'done';
    const id = smallestIdAt('job', at).slice(0, -1) + status.slice(0, 1);
    // The history, older by its ids, has the pair; and many jobs since, by theirs.
    const since = new Date(at.getTime() + 86_400_000);
    const later = smallestIdAt('job', since).slice(0, -9) + status.slice(0, 1);
    await world.sql.begin(async (tx) => {
      await tx`SET LOCAL session_replication_role = replica`;
      await tx`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, duration_seconds, credits_charged, step, output, output_key, error_code, created_at, finished_at, expires_at, video_url)
        SELECT ${later} || lpad(i::text, 8, '0'), ${account.id}, 'live', 'standard', 'done', '1080p', 1, 3, 'enhance', '{}', 'x', NULL, ${since}, ${since}, now() + interval '1 year', 'https://example.com/'
        FROM generate_series(1, 2000) i
        UNION ALL SELECT ${id}, ${account.id}, 'live', 'standard', ${status}, '1080p', 1, 3, 'enhance', CASE WHEN ${status} = 'done' THEN '{}'::jsonb END, CASE WHEN ${status} = 'done' THEN 'x' END,
          CASE WHEN ${status} = 'error' THEN 'source_changed' END, ${at}, CASE WHEN ${status} <> 'queued' THEN ${at}::timestamptz END, now() + interval '1 year', 'https://example.com/'`;
      await tx`INSERT INTO job_metadata SELECT account_id, mode, sha256('team=a'), id FROM jobs WHERE account_id = ${account.id} ON CONFLICT DO NOTHING`;
    });
    await world.sql`ANALYZE job_metadata`;
    const list = async (db: Db, query: object) =>
      (await jobsOf(db).list({ accountId: account.id, mode: 'live', limit: 20, metadata: 'team=a', ...more, ...query })).jobs.map((job) => job.id);
    const ofTime = { createdAfter: new Date(at.getTime() - 3_600_000), createdBefore: new Date(at.getTime() + 3_600_000) };
    for (let n = 0; n < 8; n++) {
      expect(await rowsRead(async (db) => expect(await list(db, ofTime)).toContain(id))).toBeLessThan(few);
      if (status !== 'done') expect(await rowsRead(async (db) => expect(await list(db, {})).toContain(id))).toBeLessThan(few);
    }
  });

  it('in the console is searched by a part of the id in the index, and reads only the jobs that it shows', async () => {
    const find = async (text: string, more = {}) => {
      let ids: string[] = [];
      const rows = await rowsRead(async (db) => {
        ids = (await consoleJobQueries(db, {} as JobFeed).list({ accountId: account.id, limit: 2, text, ...more })).map(({ id }) => id);
      });
      expect(rows).toBeLessThan(few);
      return ids;
    };
    const id = (i: number) => `job_${String(i).padStart(26, '0')}`;
    expect(await find('012345')).toEqual([id(12_345)]);
    expect(await find('012344')).toEqual([]);
    expect(await find('b_0')).toHaveLength(3);
    for (const none of ['b0_', '%', '0%1', '\\']) expect(await find(none), none).toEqual([]);
    const first = await find('00077');
    expect(first).toEqual([id(7796), id(7795), id(7791)]);
    expect(await find('00077', { startingAfter: first[1], mode: 'live' })).toEqual([id(7791), id(7790), id(7786)]);
    expect(await find('00077', { mode: 'test' })).toEqual([]);
    expect(await find('FILM 0077', { status: 'done' })).toEqual([id(776), id(775), id(771)]);
    expect(await find('film 12345.MP4', { mode: 'live' })).toEqual([id(12_345)]);
    expect(await find('film 12344')).toEqual([]);
    for (const status of ['error', 'queued', 'running']) expect(await find('film 0', { status }), status).toEqual([]);
    // An index alone reads rows of pages that were changed, too. So these are counted.
    await world.sql`UPDATE job_names SET name = name`;
    expect(await find('b_0')).toHaveLength(3);
    expect(await find('film', { status: 'done' })).toHaveLength(3);
  });
});

it('deliveries are listed with their attempts, also more than a statement has parameters', async () => {
  const [owner, number] = [await fundedAccount(world.store, 0), 66_000];
  const id = world.sql`'evt_' || lpad(i::text, 26, '0')`;
  await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, state, url, settled_at)
    SELECT ${id}, ${owner.id}, 'hook', 'job.completed', 'delivered', 'https://example.com/', now() FROM generate_series(1, ${number}::int) i`;
  await world.sql`INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, status)
    SELECT ${id}, n, now(), 1, 200 FROM generate_series(1, ${number}::int) i, generate_series(1, CASE WHEN i % 2 = 0 THEN 2 ELSE 0 END) n`;
  const listed = await world.store.deliveries.page({ accountId: owner.id, limit: number });
  expect(listed).toHaveLength(number);
  expect(listed.slice(0, 3).map(({ attempts }) => attempts.map((each) => each.number))).toEqual([[1, 2], [], [1, 2]]);
  expect(listed[0]!.attempts[0]).toEqual({ number: 1, at: expect.any(Date) as Date, durationMs: 1, status: 200, failure: null, responseBody: null });
});

it('the usage of a day reads the transfers and jobs of that day', async () => {
  let days: { jobs: number }[] = [];
  expect(await rowsRead(async (db) => void (days = await statementQueries(db).usagePerDay(account.id, 1)))).toBeLessThan(few);
  const [today] = await world.sql`SELECT count(*)::int AS jobs FROM ledger_transfers WHERE account_id = ${account.id} AND kind = 'charge' AND at >= date_trunc('day', now(), 'UTC')`;
  expect(days).toMatchObject([{ jobs: today!['jobs'] }]);
});

it('the search for jobs of closed accounts reads no jobs of open ones, and finds jobs and previews', async () => {
  const closed = await fundedAccount(world.store, 1000);
  const preview = { settings: [] } as unknown as NonNullable<Parameters<typeof jobInput>[1]>['preview'];
  const left = [(await world.store.jobs.create(jobInput(closed))).job.id, (await world.store.jobs.create(jobInput(closed, { preview: preview! }))).job.id];
  await world.store.accounts.close(closed.id);
  let deleted: string[] = [];
  expect(await rowsRead(async (db) => void (deleted = (await jobsOf(db).deleteOfClosed(200)).done))).toBeLessThan(few);
  expect(deleted.toSorted()).toEqual(left.toSorted());
});

describe('the search for files that should be gone', () => {
  const find = async (db: Db, query?: { changedInS: number }) => (await objectQueries(db).requeuePendingDeletions(0, 200, query)).done;
  const old = (i: number) => `job_${String(i).padStart(26, '0')}`;

  it('of jobs that changed lately reads no others', async () => {
    const [failed, leftover] = [await failedJob(), old(78)];
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'destroy:%'`;
    await world.sql`INSERT INTO objects (key, job_id, attempt, role) VALUES (${`jobs/${failed}`}, ${failed}, 1, 'original'), ('jobs/78-left', ${leftover}, 1, 'poster')`;
    let found: string[] = [];
    expect(await rowsRead(async (db) => void (found = await find(db, { changedInS: 3600 })))).toBeLessThan(few);
    expect(found.toSorted()).toEqual([failed, leftover].toSorted());
  });

  it('of all jobs may take longer than a connection may be silent', async () => {
    const short = connect({ url: world.url, max: 1, silenceTimeoutS: 0.5 });
    try {
      const locked = world.sql.begin(async (tx) => {
        await tx`LOCK TABLE objects`;
        const search = find(short.db);
        await tx`SELECT pg_sleep(1.2)`;
        return { search };
      });
      expect(await (await locked).search).toEqual(expect.any(Array));
    } finally {
      await short.close();
    }
  });

  it('of all jobs also finds what was lost long ago', async () => {
    await world.sql`DELETE FROM objects WHERE state = 'pending'`;
    await world.sql`UPDATE objects SET role = 'segment' WHERE job_id = ${old(100)}`;
    await world.sql`UPDATE jobs SET output_key = 'another' WHERE id = ${old(100)}`;
    expect(await find(connection.db, { changedInS: 3600 })).toEqual([]);
    expect(await find(connection.db)).toEqual([old(100)]);
  });
});

it('old uploads are looked at once: those with a job are kept', async () => {
  const prune = (db: Db, limit: number) => uploadQueries(db, inTurn).prune(30, limit);
  const unused = newId('upl');
  await world.sql`INSERT INTO uploads (id, account_id, mode, size_bytes, part_size_bytes, key, status, sha256, completed_at, expires_at, deleted_at, deleted_by, destroyed_at)
    SELECT ${unused}, account_id, mode, 1, 1, 'uploads/unused', status, sha256, completed_at, expires_at, deleted_at, deleted_by, destroyed_at FROM uploads LIMIT 1`;
  // Each looks up its job.
  expect(await rowsRead(async (db) => expect(await prune(db, 100)).toBe(100))).toBeLessThan(few);
  expect(await prune(connection.db, 3000)).toBe(3000);
  expect(await prune(connection.db, 3000)).toBe(less + 1 - 3000);
  expect(await rowsRead(async (db) => expect(await prune(db, 3000)).toBe(0))).toBeLessThan(few);
  expect(await world.sql`SELECT count(*)::int FROM uploads`).toEqual([{ count: less }]);
  expect(await world.sql`SELECT 1 FROM uploads WHERE id = ${unused}`).toHaveLength(0);
});

it('an upload whose file is to be destroyed looks up the jobs that need it', async () => {
  const needed = newId('upl');
  // Many other jobs wait.
  await world.sql.begin(async (tx) => {
    await tx`SET LOCAL session_replication_role = replica`;
    await tx`INSERT INTO jobs (id, account_id, mode, tier, resolution, duration_seconds, credits_charged, step, expires_at, video_url)
      SELECT 'job_1' || lpad(i::text, 25, '0'), ${account.id}, 'live', 'standard', '1080p', 1, 3, 'ingest', now() + interval '1 year', 'https://example.com/'
      FROM generate_series(1, 1000) i`;
  });
  await world.sql`ANALYZE jobs`;
  await world.sql`INSERT INTO uploads (id, account_id, mode, size_bytes, part_size_bytes, key, status, sha256, completed_at, expires_at, file_name)
    VALUES (${needed}, ${account.id}, 'live', 1, 1, 'uploads/needed', 'ready', ${'0'.repeat(64)}, now(), now(), 'film.mp4')`;
  await world.store.jobs.create(jobInput(account, { videoUrl: null, upload: { id: needed, fileName: 'film.mp4' } }));
  await world.store.uploads.delete(account.id, 'live', needed);
  const isNeeded = async (db: Db) => (await uploadQueries(db, inTurn).pendingDeletion(needed))?.isNeeded;
  expect(await rowsRead(async (db) => expect(await isNeeded(db)).toBe(true))).toBeLessThan(few);
});

it('the request log counts the entries of busy accounts only, every five minutes, and of all every hour', async () => {
  const owner = await fundedAccount(world.store, 0);
  const add = (ageHours: number, count: number) => world.sql`INSERT INTO request_log (id, account_id, key_id, mode, request_id, at, method, path, status, duration_ms)
    SELECT 'log_' || lpad((${history}::int - ${ageHours}::int * 100 + i)::text, 26, '0'), ${owner.id}, 'key', 'live', 'req', now() - make_interval(hours => ${ageHours}::int), 'GET', '/', 200, 1
    FROM generate_series(1, ${count}::int) i`;
  const prune = async (db: Db, onlyBusy: boolean) => {
    const requestLog = requestLogQueries(db);
    return requestLog.prune({ days: 30, full: await requestLog.full({ perAccount: 100, onlyBusy }), limit: 5000 });
  };
  await add(2, 105);
  expect(await prune(connection.db, true)).toBe(0);
  expect(await prune(connection.db, false)).toBe(5);
  await add(0, 10);
  expect(await rowsRead(async (db) => expect(await prune(db, true)).toBe(10))).toBeLessThan(few);
});

it.each(['pending', 'dead', 'stopped'] as const)('a list of deliveries in the state %s reads none in other states', async (state) => {
  const owner = await fundedAccount(world.store, 0);
  const prefix = `evt_${state.slice(0, 1)}`;
  await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, state, url, settled_at)
    SELECT ${prefix} || lpad(i::text, 25, '0'), ${owner.id}, 'hook', 'job.completed', 'delivered', 'https://example.com/', now() FROM generate_series(1, 2000) i`;
  await world.sql`ANALYZE webhook_deliveries`;
  for (const found of [0, 1]) {
    if (found === 1) {
      await world.sql`UPDATE webhook_deliveries SET state = ${state}, next_at = CASE WHEN ${state} = 'pending' THEN now() END,
        settled_at = CASE WHEN ${state} <> 'pending' THEN now() END WHERE id = ${prefix} || lpad('7', 25, '0')`;
    }
    const list = async (db: Db) => expect(await deliveryQueries(db).page({ accountId: owner.id, limit: 20, state })).toHaveLength(found);
    expect(await rowsRead(list)).toBeLessThan(few);
  }
});

it('an attempt of a delivery reads the secrets of its owner', async () => {
  const owner = await fundedAccount(world.store, 0);
  const { endpoint } = await world.store.webhookEndpoints.create({ accountId: owner.id, mode: 'live', url: 'https://example.com/', events: ['job.failed'], description: '' });
  await world.sql`INSERT INTO webhook_secrets (account_id, secret, expires_at) SELECT ${account.id}, '\\x00', now() FROM generate_series(1, 2000)`;
  await world.sql`ANALYZE webhook_secrets`;
  const secrets = (db: Db) => webhookSecretQueries(db, testCipher);
  expect(await rowsRead((db) => secrets(db).signing(owner.id))).toBeLessThan(few);
  expect(await rowsRead((db) => secrets(db).signingOfEndpoint({ accountId: owner.id, endpointId: endpoint.id }))).toBeLessThan(few);
  // Deletes them with it.
  expect(await rowsRead((db) => webhookEndpointQueries(db, testCipher).delete({ accountId: owner.id, id: endpoint.id }))).toBeLessThan(few);
});

describe('a list of an account with many rows reads no rows that others had before or since,', () => {
  const page = { limit: 20 };
  /** an account that had no rows before */
  const later = 'acct_00000000000000000000000009';
  const lists: [string, (db: Db, accountId: string) => Promise<unknown[]>][] = [
    ['of jobs', (db, accountId) => jobsOf(db).list({ accountId, mode: 'live', ...page }).then(({ jobs }) => jobs)],
    ['of finished jobs', (db, accountId) => jobsOf(db).list({ accountId, mode: 'live', status: 'done', ...page }).then(({ jobs }) => jobs)],
    ['of jobs in the console', (db, accountId) => consoleJobQueries(db, {} as JobFeed).list({ accountId, ...page })],
    ['of transfers', (db, accountId) => statementQueries(db).ledger({ accountId, ...page })],
    ['of deliveries', (db, accountId) => deliveryQueries(db).page({ accountId, ...page })],
    ['of certificates', (db, accountId) => statementQueries(db).certificates({ accountId, ...page })],
    ['of all certificates, the oldest first', async (db) => (await certificateQueries(db).pages(later, 20).next()).value as unknown[]],
    ['of requests', (db, accountId) => requestLogQueries(db).page({ accountId, ...page })],
  ];

  beforeAll(async () => {
    const [since, number] = [history / 2, (prefix: string) => world.sql`${prefix} || lpad(i::text, ${prefix.indexOf('_') + 27 - prefix.length}::int, '0')`];
    const [all, owner] = [world.sql`generate_series(1, ${history}::int) i`, world.sql`CASE WHEN i <= ${since}::int THEN ${account.id} ELSE ${later} END`];
    await world.sql.begin(async (tx) => {
      await tx`SET LOCAL session_replication_role = replica`;
      await tx`UPDATE jobs SET account_id = ${later} WHERE id > 'job_' || lpad(${since}::text, 26, '0')`;
      await tx`UPDATE ledger_transfers SET account_id = ${later} WHERE job_id > 'job_' || lpad(${since}::text, 26, '0')`;
      await tx`INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance) SELECT id, 'customer', account_id, -3, 0 FROM ledger_transfers WHERE job_id LIKE 'job\\_0%' ON CONFLICT DO NOTHING`;
      // Ids of previews sort after those of jobs.
      await tx`INSERT INTO jobs (id, account_id, mode, tier, resolution, duration_seconds, credits_charged, step, preview, expires_at, video_url)
        SELECT ${number('prv_')}, ${later}, 'live', 'standard', '1080p', 1, 3, 'ingest', '{}', now(), 'https://example.com/' FROM generate_series(1, 1000) i`;
      await tx`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, state, url, settled_at)
        SELECT ${number('evt_y')}, ${owner}, 'hook', 'job.completed', 'delivered', 'https://example.com/', now() FROM ${all}`;
      await tx`INSERT INTO certificates (id, job_id, account_id, jws, issued_at) SELECT ${number('cert_')}, ${number('job_')}, ${owner}, 'x', now() FROM ${all}`;
      await tx`INSERT INTO request_log (id, account_id, key_id, mode, request_id, at, method, path, status, duration_ms)
        SELECT ${number('log_y')}, ${owner}, 'key', 'live', 'req', now(), 'GET', '/', 200, 1 FROM ${all}`;
    });
    await world.sql`VACUUM ANALYZE`;
  });

  it.each(lists)('%s', async (_, list) => {
    // The planner sees the values of parameters at first, and later may take a plan for all values.
    for (let n = 0; n < 8; n++) {
      let length = 0;
      expect(await rowsRead(async (db) => void ({ length } = await list(db, account.id)))).toBeLessThan(few);
      expect(length).toBeGreaterThanOrEqual(20);
    }
  });
});

/** Scheduled tasks read what is new or open: their time does not grow with the history, which is kept for ever. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateQueries } from '../../src/store/certificates.ts';
import { connect, type Connection, type Db, type Tx } from '../../src/store/database.ts';
import { ledgerCheck } from '../../src/store/ledger.ts';
import { checkRecentLedger, type LedgerCheckpoint, nextLedgerCheckpoint } from '../../src/store/recent-ledger.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Account } from '../../src/store/types.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { rowsReadIn } from '../helpers/rows-read.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

const history = 20_000;
/** rows of all tables that a task may read */
const few = 500;

let world: World;
let account: Account;
let connection: Connection;
beforeAll(async () => {
  world = await createWorld();
  connection = connect({ url: world.url, max: 1 });
  account = await fundedAccount(world.store, 0);
  await addHistory(account.id);
});
afterAll(async () => {
  await connection?.close();
  await world?.close();
});

/** Certified jobs of the Secure tier that were deleted last year, each with its charge and an event. */
async function addHistory(accountId: string): Promise<void> {
  const { seq, hash } = (await world.sql<{ seq: number; hash: string }[]>`SELECT seq::int, hash FROM event_heads WHERE account_id = ${accountId}`)[0]!;
  const number = (prefix: string) => world.sql`${prefix} || lpad(i::text, 26, '0')`;
  await world.sql.begin(async (tx) => {
    // Without triggers: they would run for each row.
    await tx`SET LOCAL session_replication_role = replica`;
    const rows = world.sql`generate_series(1, ${history}::int) i`;
    await tx`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, duration_seconds, credits_charged, step, output,
        created_at, finished_at, expires_at, deleted_at, deleted_by)
      SELECT ${number('job_')}, ${accountId}, 'live', 'secure', 'done', '1080p', 1, 3, 'enhance', '{}', at, at, at, at, 'retention'
      FROM ${rows}, LATERAL (SELECT now() - interval '1 year' + i * interval '1 minute' AS at) times`;
    await tx`INSERT INTO certificates (id, job_id, account_id, jws, issued_at) SELECT ${number('cert_')}, ${number('job_')}, ${accountId}, 'x', now() FROM ${rows}`;
    await tx`INSERT INTO ledger_transfers (id, kind, account_id, job_id, credits, at) OVERRIDING SYSTEM VALUE
      SELECT i, CASE WHEN i = 1 THEN 'grant' ELSE 'charge' END, ${accountId}, CASE WHEN i > 1 THEN 'job_' || lpad((i - 1)::text, 26, '0') END,
        CASE WHEN i = 1 THEN 3 * ${history}::int ELSE 3 END, now() - interval '1 year' FROM generate_series(1, ${history}::int + 1) i`;
    await tx`INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance)
      SELECT i, 'customer', ${accountId}, CASE WHEN i = 1 THEN 3 * ${history}::int ELSE -3 END, 3 * (${history}::int + 1 - i) FROM generate_series(1, ${history}::int + 1) i
      UNION ALL SELECT i, CASE WHEN i = 1 THEN 'issued' ELSE 'revenue' END, NULL, CASE WHEN i = 1 THEN -3 * ${history}::int ELSE 3 END, NULL
      FROM generate_series(1, ${history}::int + 1) i`;
    await tx`INSERT INTO job_events (account_id, seq, id, kind, at, previous_hash, hash)
      SELECT ${accountId}, ${seq}::int + i, ${number('evt_')}, 'job.deleted', date_trunc('milliseconds', now() - interval '1 year'),
        CASE WHEN i = 1 THEN ${hash} ELSE lpad((i - 1)::text, 64, '0') END, lpad(i::text, 64, '0') FROM ${rows}`;
    await tx`UPDATE event_heads SET seq = ${seq}::int + ${history}::int, hash = lpad(${history}::text, 64, '0') WHERE account_id = ${accountId}`;
    await tx`SELECT setval(pg_get_serial_sequence('ledger_transfers', 'id'), ${history}::int + 1)`;
  });
  await world.sql`ANALYZE`;
}

/** Number of rows of the service's tables that the work reads, as PostgreSQL counts them for the session. */
function rowsRead(work: (tx: Tx) => Promise<unknown>): Promise<number> {
  return connection.db.transaction(async (tx) => {
    const before = await rowsReadIn(tx);
    await work(tx);
    return (await rowsReadIn(tx)) - before;
  });
}

const secureJob = async () => {
  await world.store.accounts.grant(account.id, 1000);
  const { job } = await world.store.jobs.create(jobInput(account, { tier: 'secure' }));
  return job.id;
};

it('the history is as consistent as the service would have made it', async () => {
  expect(await world.store.ledgerCheck()).toEqual([]);
});

describe('the search for jobs that wait for their certificate', () => {
  it('finds them among many that have it, and reads no others', async () => {
    const waiting = [await secureJob(), await secureJob()];
    for (const id of waiting) await world.store.jobs.delete(account.id, 'live', id);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'destroy:%'`;
    let found: string[] = [];
    const rows = await rowsRead(async (tx) => {
      found = (await certificateQueries(tx as unknown as Db).requeueDue(0, 200)).done;
    });
    expect(found.toSorted()).toEqual(waiting.toSorted());
    expect(rows).toBeLessThan(few);
    expect(await world.store.certificates.pending(account.id)).toBe(2);
    expect(await rowsRead((tx) => certificateQueries(tx as unknown as Db).pending(account.id))).toBeLessThan(few);
    expect(await rowsRead((tx) => certificateQueries(tx as unknown as Db).get(account.id, 'live', waiting[0]!))).toBeLessThan(few);
    expect(await rowsRead((tx) => certificateQueries(tx as unknown as Db).isDue(waiting[0]!))).toBeLessThan(few);
  });

  it('is told by the database which wait, whatever version of a process deletes or certifies, and finds none that has its certificate', async () => {
    const id = await secureJob();
    await world.store.jobs.delete(account.id, 'live', id);
    const [job] = await world.sql`SELECT certificate_due FROM jobs WHERE id = ${id}`;
    expect(job).toEqual({ certificate_due: true });
    await world.sql`INSERT INTO certificates (id, job_id, account_id, jws, issued_at)
      VALUES (${id.replace('job_', 'cert_')}, ${id}, ${account.id}, 'x', now())`;
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key = ${`destroy:${id}`}`;
    const [certified] = await world.sql`SELECT certificate_due FROM jobs WHERE id = ${id}`;
    expect(certified).toEqual({ certificate_due: false });
    expect((await world.store.certificates.requeueDue(0, 200)).done).not.toContain(id);
  });

  it('also finds those that were deleted before the upgrade', async () => {
    const [database, directory] = [await createTestDatabase({ migrated: false }), await mkdtemp(join(tmpdir(), 'reelmend-migrations-'))];
    const isEarlier = (path: string) => !/^\d{4}_/.test(basename(path)) || basename(path) < '0024';
    await cp(new URL('../../migrations', import.meta.url), directory, { recursive: true, filter: isEarlier });
    await rm(join(directory, 'functions'), { recursive: true });
    await migrate({ url: database.url, directory });
    const old = postgres(database.url, { max: 1, onnotice: () => {} });
    const id = (prefix: string, number: number) => `${prefix}_${String(number).padStart(26, '0')}`;
    await old`INSERT INTO accounts (id, name) VALUES (${id('acct', 1)}, 'Old')`;
    for (const [number, tier] of [[1, 'secure'], [2, 'secure'], [3, 'standard']] as const) {
      await old`INSERT INTO jobs (id, account_id, mode, tier, status, resolution, duration_seconds, credits_charged, step, expires_at, deleted_at, deleted_by)
        VALUES (${id('job', number)}, ${id('acct', 1)}, 'test', ${tier}, 'queued', '1080p', 1, 0, 'test_mode', now(), now(), 'customer')`;
    }
    await old`INSERT INTO certificates (id, job_id, account_id, jws, issued_at) VALUES (${id('cert', 2)}, ${id('job', 2)}, ${id('acct', 1)}, 'x', now())`;
    await migrate({ url: database.url });
    expect(await old`SELECT id FROM jobs WHERE certificate_due`).toEqual([{ id: id('job', 1) }]);
    await old.end();
    await database.drop();
    await rm(directory, { recursive: true });
  });
});

/** Changes that the triggers refuse, or that a defect of the service could make. `$account`, `$job` and `$transfer` are recent ones. */
const damages: Record<string, string> = {
  'every transfer has two entries that cancel out': "DELETE FROM ledger_entries WHERE transfer_id = $transfer AND book <> 'customer'",
  'a balance is the sum of its entries': 'UPDATE accounts SET credits = credits + 5 WHERE id = $account',
  'each entry continues the balance before it': "UPDATE ledger_entries SET balance = balance + 1 WHERE transfer_id = $transfer AND book = 'customer'",
  'a job is charged what it says': "UPDATE jobs SET credits_charged = credits_charged + 1 WHERE id = $job",
  'a job is refunded what it says': "UPDATE jobs SET credits_refunded = 1 WHERE id = $job",
  'an errored job costs nothing': "UPDATE jobs SET status = 'error', error_code = 'x', finished_at = now() WHERE id = $job",
  'a done job is paid': "UPDATE jobs SET status = 'done', output = '{}', finished_at = now(), credits_refunded = 1 WHERE id = $job",
  'a job cancelled in the queue costs nothing': "UPDATE jobs SET deleted_at = now(), deleted_by = 'customer', video_url = NULL, webhook_url = NULL, metadata = '{}' WHERE id = $job",
  "an account's events are numbered without gaps": 'UPDATE event_heads SET seq = seq + 1 WHERE account_id = $account',
  'each event is linked to the one before': "UPDATE job_events SET previous_hash = repeat('1', 64) WHERE account_id = $account AND kind = 'job.created'",
};

it('the certificates of an account are read in pages, oldest first, each once, and a page reads no others', async () => {
  const pages = certificateQueries(connection.db).pages(account.id, 7000);
  const read: string[][] = [];
  for await (const page of pages) read.push(page.map(({ jobId }) => jobId));
  expect(read.map(({ length }) => length).slice(0, 2)).toEqual([7000, 7000]);
  const all = await world.sql<{ job_id: string }[]>`SELECT job_id FROM certificates WHERE account_id = ${account.id} ORDER BY id`;
  expect(read.flat()).toEqual(all.map((row) => row.job_id));
  expect(await rowsRead((tx) => certificateQueries(tx as unknown as Db).pages(account.id, 100).next())).toBeLessThan(few);
});

describe('the check of the ledger', () => {
  let checkpoint: LedgerCheckpoint;
  beforeAll(async () => {
    checkpoint = await nextLedgerCheckpoint(connection.db);
  });

  it('reads what is new since its checkpoint, among many older jobs, transfers and events', async () => {
    expect(checkpoint.transferId).toBeGreaterThan(history);
    await secureJob();
    const rows = await rowsRead(async (tx) => expect(await checkRecentLedger(tx, checkpoint)).toEqual([]));
    expect(rows).toBeLessThan(few);
    expect(await rowsRead((tx) => ledgerCheck(tx as unknown as Db))).toBeGreaterThan(history);
    expect(await rowsRead((tx) => nextLedgerCheckpoint(tx as unknown as Db))).toBeLessThan(few);
  });

  it.each(Object.entries(damages))('finds what is new and broken: %s', async (rule, damage) => {
    const other = await fundedAccount(world.store, 100);
    const { job } = await world.store.jobs.create(jobInput(other));
    const [last] = await world.sql`SELECT max(id)::int AS id FROM ledger_transfers WHERE account_id = ${other.id}`;
    const statement = damage.replaceAll('$account', `'${other.id}'`).replaceAll('$job', `'${job.id}'`).replaceAll('$transfer', String(last!['id']));
    await connection.db
      .transaction(async (tx) => {
        await tx.execute(sql`SET LOCAL session_replication_role = replica`);
        await tx.execute(sql.raw(statement));
        expect((await checkRecentLedger(tx, checkpoint)).map((violation) => violation.rule)).toContain(rule);
        expect((await ledgerCheck(tx as unknown as Db)).map((violation) => violation.rule)).toContain(rule);
        tx.rollback();
      })
      .catch((error: Error) => expect(error.message).toBe('Rollback'));
    expect(await connection.db.transaction((tx) => checkRecentLedger(tx, checkpoint))).toEqual([]);
  });

  it('reads everything at first, once a day, and after a violation until none is left', async () => {
    const due = async () => {
      await world.sql`UPDATE ledger_checks SET started_at = now() - interval '10 minutes'`;
      const { full, violations } = (await world.store.ledgerChecks.runDue(540))!;
      return [full, violations];
    };
    expect(await due()).toEqual([true, 0]);
    expect(await due()).toEqual([false, 0]);
    const other = await fundedAccount(world.store, 0);
    await world.sql`UPDATE accounts SET credits = 5 WHERE id = ${other.id}`;
    expect(await due()).toEqual([false, 1]);
    expect(await due()).toEqual([true, 1]);
    await world.sql`UPDATE accounts SET credits = 0 WHERE id = ${other.id}`;
    expect(await due()).toEqual([true, 0]);
    expect(await due()).toEqual([false, 0]);
    await world.sql`UPDATE ledger_checks SET full_at = now() - interval '25 hours'`;
    expect(await due()).toEqual([true, 0]);
    // The clock was ahead at the last check, and was set back.
    for (const column of ['full_at', 'checked_until']) {
      await world.sql`UPDATE ledger_checks SET ${world.sql(column)} = now() + interval '30 days'`;
      expect(await due(), column).toEqual([true, 0]);
      expect(await due(), column).toEqual([false, 0]);
    }
    // A process of the version before records no checkpoint, and checks everything.
    await world.sql`UPDATE ledger_checks SET full_at = NULL`;
    expect(await due()).toEqual([true, 0]);
    expect(await world.store.ledgerChecks.runDue(540)).toBeNull();
  });
});

import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const ownMigrations = fileURLToPath(new URL('../../migrations', import.meta.url));

describe('migrations', () => {
  let database: TestDatabase;
  let directory: string;
  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    directory = await mkdtemp(join(tmpdir(), 'reelmend-migrations-'));
  });
  afterAll(async () => {
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  });

  it('are applied once when several processes start together', async () => {
    const applied = await Promise.all(Array.from({ length: 4 }, () => migrate({ url: database.url })));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(applied.flat()[0]).toBe('0001_schema.sql');
    expect(applied.flat()).toContain('functions/create_job.sql');
    const sql = postgres(database.url, { max: 1 });
    const [row] =
      await sql`SELECT to_regprocedure('graphile_worker.force_unlock_workers(text[])') IS NOT NULL AS there`;
    expect(row).toEqual({ there: true });
    await sql.end();
  });

  it('find the metadata and the names of jobs that were created before', async () => {
    const other = await createTestDatabase({ migrated: false });
    const earlier = await mkdtemp(join(directory, 'earlier-'));
    const isLater = (path: string) => /00(4[1-9]|[5-9]\d)_|job_metadata|job_names|revision\.json/.test(path);
    await cp(ownMigrations, earlier, { recursive: true, filter: (path) => !isLater(path) });
    await migrate({ url: other.url, directory: earlier });
    const sql = postgres(other.url, { max: 1 });
    const [account, open, ended, without] = [newId('acct'), newId('job'), newId('job'), newId('job')];
    await sql`INSERT INTO accounts (id, name) VALUES (${account}, 'A')`;
    for (const [id, metadata] of [[open, { a: 'ü', b: '' }], [ended, { a: 'ü' }], [without, {}]] as const) {
      await sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, duration_seconds, credits_charged, step, expires_at, metadata)
        VALUES (${id}, ${account}, 'live', 'standard', '1080p', 'https://example.com/', 1, 3, 'ingest', now(), ${sql.json(metadata)})`;
    }
    await sql`UPDATE jobs SET status = 'error', error_code = 'processing_failed', finished_at = now() WHERE id = ${ended}`;
    await migrate({ url: other.url });
    expect([...(await sql`SELECT job_id, name FROM job_names ORDER BY job_id`)]).toEqual([open, ended, without].toSorted().map((id) => ({ job_id: id, name: 'example.com' })));
    const pairs = await sql`SELECT job_id || ' ' || encode(pair, 'hex') AS pair FROM job_metadata`;
    const expected = [[ended, 'a=ü'], [open, 'a=ü'], [open, 'b=']].map(([id, pair]) => `${id} ${createHash('sha256').update(pair!).digest('hex')}`);
    expect(pairs.map(({ pair }) => pair as string).sort()).toEqual(expected.sort());
    await sql.end();
    await other.drop();
  });

  it('write the names of earlier jobs in the form of the search', async () => {
    const other = await createTestDatabase({ migrated: false });
    const earlier = await mkdtemp(join(directory, 'names-'));
    // Without functions/job_names.sql, the functions are those of 0043.
    await cp(ownMigrations, earlier, { recursive: true, filter: (path) => !/00(4[7-9]|[5-9]\d)_|functions\/job_names|revision\.json/.test(path) });
    await migrate({ url: other.url, directory: earlier });
    const sql = postgres(other.url, { max: 1 });
    const account = newId('acct');
    await sql`INSERT INTO accounts (id, name) VALUES (${account}, 'A')`;
    const add = (name: string) => sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, duration_seconds, credits_charged, step, expires_at)
      VALUES (${newId('job')}, ${account}, 'live', 'standard', '1080p', ${`https://example.com/${encodeURIComponent(name)}`}, 1, 3, 'ingest', now())`;
    const names = ['Café.mov', 'köln.mp4', '日本.mp4', 'plain.mp4'];
    for (const name of names) await add(name.normalize('NFD'));
    const stored = async () => (await sql<{ name: string }[]>`SELECT name FROM job_names ORDER BY job_id`).map(({ name }) => name);
    const expected = names.map((name) => name.toLowerCase());
    expect(await stored()).toEqual(expected.map((name) => name.normalize('NFD')));
    await migrate({ url: other.url });
    expect(await stored()).toEqual(expected);
    await sql.end();
    await other.drop();
  });

  it('find those of jobs that end, and none of jobs that are deleted, while the jobs that were created before are read', async () => {
    const other = await createTestDatabase({ migrated: false });
    const earlier = await mkdtemp(join(directory, 'triggers-'));
    await cp(ownMigrations, earlier, { recursive: true, filter: (path) => !/00(42|4[4-9]|[5-9]\d)_/.test(path) });
    await migrate({ url: other.url, directory: earlier });
    const pool = postgres(other.url, { max: 4 });
    const [sql, metadata, names, deletion] = (await Promise.all([0, 1, 2, 3].map(() => pool.reserve()))) as [postgres.ReservedSql, postgres.ReservedSql, postgres.ReservedSql, postgres.ReservedSql];
    const account = newId('acct');
    await sql`INSERT INTO accounts (id, name) VALUES (${account}, 'A')`;
    const [ended, ending, endingLater, deleted, deletedLater, deletedSlowly] = Array.from({ length: 6 }, () => newId('job')) as [string, string, string, string, string, string];
    for (const id of [ended, ending, endingLater, deleted, deletedLater, deletedSlowly]) {
      await sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, duration_seconds, credits_charged, step, expires_at, metadata)
        VALUES (${id}, ${account}, 'live', 'standard', '1080p', 'https://example.com/', 1, 3, 'ingest', now(), '{"a": "b"}')`;
    }
    const end = (id: string) => sql`UPDATE jobs SET status = 'error', error_code = 'processing_failed', finished_at = now() WHERE id = ${id}`;
    const remove = (on: postgres.Sql, id: string) => on`UPDATE jobs SET deleted_at = now(), deleted_by = 'customer', video_url = NULL, metadata = '{}' WHERE id = ${id}`;
    await end(ended);
    await sql`TRUNCATE job_metadata, job_names`;
    // A migration waits for a row that it would add, too, in the middle of its statement.
    for (const blocker of [metadata, names]) await blocker`BEGIN`;
    await metadata`INSERT INTO job_metadata VALUES (${account}, 'live', sha256('a=b'), ${ended})`;
    await names`INSERT INTO job_names VALUES (${account}, 'live', ${ended}, 'other')`;
    const waits = (blocker: postgres.Sql) =>
      expect.poll(async () => {
        const [{ pid }] = (await blocker`SELECT pg_backend_pid() AS pid`) as unknown as [{ pid: number }];
        return sql`SELECT 1 FROM pg_locks WHERE NOT granted AND ${pid}::int = ANY (pg_blocking_pids(pid))`;
      }, { interval: 10, timeout: 10_000 }).toHaveLength(1);
    const migrating = migrate({ url: other.url });
    await waits(metadata);
    await end(ending);
    await remove(sql, deleted);
    await deletion`BEGIN`;
    await remove(deletion, deletedSlowly);
    await metadata`ROLLBACK`;
    await waits(names);
    await end(endingLater);
    await remove(sql, deletedLater);
    await names`ROLLBACK`;
    await waits(deletion);
    await deletion`COMMIT`;
    await migrating;
    const left = [ended, ending, endingLater].toSorted().map((id) => ({ job_id: id }));
    expect([...(await sql`SELECT job_id FROM job_metadata ORDER BY job_id`)]).toEqual(left);
    expect([...(await sql`SELECT job_id FROM job_names ORDER BY job_id`)]).toEqual(left);
    for (const each of [sql, metadata, names, deletion]) each.release();
    await pool.end();
    await other.drop();
  });

  it('know how far the attempts at whole videos are that run during the upgrade', async () => {
    const other = await createTestDatabase({ migrated: false });
    const earlier = await mkdtemp(join(directory, 'earlier-'));
    const isLater = (path: string) => /00(39|[4-9]\d)_|job_metadata|job_names|jobs_move_forward|revision\.json/.test(path);
    await cp(ownMigrations, earlier, { recursive: true, filter: (path) => !isLater(path) });
    await migrate({ url: other.url, directory: earlier });
    const sql = postgres(other.url, { max: 1 });
    const [account, held, waiting] = [newId('acct'), newId('job'), newId('job')];
    await sql`INSERT INTO accounts (id, name) VALUES (${account}, 'A')`;
    for (const [id, owner] of [[held, 'old'], [waiting, null]] as const) {
      await sql`INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, duration_seconds, credits_charged, step, expires_at, status, attempt, progress, lease_owner, lease_expires_at)
        VALUES (${id}, ${account}, 'live', 'standard', '1080p', 'https://example.com/', 1, 3, 'enhance', now(), 'running', 1, 0.5, ${owner}, ${owner === null ? null : new Date()})`;
    }
    await migrate({ url: other.url });
    expect([...(await sql`SELECT id, attempt_progress FROM jobs ORDER BY id`)]).toEqual([held, waiting].toSorted().map((id) => ({ id, attempt_progress: id === held ? 0.5 : 0 })));
    await sql.end();
    await other.drop();
  });

  it('make the settings of sessions that the service relies on, whatever the database has', async () => {
    const other = await createTestDatabase({ migrated: false });
    const admin = postgres(other.url, { max: 1 });
    const name = admin(new URL(other.url).pathname.slice(1));
    for (const setting of ["default_transaction_isolation = 'serializable'", "datestyle = 'SQL, DMY'", "bytea_output = 'escape'", "timezone = 'Europe/Berlin'"]) {
      await admin`ALTER DATABASE ${name} SET ${admin.unsafe(setting)}`;
    }
    await admin.end();
    for (let start = 0; start < 2; start++) await migrate({ url: other.url });
    const sql = postgres(other.url, { max: 1 });
    const [row] = await sql`SELECT current_setting('transaction_isolation') AS isolation, '2026-11-29'::date::text AS date, decode('00', 'hex')::text AS bytes,
      extract(epoch FROM '2027-03-27 12:00Z'::timestamptz + make_interval(days => 1) - '2027-03-27 12:00Z')::int / 3600 AS hours_of_a_day`;
    expect(row).toEqual({ isolation: 'read committed', date: '2026-11-29', bytes: '\\x00', hours_of_a_day: 24 });
    await sql.end();
    await other.drop();
  });

  it('run and wait as long as they need, whatever timeouts the database has', async () => {
    const other = await createTestDatabase({ migrated: false });
    const folder = await mkdtemp(join(directory, 'slow-'));
    const sql = postgres(other.url, { max: 1 });
    const name = sql(new URL(other.url).pathname.slice(1));
    const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'];
    const known = await sql<{ name: string }[]>`SELECT name FROM pg_settings WHERE name = ANY (${timeouts})`;
    for (const timeout of known) await sql`ALTER DATABASE ${name} SET ${sql(timeout.name)} = '500ms'`;
    await writeFile(join(folder, '0001_slow.sql'), 'SELECT pg_sleep(1);');
    // The second waits for the first.
    const applied = await Promise.all([0, 1].map(() => migrate({ url: other.url, directory: folder })));
    expect(applied.flat()).toEqual(['0001_slow.sql']);
    await sql.end();
    await other.drop();
  });

  it('need an encoding for all characters in a new database', async () => {
    const sql = postgres(database.url, { max: 1 });
    const url = new URL(database.url);
    const name = `${url.pathname.slice(1)}_latin1`;
    await sql`CREATE DATABASE ${sql(name)} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`;
    url.pathname = `/${name}`;
    await expect(migrate({ url: url.href })).rejects.toThrow(/^The database has the encoding LATIN1; UTF8 is needed/);
    await sql`DROP DATABASE ${sql(name)}`;
    await sql.end();
  });

  it('that fail leave nothing behind', async () => {
    const other = await createTestDatabase({ migrated: false });
    await writeFile(join(directory, '0001_good.sql'), 'CREATE TABLE good (id int);');
    await writeFile(join(directory, '0002_bad.sql'), 'CREATE TABLE half (id int); SELECT nonsense;');
    await expect(migrate({ url: other.url, directory })).rejects.toThrow('nonsense');
    const sql = postgres(other.url, { max: 1 });
    const tables = await sql`SELECT to_regclass('good') IS NOT NULL AS good, to_regclass('half') IS NOT NULL AS half`;
    expect(tables[0]).toEqual({ good: true, half: false });
    await sql.end();
    await other.drop();
  });

  it('apply a function again when its file changed, after the migrations, and leave the others alone', async () => {
    const other = await createTestDatabase({ migrated: false });
    const folder = await mkdtemp(join(directory, 'versions-'));
    await mkdir(join(folder, 'functions'));
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    const answer = (column: string) =>
      `CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql AS $$ SELECT ${column} FROM numbers $$;`;
    await write('0001_numbers.sql', 'CREATE TABLE numbers AS SELECT 41 AS first;');
    await write('functions/answer.sql', answer('first'));
    await write('functions/other.sql', 'CREATE FUNCTION other() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;');
    const sql = postgres(other.url, { max: 1 });
    const ask = async () => (await sql`SELECT answer()`)[0];
    expect(await migrate({ url: other.url, directory: folder })).toEqual([
      '0001_numbers.sql',
      'functions/answer.sql',
      'functions/other.sql',
    ]);
    expect(await ask()).toEqual({ answer: 41 });
    // An older database: the new version of the function needs the column of the new migration.
    await write('0002_second.sql', 'ALTER TABLE numbers ADD COLUMN second int NOT NULL DEFAULT 42;');
    await write('functions/answer.sql', answer('second'));
    expect(await migrate({ url: other.url, directory: folder })).toEqual(['0002_second.sql', 'functions/answer.sql']);
    expect(await ask()).toEqual({ answer: 42 });
    expect(await migrate({ url: other.url, directory: folder })).toEqual([]);
    await write('functions/answer.sql', answer('third'));
    await expect(migrate({ url: other.url, directory: folder })).rejects.toThrow('third');
    expect(await ask()).toEqual({ answer: 42 });
    await sql.end();
    await other.drop();
  });

  it('of the real functions run over a database that has them and is in use', async () => {
    const used = await createTestDatabase();
    const sql = postgres(used.url, { max: 1 });
    await sql`INSERT INTO accounts (id, name) VALUES ('acct_00000000000000000000000000', 'Test')`;
    await sql`SELECT post_transfer('grant', 'acct_00000000000000000000000000', NULL, 5, '')`;
    await sql`UPDATE schema_functions SET sha256 = 'an older one'`;
    const applied = await migrate({ url: used.url });
    expect(applied.length).toBeGreaterThan(5);
    expect(applied.every((name) => name.startsWith('functions/'))).toBe(true);
    await expect(sql`DELETE FROM ledger_entries`).rejects.toMatchObject({ code: '23001' });
    await expect(sql`INSERT INTO ledger_transfers (kind, account_id, credits)
      VALUES ('grant', 'acct_00000000000000000000000000', 5)`).rejects.toThrow('does not balance');
    await sql.end();
    await used.drop();
  });

  it('wait for a locked table without holding up jobs, and give up with a sentence', async () => {
    const used = await createTestDatabase();
    const [reader, sql] = [0, 1].map(() => postgres(used.url, { max: 1 })) as [postgres.Sql, postgres.Sql];
    const read = async () => {
      await sql`UPDATE schema_functions SET sha256 = 'an older one'`;
      const [locked, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const reading = reader.begin(async (tx) => {
        await tx`LOCK TABLE ledger_transfers IN ACCESS SHARE MODE`;
        locked.resolve();
        await end.promise;
      });
      await locked.promise;
      return { end: () => (end.resolve(), reading) };
    };
    const first = await read();
    const migrating = migrate({ url: used.url });
    const isWaiting = () =>
      sql`SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE NOT granted AND datname = current_database() AND relation = 'ledger_transfers'::regclass`;
    await expect.poll(isWaiting, { interval: 10 }).toHaveLength(1);
    // A heartbeat and a charge: far within a lease of 20 s.
    await sql.begin(async (tx) => {
      await tx`SET LOCAL statement_timeout = '3s'`;
      await tx`UPDATE jobs SET progress = progress`;
      await tx`LOCK TABLE ledger_transfers IN ROW EXCLUSIVE MODE`;
    });
    await first.end();
    expect(await migrating).toContain('functions/ledger_transfer_balances.sql');
    const second = await read();
    await expect(migrate({ url: used.url, attempts: 1 })).rejects.toThrow('functions/ledger_transfer_balances.sql was not applied, because other');
    await second.end();
    await Promise.all([reader, sql].map((each) => each.end()));
    await used.drop();
  });

  it('refuse to replace the functions of a newer version, and apply those of the same revision', async () => {
    const other = await createTestDatabase({ migrated: false });
    const folder = await mkdtemp(join(directory, 'revisions-'));
    await mkdir(join(folder, 'functions'));
    const write = async (revision: number, answer: number) => {
      await writeFile(join(folder, 'functions/answer.sql'), `CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql AS $$ SELECT ${answer} $$;`);
      await writeFile(join(folder, 'functions/revision.json'), JSON.stringify({ revision }));
    };
    const sql = postgres(other.url, { max: 1 });
    const ask = async () => (await sql`SELECT answer()`)[0]!['answer'] as number;
    const run = () => migrate({ url: other.url, directory: folder });
    await write(1, 41);
    await run();
    await write(2, 42);
    expect(await run()).toEqual(['functions/answer.sql']);
    await write(1, 41);
    await expect(run()).rejects.toThrow('migrated by a newer version: its functions have revision 2, those here have 1');
    expect(await ask()).toBe(42);
    await write(2, 43);
    await run();
    expect(await ask()).toBe(43);
    await sql.end();
    await other.drop();
  });

  it('refuse a file that was changed after it was applied', async () => {
    const other = await createTestDatabase({ migrated: false });
    await rm(join(directory, '0002_bad.sql'), { force: true });
    await migrate({ url: other.url, directory });
    await writeFile(join(directory, '0001_good.sql'), 'CREATE TABLE good (id bigint);');
    await expect(migrate({ url: other.url, directory })).rejects.toThrow('0001_good.sql was changed');
    await other.drop();
  });
});

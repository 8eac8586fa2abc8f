/**
 * Updates a database under one lock: migrations/NNNN_*.sql once each and in order, then the new or changed files of
 * migrations/functions/, then the migrations of Graphile Worker, then migrations/queue/NNNN_*.sql, which change its tables, once each and
 * in order. The service may be in use meanwhile: each file has a transaction of
 * its own, which waits only briefly for the locks of tables, because all queries of a table wait behind it.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger as GraphileLogger, runMigrations } from 'graphile-worker';
import pg from 'pg';
import postgres from 'postgres';
import { pgOptions, postgresOptions } from './connection-url.ts';
import { sqlState } from './database.ts';
import { queueSchema } from './queue.ts';
import { applyRequiredSettings, applySessionSettings } from './session-settings.ts';

/** An arbitrary constant; every process that migrates this database uses the same lock. */
const lockId = 7_046_029_254;

export interface MigrateOptions {
  /** postgres:// URL of a role that may create tables and schemas */
  url: string;
  /** folder of numbered .sql files and of `functions/`; default: this project's `migrations` */
  directory?: string;
  /** how many times a file is tried whose tables others have locked; default 20, which is about a minute */
  attempts?: number;
  /** ends the wait for a server that does not answer and for other processes that migrate */
  signal?: AbortSignal | undefined;
  /** whether to fill a database that has none of these tables yet; default: true */
  mayCreate?: boolean | undefined;
}

/** The database was never migrated, and `mayCreate` is false: it may be that of another program. */
export class NoTables extends Error {
  constructor() {
    super('The database has no tables of Reelmend.');
  }
}

export interface SqlFile {
  /** path inside the folder, for example `0001_schema.sql` or `functions/create_job.sql` */
  name: string;
  sql: string;
  /** lower-case hex of the file's bytes */
  sha256: string;
}

/**
 * Returns the names of the files that were applied now. Processes that start together wait for one another: Graphile
 * Worker's first migration fails if two run it at once. Throws if a migration that was applied has been changed or is
 * missing, because migrations are append-only, and if a newer version has applied its functions. Without `mayCreate`, throws NoTables
 * instead of changing a database without its tables.
 */
export async function migrate({ url, directory = ownMigrations, attempts = 20, signal, mayCreate = true }: MigrateOptions): Promise<string[]> {
  const migrations = await readSqlFiles(directory, '', /^\d{4}_\w+\.sql$/);
  const functions = await readSqlFiles(directory, 'functions/', /^\w+\.sql$/);
  const queueMigrations = await readSqlFiles(directory, 'queue/', /^\d{4}_\w+\.sql$/);
  const revision = await readRevision(directory);
  return withLock(url, signal, async (sql) => {
    await assertServerVersion(sql);
    if (!mayCreate && (await isNew(sql))) throw new NoTables();
    await assertEncoding(sql);
    await applySessionSettings(sql);
    await applyRequiredSettings(sql);
    await createRecords(sql);
    const pending = await pendingMigrations(sql, [...migrations, ...queueMigrations]);
    const [ofQueue, own] = [pending.filter((file) => queueMigrations.includes(file)), pending.filter((file) => migrations.includes(file))];
    const changed = await changedFunctions(sql, functions, revision);
    for (const file of own) await applyFile(sql, file, attempts, recordMigration);
    for (const file of changed) await applyFile(sql, file, attempts, recordFunction);
    await sql`UPDATE schema_functions SET revision = ${revision} WHERE revision < ${revision}`;
    await migrateQueue(url);
    for (const file of ofQueue) await applyFile(sql, file, attempts, recordMigration);
    return [...own, ...changed, ...ofQueue].map(({ name }) => name);
  });
}

const ownMigrations = fileURLToPath(new URL('../../migrations', import.meta.url));

/**
 * Passes a connection to `work` while another connection holds the lock in a transaction. Behind a pooler in transaction
 * mode, a session lock would outlive this process. An aborted signal closes both, which undoes the file that is being applied.
 */
async function withLock<T>(url: string, signal: AbortSignal | undefined, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const target = postgresOptions(url);
  const [holder, sql] = [0, 1].map(() => postgres(target.url, { ...target.options, max: 1, prepare: false, onnotice: () => {} })) as [postgres.Sql, postgres.Sql];
  const close = (timeoutS: number) => Promise.all([holder, sql].map((each) => each.end({ timeout: timeoutS })));
  const leave = () => void close(0);
  signal?.addEventListener('abort', leave, { once: true });
  try {
    signal?.throwIfAborted();
    return (await holder.begin(async (tx) => {
      await removeTimeouts(tx);
      await tx`SELECT pg_advisory_xact_lock(${lockId})`;
      return work(sql);
    })) as T;
  } catch (error) {
    // The driver reports only that its connection was closed.
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', leave);
    await close(signal?.aborted === true ? 0 : 5);
  }
}

/** Removes limits that the role may have, for this transaction: a migration may take long, and so may the wait for another process's. */
async function removeTimeouts(tx: postgres.TransactionSql): Promise<void> {
  const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'];
  // Before version 17, PostgreSQL has no transaction_timeout.
  await tx`SELECT set_config(name, '0', true) FROM pg_settings WHERE name = ANY (${names})`;
}

/** The files of a folder whose names match, in the order of their names; none if the folder is missing. */
async function readSqlFiles(directory: string, subfolder: string, pattern: RegExp): Promise<SqlFile[]> {
  const names = await readdir(join(directory, subfolder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && subfolder !== '') return [];
    throw error;
  });
  return Promise.all(
    names.filter((name) => pattern.test(name)).sort().map(async (name) => {
      const sql = await readFile(join(directory, subfolder, name), 'utf8');
      return { name: `${subfolder}${name}`, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** The migrations of Graphile Worker. */
async function migrateQueue(url: string): Promise<void> {
  const pgPool = new pg.Pool({ ...pgOptions(url), max: 1 });
  // A lost connection fails the query that runs, or the next one. Without handlers it would end the process.
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => client.on('error', () => {}));
  try {
    await runMigrations({ pgPool, logger: silentLogger, schema: queueSchema });
  } finally {
    await pgPool.end();
  }
}

const silentLogger = new GraphileLogger(() => () => {});

/** docs/configuration.md names the same version. */
const oldestPostgres = 15;

async function assertServerVersion(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<{ major: number }[]>`SELECT current_setting('server_version_num')::int / 10000 AS major`;
  if (server!.major >= oldestPostgres) return;
  throw new Error(`The database is PostgreSQL ${server!.major}; ${oldestPostgres} or newer is needed.`);
}

/** An older database keeps its encoding; most texts may be ASCII. */
async function assertEncoding(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<{ encoding: string }[]>`SELECT current_setting('server_encoding') AS encoding`;
  if (server!.encoding === 'UTF8' || !(await isNew(sql))) return;
  throw new Error(`The database has the encoding ${server!.encoding}; UTF8 is needed: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`);
}

async function isNew(sql: postgres.Sql): Promise<boolean> {
  const [found] = await sql<{ isNew: boolean }[]>`SELECT to_regclass('schema_migrations') IS NULL AS "isNew"`;
  return found!.isNew;
}

async function createRecords(sql: postgres.Sql): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  await sql`CREATE TABLE IF NOT EXISTS schema_functions (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  await sql`ALTER TABLE schema_functions ADD COLUMN IF NOT EXISTS revision integer NOT NULL DEFAULT 0`;
}

async function pendingMigrations(sql: postgres.Sql, migrations: SqlFile[]): Promise<SqlFile[]> {
  const rows = await sql<{ name: string; sha256: string }[]>`SELECT name, sha256 FROM schema_migrations ORDER BY name`;
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) {
    const migration = known.get(row.name);
    if (!migration) throw new Error(`The database was migrated by another version: ${row.name} is unknown here`);
    if (migration.sha256 !== row.sha256) throw new Error(`Migration ${row.name} was changed after it was applied`);
  }
  const done = new Set(rows.map((row) => row.name));
  return migrations.filter((migration) => !done.has(migration.name));
}

/** Functions whose text has changed since they were applied. An older process must not bring back its own. */
async function changedFunctions(sql: postgres.Sql, functions: SqlFile[], revision: number): Promise<SqlFile[]> {
  const rows = await sql<{ name: string; sha256: string; revision: number }[]>`SELECT name, sha256, revision FROM schema_functions`;
  const newest = Math.max(0, ...rows.map((row) => row.revision));
  if (newest > revision) {
    throw new Error(`The database was migrated by a newer version: its functions have revision ${newest}, those here have ${revision}`);
  }
  const applied = new Map(rows.map((row) => [row.name, row.sha256]));
  return functions.filter(({ name, sha256 }) => applied.get(name) !== sha256);
}

/** The revision of the functions of a folder (migrations/functions/revision.json); 0 if it has none. */
async function readRevision(directory: string): Promise<number> {
  try {
    return (JSON.parse(await readFile(join(directory, 'functions/revision.json'), 'utf8')) as { revision: number }).revision;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

type RecordFile = (tx: postgres.TransactionSql, file: SqlFile) => Promise<unknown>;

const recordMigration: RecordFile = (tx, { name, sha256 }) => tx`INSERT INTO schema_migrations (name, sha256) VALUES (${name}, ${sha256})`;
const recordFunction: RecordFile = (tx, { name, sha256 }) =>
  tx`INSERT INTO schema_functions (name, sha256) VALUES (${name}, ${sha256})
    ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, applied_at = now()`;

/** lock_not_available, deadlock_detected */
const lockStates: ReadonlySet<string | undefined> = new Set(['55P03', '40P01']);
/** time for the queries that have waited behind the last attempt */
const pauseMs = 1000;

/** Applies a file in one transaction. Tries again if others have locked its tables: heartbeats and jobs go on in between. */
async function applyFile(sql: postgres.Sql, file: SqlFile, attempts: number, record: RecordFile): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.begin(async (tx) => {
        await removeTimeouts(tx);
        await tx`SET LOCAL lock_timeout = '2s'`;
        await tx.unsafe(file.sql);
        await record(tx, file);
      });
      return;
    } catch (error) {
      if (!lockStates.has(sqlState(error))) throw error;
      if (attempt >= attempts) throw lockedTables(file, attempts, error);
      await sleep(pauseMs);
    }
  }
}

function lockedTables({ name }: SqlFile, attempts: number, cause: unknown): Error {
  const message = `${name} was not applied, because other transactions hold locks on its tables (${attempts} attempts). `
    + 'End them, such as a backup or a long query (see pg_stat_activity), and start again.';
  return new Error(message, { cause });
}

/**
 * Updates a database under one lock: migrations/NNNN_*.sql once each and in order, then the new or changed files of
 * migrations/functions/, then the migrations of Graphile Worker.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Logger as GraphileLogger, runMigrations } from 'graphile-worker';
import postgres from 'postgres';
import { applySessionSettings } from './session-settings.ts';

/** An arbitrary constant; every process that migrates this database uses the same lock. */
const lockId = 7_046_029_254;

export interface MigrateOptions {
  /** postgres:// URL of a role that may create tables and schemas */
  url: string;
  /** folder of numbered .sql files and of `functions/`; default: this project's `migrations` */
  directory?: string;
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
 * missing, because migrations are append-only.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const directory = options.directory ?? fileURLToPath(new URL('../../migrations', import.meta.url));
  const migrations = await readSqlFiles(directory, '', /^\d{4}_\w+\.sql$/);
  const functions = await readSqlFiles(directory, 'functions/', /^\w+\.sql$/);
  return withLock(options.url, async (sql) => {
    await assertServerVersion(sql);
    await applySessionSettings(sql);
    const applied = [...(await applyMigrations(sql, migrations)), ...(await applyFunctions(sql, functions))];
    await runMigrations({ connectionString: options.url, maxPoolSize: 1, logger: silentLogger });
    return applied;
  });
}

/**
 * Passes a connection to `work` while another connection holds the lock in a transaction. Behind a pooler in transaction
 * mode, a session lock would outlive this process.
 */
async function withLock<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const [holder, sql] = [0, 1].map(() => postgres(url, { max: 1, prepare: false, onnotice: () => {} })) as [postgres.Sql, postgres.Sql];
  try {
    return (await holder.begin(async (tx) => {
      await tx`SET LOCAL idle_in_transaction_session_timeout = 0`;
      await tx`SELECT pg_advisory_xact_lock(${lockId})`;
      return work(sql);
    })) as T;
  } finally {
    await Promise.all([holder, sql].map((each) => each.end({ timeout: 5 })));
  }
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

const silentLogger = new GraphileLogger(() => () => {});

/** docs/operating.md names the same version. */
const oldestPostgres = 15;

async function assertServerVersion(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<{ major: number }[]>`SELECT current_setting('server_version_num')::int / 10000 AS major`;
  if (server!.major >= oldestPostgres) return;
  throw new Error(`The database is PostgreSQL ${server!.major}; ${oldestPostgres} or newer is needed.`);
}

async function applyMigrations(sql: postgres.Sql, migrations: SqlFile[]): Promise<string[]> {
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  const rows = await sql<{ name: string; sha256: string }[]>`SELECT name, sha256 FROM schema_migrations ORDER BY name`;
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) {
    const migration = known.get(row.name);
    if (!migration) throw new Error(`The database was migrated by another version: ${row.name} is unknown here`);
    if (migration.sha256 !== row.sha256) throw new Error(`Migration ${row.name} was changed after it was applied`);
  }
  const done = new Set(rows.map((row) => row.name));
  const pending = migrations.filter((migration) => !done.has(migration.name));
  for (const { name, sql: text, sha256 } of pending) {
    await sql.begin(async (tx) => {
      await tx.unsafe(text);
      await tx`INSERT INTO schema_migrations (name, sha256) VALUES (${name}, ${sha256})`;
    });
  }
  return pending.map((migration) => migration.name);
}

/** Applies functions whose text has changed since they were applied, all in one transaction. */
async function applyFunctions(sql: postgres.Sql, functions: SqlFile[]): Promise<string[]> {
  await sql`CREATE TABLE IF NOT EXISTS schema_functions (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  const rows = await sql<{ name: string; sha256: string }[]>`SELECT name, sha256 FROM schema_functions`;
  const applied = new Map(rows.map((row) => [row.name, row.sha256]));
  const changed = functions.filter(({ name, sha256 }) => applied.get(name) !== sha256);
  await sql.begin(async (tx) => {
    for (const { name, sql: text, sha256 } of changed) {
      await tx.unsafe(text);
      await tx`INSERT INTO schema_functions (name, sha256) VALUES (${name}, ${sha256})
        ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, applied_at = now()`;
    }
  });
  return changed.map(({ name }) => name);
}

/** Applies migrations/*.sql in order, then graphile-worker's own, all under one lock. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Logger as GraphileLogger, runMigrations } from 'graphile-worker';
import postgres from 'postgres';
import { linkAuditLog } from './link-audit-log.ts';

/** Any constant of ours; every process that migrates this database takes the same one. */
const lockId = 7_046_029_254;

export interface MigrateOptions {
  /** postgres:// URL of a role that may create tables and schemas */
  url: string;
  /** folder of numbered .sql files; ours unless told */
  directory?: string;
}

export interface Migration {
  /** file name, e.g. `0001_accounts.sql` */
  name: string;
  sql: string;
  /** lower-case hex of the file's bytes */
  sha256: string;
}

/** The migrations of a folder in the order of their names. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(directory, name), 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * Brings a database up to date and returns the names that were applied now. Processes that start together wait
 * for one another (Graphile's first migration races otherwise). Throws when an applied file was changed or is
 * gone, since migrations are append-only.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const migrations = await readMigrations(
    options.directory ?? fileURLToPath(new URL('../../migrations', import.meta.url)),
  );
  const sql = postgres(options.url, { max: 1, onnotice: () => {} });
  try {
    await sql`SELECT pg_advisory_lock(${lockId})`;
    const applied = await applyPending(sql, migrations);
    await runMigrations({ connectionString: options.url, maxPoolSize: 2, logger: silentLogger });
    return applied;
  } finally {
    // Ending the session frees the lock.
    await sql.end({ timeout: 5 });
  }
}

const silentLogger = new GraphileLogger(() => () => {});

/** Functions of the migrations need it; docs/operating.md names it. */
const oldestPostgres = 15;

async function applyPending(sql: postgres.Sql, migrations: Migration[]): Promise<string[]> {
  const [server] = await sql<{ major: number }[]>`SELECT current_setting('server_version_num')::int / 10000 AS major`;
  if (server!.major < oldestPostgres) {
    throw new Error(`The database is PostgreSQL ${server!.major}; ${oldestPostgres} or newer is needed.`);
  }
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  const rows = await sql<{ name: string; sha256: string }[]>`SELECT name, sha256 FROM schema_migrations ORDER BY name`;
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) {
    const migration = known.get(row.name);
    if (!migration) throw new Error(`The database was migrated by a newer version: ${row.name} is unknown here`);
    if (migration.sha256 !== row.sha256) throw new Error(`Migration ${row.name} was changed after it was applied`);
  }
  const done = new Set(rows.map((row) => row.name));
  const pending = migrations.filter((migration) => !done.has(migration.name));
  for (const { name, sql: text, sha256 } of pending) {
    await sql.begin(async (tx) => {
      await runMigration(tx, name, text);
      await tx`INSERT INTO schema_migrations (name, sha256) VALUES (${name}, ${sha256})`;
    });
  }
  return pending.map((migration) => migration.name);
}

/** What SQL alone cannot do. A line `-- @step NAME` of a migration runs one at its place, in the same transaction. */
const steps: Readonly<Record<string, (tx: postgres.TransactionSql) => Promise<void>>> = {
  link_audit_log: linkAuditLog,
};

async function runMigration(tx: postgres.TransactionSql, name: string, text: string): Promise<void> {
  // split() with a group gives text, step, text, step, …, text.
  for (const [index, part] of text.split(/^-- @step (\w+)$/m).entries()) {
    if (index % 2 === 0) {
      await tx.unsafe(part);
      continue;
    }
    const step = steps[part];
    if (!step) throw new Error(`Migration ${name} asks for the unknown step ${part}`);
    await step(tx);
  }
}

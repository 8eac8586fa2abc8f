/** One schema in three places: the migrations, their snapshot for readers, and what Drizzle believes. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { is, SQL } from 'drizzle-orm';
import { getTableConfig, PgArray, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as schema from '../../src/store/schema.ts';
import { type CatalogColumn, describeSchema, readColumns } from '../helpers/catalog.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const migrations = fileURLToPath(new URL('../../migrations/', import.meta.url));

let database: TestDatabase;
let sql: postgres.Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  sql = postgres(database.url, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

describe('the schema', () => {
  it('is the one in migrations/schema.sql; after a migration run this test with -u', async () => {
    const head = '-- The schema after all migrations, written by test/store/schema.test.ts. Read it; never apply it.\n\n';
    await expect(head + (await describeSchema(sql))).toMatchFileSnapshot(`${migrations}schema.sql`);
  });

  it('has a file in migrations/functions for each of its functions', async () => {
    const names = (await readdir(`${migrations}functions`)).filter((name) => name.endsWith('.sql'));
    const files = names.map((name) => readFile(`${migrations}functions/${name}`, 'utf8'));
    const defined = (await Promise.all(files)).flatMap((text) =>
      [...text.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)\(/gm)].map(([, name]) => name!),
    );
    const rows = await sql<{ name: string }[]>`SELECT proname AS name FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace`;
    expect(rows.map(({ name }) => name).sort()).toEqual(defined.sort());
  });
});

describe('the functions', () => {
  it('have a revision of their own; after a change run this test with -u, which raises it', async () => {
    const file = `${migrations}functions/revision.json`;
    const { revision, sha256 } = JSON.parse(await readFile(file, 'utf8')) as { revision: number; sha256: string };
    const hash = createHash('sha256');
    const names = (await readdir(`${migrations}functions`)).filter((name) => name.endsWith('.sql')).sort();
    for (const name of names) hash.update(`${name}\n`).update(await readFile(`${migrations}functions/${name}`));
    const now = hash.digest('hex');
    const expected = { revision: now === sha256 ? revision : revision + 1, sha256: now };
    await expect(`${JSON.stringify(expected)}\n`).toMatchFileSnapshot(file);
  });
});

const tables = Object.values<unknown>(schema).flatMap((value) => (is(value, PgTable) ? [getTableConfig(value)] : []));

/** Tables that plain SQL reads and writes (src/store/{machine-speeds,machine-time,rate-limits,ledger-checks}.ts). */
const withoutDrizzle = ['account_machine_time', 'ledger_checks', 'machine_speeds', 'rate_limits'];

describe("Drizzle's schema", () => {
  it('has every table', async () => {
    const inDatabase = [...new Set((await readColumns(sql)).map(({ table }) => table))];
    expect([...tables.map(({ name }) => name), ...withoutDrizzle].sort()).toEqual(inDatabase.sort());
  });

  it.each(tables.map((table) => [table.name, table] as const))('%s has the columns of the database', async (name, table) => {
    const inDatabase = (await readColumns(sql)).filter((column) => column.table === name);
    const believed = table.columns.map(describeColumn).sort((a, b) => (a.column < b.column ? -1 : 1));
    const real = inDatabase.map(describeReal).sort((a, b) => (a.column < b.column ? -1 : 1));
    expect(believed).toEqual(real);
  });

  it.each(tables.map((table) => [table.name, table] as const))('%s has the primary key of the database', async (name, table) => {
    const rows = await sql<{ column: string }[]>`SELECT a.attname AS column FROM pg_index i
      JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
      WHERE i.indrelid = ${name}::regclass AND i.indisprimary`;
    const composite = table.primaryKeys.flatMap(({ columns }) => columns.map((column) => column.name));
    const single = table.columns.filter(({ primary }) => primary).map((column) => column.name);
    expect([...composite, ...single].sort()).toEqual(rows.map(({ column }) => column).sort());
  });
});

interface Described {
  column: string;
  type: string;
  notNull: boolean;
  default: string | null;
  identity: boolean;
}

function describeColumn(column: PgColumn): Described {
  return {
    column: column.name,
    type: column.getSQLType(),
    notNull: column.notNull,
    default: column.hasDefault && column.generatedIdentity === undefined ? describeDefault(column) : null,
    identity: column.generatedIdentity !== undefined,
  };
}

/** A value as PostgreSQL prints it without its cast; an expression of SQL as its text. */
function describeDefault(column: PgColumn): string {
  const { default: value }: { default: unknown } = column;
  if (is(value, SQL)) return value.queryChunks.flatMap((chunk) => (chunk as { value?: string[] }).value ?? []).join('');
  if (typeof value === 'string') return `'${value}'`;
  if (is(column, PgArray)) return `'{${String(value)}}'`;
  return typeof value === 'object' ? `'${JSON.stringify(value)}'` : String(value);
}

function describeReal({ column, type, notNull, default: expression, identity }: CatalogColumn): Described {
  return {
    column,
    type: type.replace(' COLLATE "C"', ''),
    notNull,
    default: expression?.replace(/::[\w ]+(\[\])?$/, '') ?? null,
    identity,
  };
}

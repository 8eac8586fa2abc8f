/** Describes the schema of a database, read from its catalog, as text that a reviewer can read and compare. */
import type postgres from 'postgres';

export interface CatalogColumn {
  table: string;
  column: string;
  type: string;
  notNull: boolean;
  /** the expression; null for none */
  default: string | null;
  identity: boolean;
}

/** Tables of this project, without those for the records of `migrate`. */
const ourTables = `c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
  AND c.relname NOT IN ('schema_migrations', 'schema_functions')`;

export async function readColumns(sql: postgres.Sql): Promise<CatalogColumn[]> {
  const rows = await sql.unsafe<CatalogColumn[]>(`SELECT c.relname AS table, a.attname AS column,
    format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attcollation = 'pg_catalog."C"'::regcollation
      THEN ' COLLATE "C"' ELSE '' END AS type,
    a.attnotnull AS "notNull", pg_get_expr(d.adbin, d.adrelid) AS default, a.attidentity <> '' AS identity
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE ${ourTables} ORDER BY c.relname, a.attname`);
  return [...rows];
}

interface Line {
  table: string;
  text: string;
}

/** Tables with columns, constraints, indexes and triggers, then the functions' signatures; all sorted by name. */
export async function describeSchema(sql: postgres.Sql): Promise<string> {
  const tables = await sql.unsafe<{ name: string; unlogged: boolean }[]>(
    `SELECT c.relname AS name, c.relpersistence = 'u' AS unlogged FROM pg_class c WHERE ${ourTables} ORDER BY 1`,
  );
  const columns = (await readColumns(sql)).map((column): Line => ({ table: column.table, text: describeColumn(column) }));
  const constraints = await sql.unsafe<Line[]>(`SELECT c.relname AS table,
    'CONSTRAINT ' || k.conname || ' ' || pg_get_constraintdef(k.oid) AS text
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE ${ourTables} AND k.contype IN ('c', 'f', 'p', 'u') ORDER BY 1, 2`);
  const indexes = await sql.unsafe<Line[]>(`SELECT c.relname AS table, pg_get_indexdef(i.indexrelid) AS text
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE ${ourTables} AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
    ORDER BY 1, 2`);
  const triggers = await sql.unsafe<Line[]>(`SELECT c.relname AS table, pg_get_triggerdef(t.oid) AS text
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE ${ourTables} AND NOT t.tgisinternal ORDER BY 1, 2`);
  const functions = await sql.unsafe<{ text: string }[]>(`SELECT 'FUNCTION ' || p.proname || '('
    || pg_get_function_arguments(p.oid) || ') RETURNS ' || pg_get_function_result(p.oid) AS text
    FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`);
  const of = (lines: readonly Line[], name: string) => lines.filter(({ table }) => table === name).map(({ text }) => text);
  const blocks = tables.map(({ name, unlogged }) => {
    const body = [...of(columns, name), ...of(constraints, name)].map((text) => `  ${text}`).join(',\n');
    const after = [...of(indexes, name), ...of(triggers, name)].map((text) => `${text};\n`).join('');
    return `CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE ${name} (\n${body}\n);\n${after}`;
  });
  return [...blocks, functions.map(({ text }) => `-- ${text}\n`).join('')].join('\n');
}

function describeColumn({ column, type, notNull, default: expression, identity }: CatalogColumn): string {
  const parts = [column, type];
  if (notNull) parts.push('NOT NULL');
  if (expression !== null) parts.push(`DEFAULT ${expression}`);
  if (identity) parts.push('GENERATED ALWAYS AS IDENTITY');
  return parts.join(' ');
}

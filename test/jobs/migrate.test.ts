import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

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
    expect(applied.flat()[0]).toBe('0001_accounts.sql');
    const sql = postgres(database.url, { max: 1 });
    const [row] =
      await sql`SELECT to_regprocedure('graphile_worker.force_unlock_workers(text[])') IS NOT NULL AS there`;
    expect(row).toEqual({ there: true });
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

  it('refuse a file that was changed after it was applied', async () => {
    const other = await createTestDatabase({ migrated: false });
    await rm(join(directory, '0002_bad.sql'), { force: true });
    await migrate({ url: other.url, directory });
    await writeFile(join(directory, '0001_good.sql'), 'CREATE TABLE good (id bigint);');
    await expect(migrate({ url: other.url, directory })).rejects.toThrow('0001_good.sql was changed');
    await other.drop();
  });
});

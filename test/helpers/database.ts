/** Creates a separate database for each test file, cloned from one migrated template. */
import postgres from 'postgres';

export interface TestDatabase {
  /** postgres:// URL */
  url: string;
  drop(): Promise<void>;
}

/** Creates a migrated, empty database; with `migrated: false`, one without tables. Works only under vitest. */
export async function createTestDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const server = process.env['REELMEND_TEST_DATABASES'];
  if (!server) throw new Error('Test databases exist under vitest only (test/helpers/global-setup.ts)');
  const response = await fetch(`${server}/${options.migrated === false ? 'empty' : ''}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`No test database: ${text}`);
  return { url: text, drop: () => dropDatabase(text) };
}

async function dropDatabase(url: string): Promise<void> {
  const admin = new URL(url);
  const name = admin.pathname.slice(1);
  admin.pathname = '/postgres';
  const sql = postgres(admin.href, { max: 1, onnotice: () => {} });
  try {
    await sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

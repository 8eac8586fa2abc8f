/**
 * Starts one PostgreSQL server for a whole test run, when the first test needs a database. `createTestDatabase()` requests
 * databases from a small loopback server here. `REELMEND_TEST_POSTGRES` (URL of a role that may create databases) replaces
 * the embedded server.
 */
import type { StatsFs } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { openDatabase } from '../../src/postgres/embedded.ts';
import { migrate } from '../../src/store/migrate.ts';

const template = `reelmend_template_${process.pid}`;

interface Cluster {
  /** URL of the maintenance database */
  url: string;
  stop(): Promise<void>;
}

export default async function setup(): Promise<() => Promise<void>> {
  // Tests start Node hundreds of times, so they share the command line's cache of compiled modules.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('../../.cache/node', import.meta.url));
  // scripts/setup-ffmpeg: builds that start quickly.
  process.env['PATH'] = `${fileURLToPath(new URL('../../.cache/ffmpeg', import.meta.url))}:${process.env['PATH']}`;
  let cluster: Promise<Cluster> | undefined;
  let count = 0;
  const server = createServer((request, response) => {
    cluster ??= startMigratedCluster();
    const name = `reelmend_test_${process.pid}_${++count}`;
    const empty = request.url === '/empty';
    cluster
      .then(({ url }) => createDatabase(url, name, empty ? 'template0' : template))
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env['REELMEND_TEST_DATABASES'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => teardown(server, cluster);
}

async function teardown(server: Server, cluster: Promise<Cluster> | undefined): Promise<void> {
  server.closeAllConnections();
  server.close();
  await (await cluster?.catch(() => undefined))?.stop();
}

async function startMigratedCluster(): Promise<Cluster> {
  const given = process.env['REELMEND_TEST_POSTGRES'];
  const cluster = given ? { url: given, stop: () => dropOwnDatabases(given) } : await startEmbedded();
  const url = await createDatabase(cluster.url, template, 'template0');
  await migrate({ url });
  return cluster;
}

/**
 * Memory, where there is enough of it: a new database is 300 files. On ext4, in folders where files have just been deleted, they cost
 * four times the processor time.
 */
async function folderOfClusters(): Promise<string> {
  const memory = '/dev/shm';
  const enoughBytes = 4 * 1024 ** 3;
  const { bavail = 0, bsize = 0 } = await statfs(memory).catch(() => ({}) as Partial<StatsFs>);
  return bavail * bsize >= enoughBytes ? memory : tmpdir();
}

/** The service's own embedded server, with durability off (tests do not need it) and many connections. */
async function startEmbedded(): Promise<Cluster> {
  const dataDir = await mkdtemp(join(await folderOfClusters(), 'reelmend-test-pg-'));
  // Without user namespaces, root starts the server as another user, who needs access to this folder.
  await chmod(dataDir, 0o711);
  const open = () => openDatabase({ databaseUrl: undefined, dataDir });
  try {
    const first = await open();
    const sql = postgres(first.url, { max: 1, onnotice: () => {} });
    for (const setting of [
      'fsync = off',
      'synchronous_commit = off',
      'full_page_writes = off',
      'max_connections = 400',
    ]) {
      await sql.unsafe(`ALTER SYSTEM SET ${setting}`);
    }
    await sql.end({ timeout: 5 });
    await first.stop();
    const server = await open();
    const stop = async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    };
    return { url: server.url, stop };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
}

async function createDatabase(adminUrl: string, name: string, from: string): Promise<string> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(from)}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function dropOwnDatabases(adminUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const rows = await sql<{ datname: string }[]>`SELECT datname FROM pg_database
    WHERE datname = ${template} OR datname LIKE ${`reelmend_test_${process.pid}_%`}`;
  for (const { datname } of rows) await sql`DROP DATABASE IF EXISTS ${sql(datname)} WITH (FORCE)`;
  await sql.end({ timeout: 5 });
}

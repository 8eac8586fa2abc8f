/** A PostgreSQL of the machine's own packages, for the guides' backup: `pg_dump` refuses servers newer than itself. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hangMs } from '../helpers/wait.ts';
import { freePorts } from '../helpers/ports.ts';

const run = promisify(execFile);

export interface Postgres {
  /** of a superuser */
  adminUrl: string;
  /** of the role and the database that the guide creates */
  url: string;
  stop(): Promise<void>;
}

/** PostgreSQL does not run as root; root gives it a user namespace where it is an ordinary user. */
const asOrdinaryUser =
  process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'] : ['env'];

/** The server of the version that `pg_dump` has (Debian's packages); null where they are not both installed. */
export async function startPostgres(): Promise<Postgres | null> {
  const version = await run('pg_dump', ['--version']).then(
    ({ stdout }) => /\b(\d+)\.\d/.exec(stdout)?.[1],
    () => undefined,
  );
  const bin = `/usr/lib/postgresql/${version ?? ''}/bin`;
  if (version === undefined || !existsSync(join(bin, 'initdb')) || !existsSync('/usr/bin/psql')) return null;
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-docs-pg-'));
  const data = join(dir, 'data');
  const binary = async (name: string, ...args: string[]) => {
    const [command, ...rest] = [...asOrdinaryUser, join(bin, name), ...args];
    await run(command!, rest, { timeout: hangMs, env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
  };
  const port = await freePorts(1);
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off`;
  await binary('initdb', '-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C');
  await binary('pg_ctl', '-D', data, '-l', join(dir, 'log'), '-w', '-o', options, 'start');
  return {
    adminUrl: `postgres://postgres@127.0.0.1:${port}/postgres`,
    url: `postgres://reelmend@127.0.0.1:${port}/reelmend`,
    async stop() {
      await binary('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

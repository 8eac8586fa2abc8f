/** Shared by the commands that need the database: opening it, refusing unknown ids. */
import { basename } from 'node:path';
import type { Config } from '../app/config.ts';
import type { openStore } from '../app/open-store.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';
import { parseConnectionUrl } from '../store/connection-url.ts';
import { interruptible } from './interruptible.ts';
import { show } from './table.ts';
import { configOfTerminal, terminal } from './terminal.ts';

export type Opened = Awaited<ReturnType<typeof openStore>> & { config: Config };

/** Runs `work` with the migrated database and closes it afterwards. Throws if there is no database. */
export const withStore = <T>(work: (opened: Opened) => Promise<T>): Promise<T> => withDatabase({ mayCreate: false }, work);

/** The same for the commands that an operator may run before the first start of the service: creates the database and the secrets if there are none. */
export const withNewStore = <T>(work: (opened: Opened) => Promise<T>): Promise<T> => withDatabase({ mayCreate: true }, work);

interface Opening {
  config: Config;
  mayCreate: boolean;
  /** ends the opening and the wait for `work` */
  signal?: AbortSignal;
}

function withDatabase<T>({ mayCreate }: { mayCreate: boolean }, work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = configOfTerminal();
  if (config.databaseUrl !== undefined) return whileOpen({ config, mayCreate }, work);
  // Ctrl-C must not leave the embedded server running, which the command may have started.
  return interruptible((signal) => whileOpen({ config, mayCreate, signal }, work));
}

async function whileOpen<T>({ config, mayCreate, signal }: Opening, work: (opened: Opened) => Promise<T>): Promise<T> {
  // Loaded here, so that `--help` and offline commands do not load the database driver.
  const { hasDatabase, hasKeyPepper, NoTables, openStore } = await import('../app/open-store.ts');
  if (!(mayCreate && isChosen(config))) {
    if (!hasDatabase(config)) throw new Error(noDatabase(config));
    if (!(await hasKeyPepper(config))) throw new Error(noSecrets(config));
  }
  const opened = await openStore(config, { signal, mayCreateTables: mayCreate || config.databaseUrl === undefined }).catch((error: unknown) => {
    // At a terminal, Ctrl-C also ends the programs of PostgreSQL that run.
    signal?.throwIfAborted();
    throw error instanceof NoTables ? new Error(noTables(config), { cause: error }) : error;
  });
  try {
    return await unlessAborted(work({ ...opened, config }), signal);
  } catch (error) {
    if (error instanceof Unknown) throw new Error(`${error.message} in ${databaseOf(config)}.`, { cause: error });
    throw error;
  } finally {
    await opened.close();
  }
}

/** Where the command looked, without secrets: it may be the wrong service, such as that of another folder. */
export function databaseOf({ databaseUrl, dataDir }: Config): string {
  if (databaseUrl === undefined) return `the database of the data folder ${dataDir}`;
  const { url, ...target } = parseConnectionUrl(databaseUrl);
  const { pathname, port } = new URL(url);
  const { PGHOST, PGPORT } = terminal().env;
  // These variables complete a URL without a host, as the driver reads them.
  const place = target.host === '' ? { host: PGHOST || 'localhost', port: port || PGPORT || 5432 } : target;
  const name = decodeURIComponent(pathname.slice(1));
  return `the database ${name === '' ? '' : `${name} `}at ${place.host.includes(':') ? `[${place.host}]` : place.host}:${place.port}`;
}

/** Lists what the service has, or says on a terminal that there is nothing, and where the command looked. */
export function showAll(what: string, list: (opened: Opened) => Promise<object[]>): Promise<void> {
  return withStore(async (opened) => show(await list(opened), `There are no ${what} in ${databaseOf(opened.config)}.`));
}

/** Runs `work` with the migrated database, if there is such an account, and shows what it returns. */
export function showOfAccount(id: string, work: (opened: Opened) => Promise<object>): Promise<void> {
  return withStore(async (opened) => {
    known(await opened.store.accounts.get(id), 'account', id);
    show(await work(opened));
  });
}

/** Throws when the account is unknown or closed. */
export async function requireOpen({ store }: Opened, id: string): Promise<void> {
  const { closedAt } = known(await store.accounts.get(id), 'account', id);
  if (closedAt !== null) throw new Error(`The account ${id} is closed.`);
}

/** Runs `work`, which changes something of the account, if the account is open, and shows what it returns. */
export function changeOfAccount(id: string, work: (opened: Opened) => Promise<object>): Promise<void> {
  return withStore(async (opened) => {
    await requireOpen(opened, id);
    show(await work(opened));
  });
}

/** Throws for a worker that would create a second database, with a queue that stays empty. */
export async function requireDatabase(config: Config): Promise<void> {
  const { hasDatabase } = await import('../app/open-store.ts');
  if (!hasDatabase(config) && !isChosen(config)) throw new Error(noDatabase(config));
}

/** Whether the data folder is that of a checkout or of the variable. It is the user's where there is no service: a database there would be a second one. */
const isChosen = ({ dataDir }: Config): boolean => !!terminal().env['REELMEND_DATA_DIR'] || basename(dataDir) === '.data';

const noDatabase = ({ dataDir }: Config): string =>
  `There is no database in the data folder ${dataDir}: run the command in the folder of the service, or set REELMEND_DATA_DIR or DATABASE_URL as the service has them. A new service creates it at its first start.`;

/** A new pepper would not be that of the service: what it hashes and encrypts would be of no use to it. */
const noSecrets = ({ dataDir }: Config): string =>
  `There is no secrets.json in the data folder ${dataDir}: run the command in the folder of the service, or set REELMEND_DATA_DIR, or REELMEND_KEY_PEPPER as the service has it.`;

const noTables = (config: Config): string =>
  `There is no service in ${databaseOf(config)}: set DATABASE_URL as the service has it. A new service creates its tables at its first start.`;

/** An id that the database does not have. `withStore` adds which database. */
class Unknown extends Error {}

/** For `work` of `withStore`. */
export function known<T>(value: T | null, what: string, id: string): T {
  if (value === null) throw new Unknown(`There is no ${what} ${id}`);
  return value;
}

/** The database with what hangs on it alone: for the processes of the service and for commands. */
import type { Config } from './config.ts';
import { openDatabase } from '../postgres/embedded.ts';
import { createSecretCipher } from '../domain/secret-cipher.ts';
import { createEvidence } from '../evidence/index.ts';
import { loadSecrets } from './secrets.ts';
import { createStore, migrate } from '../store/index.ts';

/** The database, migrated, with its store: what every command needs. */
export async function openStore(config: Config) {
  const secrets = await loadSecrets(config);
  const database = await openDatabase(config);
  try {
    await migrate({ url: database.url });
  } catch (error) {
    await database.stop();
    throw config.databaseUrl === undefined ? error : (connectionError(error, config.databaseUrl) ?? error);
  }
  const cipher = createSecretCipher(secrets.keyPepper);
  const store = createStore({ url: database.url, cipher });
  const evidence = createEvidence({ keys: store.signingKeys, cipher });
  const close = async () => {
    await store.close();
    await database.stop();
  };
  try {
    // Keys and secrets made under another pepper would be lost on everybody.
    await evidence.assertDecrypts();
  } catch (error) {
    await close();
    throw error;
  }
  return { store, evidence, secrets, databaseUrl: database.url, close };
}

/** The server cannot be reached: what the operating system, or the driver, says of it. */
const unreachable = /^(?:ECONN\w+|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_\w+)$/;
/** SQLSTATE of a server that refuses: authorization, unknown database, missing rights, too many connections. */
const refused = /^(?:28\w{3}|3D000|42501|53300|57P03)$/;

/** One sentence that names the variable and the server, not the password; undefined for any other failure. */
export function connectionError(error: unknown, databaseUrl: string): Error | undefined {
  const code = error instanceof Error ? String((error as NodeJS.ErrnoException).code ?? '') : '';
  const { hostname, port } = new URL(databaseUrl);
  const server = `${hostname}:${port || 5432}`;
  if (unreachable.test(code)) return new Error(`DATABASE_URL: no PostgreSQL answers at ${server} (${code}).`, { cause: error });
  if (!refused.test(code)) return undefined;
  return new Error(`DATABASE_URL: the PostgreSQL at ${server} refuses: ${(error as Error).message}.`, { cause: error });
}

/** Opens the database and the objects that depend only on it, for the service's processes and for commands. */
import type { Logger } from 'pino';
import { bracketed, type Config } from './config.ts';
import { openDatabase } from '../postgres/embedded.ts';
import { createSecretCipher } from '../domain/secret-cipher.ts';
import { createEvidence } from '../evidence/index.ts';
import { hasKeyPepper, loadSecrets, type Secrets } from './secrets.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';
import { certificateCode, createStore, hasEncryptedSecrets, migrate, parseConnectionUrl } from '../store/index.ts';

export { hasDatabase } from '../postgres/embedded.ts';
export { hasKeyPepper };
export { NoTables } from '../store/index.ts';

export interface OpenStore {
  /** of the store; default: its own */
  maxConnections?: number | undefined;
  /** gets the restarts of the embedded server */
  logger?: Pick<Logger, 'warn' | 'error'> | undefined;
  /** ends the opening */
  signal?: AbortSignal | undefined;
  /** whether to create the tables if the database of DATABASE_URL has none; default: true. Otherwise NoTables is thrown. */
  mayCreateTables?: boolean | undefined;
}

/** Opens and migrates the database. */
export async function openStore(config: Config, { maxConnections, logger, signal, mayCreateTables }: OpenStore = {}) {
  // A damaged file ends the start before it starts or changes a database.
  const hadPepper = await hasKeyPepper(config);
  const onRestart = (err?: unknown) => {
    if (err === undefined) logger?.warn('the embedded PostgreSQL had ended and was started again');
    else logger?.error({ err }, 'the embedded PostgreSQL has ended and cannot be started; it is tried again every two seconds');
  };
  const database = await openDatabase({ ...config, onRestart });
  const sessionUrl = config.databaseSessionUrl;
  let secrets: Secrets;
  try {
    // Not through a pooler, if possible: it would go on using sessions from before the settings of the role.
    await migrate({ url: sessionUrl ?? database.url, signal, mayCreate: mayCreateTables });
    if (!hadPepper) await unlessAborted(assertMayHaveNewPepper(config, sessionUrl ?? database.url), signal);
    secrets = await loadSecrets(config);
  } catch (error) {
    await database.stop();
    throw explained(error, config);
  }
  const cipher = createSecretCipher(secrets.keyPepper);
  const store = createStore({ url: database.url, sessionUrl, silenceTimeoutS: config.databaseTimeoutS, cipher, maxConnections });
  const evidence = createEvidence({ keys: store.signingKeys, cipher });
  const close = async () => {
    await store.close();
    await database.stop();
  };
  try {
    // Under another pepper no existing key or secret would work.
    await unlessAborted(evidence.assertDecrypts(), signal);
  } catch (error) {
    await close();
    throw error;
  }
  return { store, evidence, secrets, databaseUrl: database.url, close };
}

/** A new pepper would be of no use for a database in use, and its file would hide that the right one is missing. */
async function assertMayHaveNewPepper(config: Config, url: string): Promise<void> {
  // In this order: a process that has started at the same time makes the pepper before it encrypts.
  if (!(await hasEncryptedSecrets(url)) || (await hasKeyPepper(config))) return;
  throw new Error(
    `There is no secrets.json in the data folder ${config.dataDir}, but a service uses the database: start in the folder of that service, ` +
      'or set REELMEND_DATA_DIR, or REELMEND_KEY_PEPPER as that service has it.',
  );
}

/** Codes of the operating system and the driver for a server that cannot be reached. */
const unreachable = /^(?:ECONN\w+|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_\w+)$/;
/** SQLSTATEs of a server that refuses: authorization, unknown database, missing rights, too many connections. */
const refused = /^(?:28\w{3}|3D000|42501|53300|57P03)$/;

function explained(error: unknown, { databaseUrl, databaseSessionUrl }: Config): unknown {
  if (databaseSessionUrl !== undefined) return connectionError(error, databaseSessionUrl, 'DATABASE_SESSION_URL') ?? error;
  return databaseUrl === undefined ? error : (connectionError(error, databaseUrl) ?? error);
}

/**
 * Explains a connection failure in one sentence that names the variable and the server, without the password. undefined for other
 * failures.
 */
export function connectionError(error: unknown, databaseUrl: string, variable = 'DATABASE_URL'): Error | undefined {
  const code = error instanceof Error ? String((error as NodeJS.ErrnoException).code ?? '') : '';
  const { host, port, ssl } = parseConnectionUrl(databaseUrl);
  const server = `${bracketed(host)}:${port}`;
  if (unreachable.test(code)) {
    const hint = code === 'ECONNRESET' && ssl ? '; does it accept TLS?' : '';
    return new Error(`${variable}: no PostgreSQL answers at ${server} (${code})${hint || '.'}`, { cause: error });
  }
  if (certificateCode.test(code)) {
    return new Error(`${variable}: the certificate of the PostgreSQL at ${server} is not trusted (${code}); see sslmode and sslrootcert.`, { cause: error });
  }
  if (!refused.test(code)) return undefined;
  return new Error(`${variable}: the PostgreSQL at ${server} refuses: ${(error as Error).message}.`, { cause: error });
}

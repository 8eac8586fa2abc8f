/** Composition root: the processes of the service, built from the configuration. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { pino, type Logger } from 'pino';
import type { Config } from './config.ts';
import { openDatabase } from './database.ts';
import { createVault } from './domain/vault.ts';
import { createEvidence } from './evidence/index.ts';
import { buildApp } from './http/app.ts';
import { createWorker } from './jobs/index.ts';
import { createMeasure } from './measure.ts';
import { createMedia } from './media/index.ts';
import { createNetClient } from './net/index.ts';
import { createSandboxSample } from './sample.ts';
import { loadSecrets } from './secrets.ts';
import { createStorage } from './storage/index.ts';
import { createStore, migrate } from './store/index.ts';

export interface Roles {
  api: boolean;
  worker: boolean;
}

export interface Service {
  /** base URL of the API, null when this process has none */
  url: string | null;
  store: ReturnType<typeof createStore>;
  keyPepper: string;
  logger: Logger;
  /** ends requests and jobs in order and frees everything; safe to call twice */
  stop(): Promise<void>;
}

/** Undoes what was started, last first, each even when another fails. */
class Shutdown {
  readonly #steps: (() => Promise<unknown>)[] = [];
  #done: Promise<void> | undefined;

  add(step: () => Promise<unknown>): void {
    this.#steps.unshift(step);
  }

  run(): Promise<void> {
    this.#done ??= this.#run();
    return this.#done;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, 'The service did not stop cleanly.');
  }
}

export function createLogger(config: Config): Logger {
  return pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

/** The database, migrated, with its store: what every command needs. */
export async function openStore(config: Config) {
  const secrets = await loadSecrets(config);
  const database = await openDatabase(config);
  try {
    await migrate({ url: database.url });
  } catch (error) {
    await database.stop();
    throw error;
  }
  const vault = createVault(secrets.keyPepper);
  const store = createStore({ url: database.url, vault });
  const evidence = createEvidence({ keys: store.signingKeys, vault });
  const close = async () => {
    await store.close();
    await database.stop();
  };
  return { store, evidence, secrets, databaseUrl: database.url, close };
}

/** Throws (after undoing what had started) when a part does not come up. */
export async function startService(config: Config, roles: Roles): Promise<Service> {
  const shutdown = new Shutdown();
  try {
    return await compose(config, roles, shutdown);
  } catch (error) {
    await shutdown.run().catch(() => {});
    throw error;
  }
}

async function compose(config: Config, roles: Roles, shutdown: Shutdown): Promise<Service> {
  const logger = createLogger(config);
  const { store, evidence, secrets, databaseUrl, close } = await openStore(config);
  shutdown.add(close);
  // Makes the signing key at the first start.
  await evidence.jwks();
  const media = await createMedia({ requireSandbox: config.requireSandbox, logger });
  const net = createNetClient({ allowHosts: config.allowHosts, denyHosts: ownHosts(config), logger });
  shutdown.add(() => net.close());
  const listening = { url: config.publicUrl ?? `http://${bracketed(config.host)}:${config.port}` };
  const storage = createStorage({ ...config, ...secrets, publicUrl: () => config.publicUrl ?? listening.url });
  if (storage.kind === 's3') shutdown.add(async () => storage.close());

  if (roles.worker) {
    const sandboxSample = createSandboxSample({ dataDir: config.dataDir, media });
    const worker = createWorker({ databaseUrl, store, media, net, storage, evidence, sandboxSample, logger, config });
    await worker.start();
    shutdown.add(() => worker.stop());
  }
  if (!roles.api) return { url: null, store, keyPepper: secrets.keyPepper, logger, stop: () => shutdown.run() };

  const description = await readFile(new URL('../openapi.yaml', import.meta.url), 'utf8');
  const measure = createMeasure({ net, media });
  const app = buildApp({ store, storage, measure, evidence, keyPepper: secrets.keyPepper, description, logger });
  const url = await listen(app.fetch, config, shutdown);
  listening.url = url;
  logger.info({ url }, 'listening');
  return { url, store, keyPepper: secrets.keyPepper, logger, stop: () => shutdown.run() };
}

/** The service's own public name: a customer's video is never fetched through it. */
function ownHosts(config: Config): string[] {
  return config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host];
}

type Fetch = ReturnType<typeof buildApp>['fetch'];

async function listen(fetch: Fetch, config: Config, shutdown: Shutdown): Promise<string> {
  const server = serve({ fetch, hostname: config.host, port: config.port, createServer }) as ReturnType<typeof createServer>;
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === 'EADDRINUSE' ? `PORT: ${config.port} is already in use on ${config.host}` : cause.message;
      reject(new Error(taken, { cause }));
    });
  });
  shutdown.add(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        // A client that holds its connection open must not hold the process.
        setTimeout(() => server.closeAllConnections(), 5000).unref();
      }),
  );
  return `http://${bracketed(config.host)}:${(server.address() as AddressInfo).port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

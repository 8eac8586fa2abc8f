/** Composition root: the processes of the service, built from the configuration. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Config } from './config.ts';
import { createConsole, type DemoParts } from './console.ts';
import { registerDiskMetrics } from '../observability/disk-metrics.ts';
import { buildApp } from '../http/app.ts';
import { answerParserErrors } from '../http/parser-errors.ts';
import { buildMetricsApp, createHttpMetrics } from '../http/metrics.ts';
import { createWorker, createWorkerMetrics, scratchRoot, type Worker } from '../jobs/index.ts';
import { createLogger } from '../observability/logger.ts';
import { createMeasure, measureSlots } from './measure.ts';
import { createMedia } from '../media/index.ts';
import { installedModels, modelNames } from '../media/models.ts';
import { createNetClient } from '../net/index.ts';
import { openStore } from './open-store.ts';
import { createSandboxSample } from './sandbox-sample.ts';
import { registerServiceMetrics } from '../observability/service-metrics.ts';
import { createStorage, storageFolder } from '../storage/index.ts';
import type { Store } from '../store/index.ts';
import { startTracing } from '../observability/tracing.ts';

export interface Roles {
  api: boolean;
  worker: boolean;
}

export interface Service {
  /** base URL of the API, null when this process has none */
  url: string | null;
  store: Store;
  keyPepper: string;
  logger: Logger;
  /** ends requests and jobs in order and frees everything; safe to call twice */
  stop(): Promise<void>;
  /** ends the waiting of a stop() for the jobs that run */
  hurry(): void;
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

/** Throws (after undoing what had started) when a part does not come up. */
export async function startService(config: Config, roles: Roles, demo?: DemoParts): Promise<Service> {
  const shutdown = new Shutdown();
  try {
    return await compose(config, roles, shutdown, demo);
  } catch (error) {
    await shutdown.run().catch(() => {});
    throw error;
  }
}

async function compose(config: Config, roles: Roles, shutdown: Shutdown, demo?: DemoParts): Promise<Service> {
  const logger = createLogger(config);
  if (config.tracesEndpoint !== undefined) {
    const tracing = await startTracing({ endpoint: config.tracesEndpoint });
    shutdown.add(() => tracing.stop());
  }
  const { store, evidence, secrets, databaseUrl, close } = await openStore(config);
  shutdown.add(close);
  // Makes the signing key at the first start.
  await evidence.jwks();
  const models = installedModels(config.modelsDir);
  const { requireIsolation, enginesDir } = config;
  const media = await createMedia({ requireIsolation, models, enginesDir, logger, maxProbes: measureSlots.total + config.workerConcurrency });
  const timeouts = { downloadBytesPerSecond: config.downloadBytesPerSecond };
  const net = createNetClient({ allowHosts: config.allowHosts, denyHosts: ownHosts(config), timeouts, logger });
  shutdown.add(() => net.close());
  const listening = { url: config.publicUrl ?? `http://${bracketed(config.host)}:${config.port}` };
  const storage = await createStorage({ ...config, ...secrets, publicUrl: () => config.publicUrl ?? listening.url });
  if (storage.kind === 's3') shutdown.add(async () => storage.close());

  const registry = await serveMetrics({ config, roles, logger, store, shutdown });
  let worker: Worker | undefined;
  if (roles.worker) {
    const sandboxSample = createSandboxSample({ dataDir: config.dataDir, media });
    const made = createWorker({
      ...{ databaseUrl, store, media, net, storage, evidence, sandboxSample, logger, config },
      metrics: createWorkerMetrics(registry),
    });
    await made.start();
    shutdown.add(() => made.stop());
    worker = made;
  }
  const ends = { stop: () => shutdown.run(), hurry: () => worker?.hurry() };
  if (!roles.api) return { url: null, store, keyPepper: secrets.keyPepper, logger, ...ends };

  const description = await readFile(new URL('../../openapi.yaml', import.meta.url), 'utf8');
  const measure = createMeasure({ net, media });
  const { rateLimits, sandboxDelayMs } = config;
  const app = buildApp({
    checkUrl: (url: string) => net.checkUrl(url),
    ...{ store, storage, measure, evidence, keyPepper: secrets.keyPepper, description, logger },
    ...(registry === undefined ? {} : { metrics: createHttpMetrics({ registry }) }),
    ...(config.console ? { console: createConsole({ config, store, demo }) } : {}),
    options: { rateLimits, sandboxDelayMs, models: modelNames(models) },
  });
  const url = await listen(app.fetch, { ...config, variable: 'PORT' }, { shutdown, logger });
  listening.url = url;
  logger.info({ url }, 'listening');
  if (config.publicUrl === undefined && anyAddress.has(config.host)) {
    logger.warn({ url }, 'REELMEND_PUBLIC_URL is not set: links to results begin with an address that others cannot reach');
  }
  return { url, store, keyPepper: secrets.keyPepper, logger, ...ends };
}

interface MetricsParts {
  config: Config;
  roles: Roles;
  logger: Logger;
  store: Store;
  shutdown: Shutdown;
}

/** Metrics of every kind of process have a port of their own, where one is configured; undefined: they have none. */
async function serveMetrics({ config, roles, logger, store, shutdown }: MetricsParts): Promise<Registry | undefined> {
  if (config.metricsPort === undefined) return undefined;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges that are named like counters; the same numbers by type stay.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  registerServiceMetrics({ registry, store });
  const folders = {
    ...(roles.worker ? { scratch: scratchRoot(config.dataDir) } : {}),
    ...(config.s3 === undefined ? { storage: storageFolder(config.dataDir) } : {}),
  };
  registerDiskMetrics({ registry, folders });
  const at = { host: config.metricsHost, port: config.metricsPort, variable: 'REELMEND_METRICS_PORT' };
  logger.info({ url: await listen(buildMetricsApp({ registry }).fetch, at, { shutdown, logger }) }, 'metrics');
  return registry;
}

/** Not addresses themselves, but all of a machine. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The service's own public name: a customer's video is never fetched through it. */
function ownHosts(config: Config): string[] {
  return config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host];
}

type Fetch = ReturnType<typeof buildApp | typeof buildMetricsApp>['fetch'];

interface ListenAt {
  host: string;
  port: number;
  /** of the environment, that an operator would change */
  variable: string;
}

async function listen(fetch: Fetch, at: ListenAt, { shutdown, logger }: { shutdown: Shutdown; logger: Logger }): Promise<string> {
  const server = serve({ fetch, hostname: at.host, port: at.port, createServer }) as ReturnType<typeof createServer>;
  answerParserErrors(server, logger);
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = `${at.variable}: ${at.port} is already in use on ${at.host}`;
      const refused = `HOST, ${at.variable}: cannot listen at ${bracketed(at.host)}:${at.port} (${cause.code ?? cause.message})`;
      reject(new Error(cause.code === 'EADDRINUSE' ? taken : refused, { cause }));
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
  return `http://${bracketed(at.host)}:${(server.address() as AddressInfo).port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

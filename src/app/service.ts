/** Composition root: builds the parts of a process (API, worker or both) from the configuration and connects them. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { bracketed, type Config } from './config.ts';
import { checkStorage } from './check-storage.ts';
import { createConsole, type DemoParts } from './console-deps.ts';
import { registerDiskMetrics } from '../observability/disk-metrics.ts';
import { buildApp } from '../http/app.ts';
import { buildMetricsApp, createHttpMetrics } from '../http/metrics.ts';
import { createRequestLog } from '../http/request-log-writer.ts';
import { createWorker, createWorkerMetrics, type Lifetime, scratchRoot, type Worker } from '../jobs/index.ts';
import { createLogger } from '../observability/logger.ts';
import { listen } from './listen.ts';
import { createMeasure, probeSlots } from './measure.ts';
import { createMedia } from '../media/index.ts';
import { defaultOutputLimitMb } from '../media/plans.ts';
import { describeModels, installedModels } from '../media/models.ts';
import { runsOnCpu } from '../media/speeds.ts';
import { limitFactors } from '../domain/limits.ts';
import { createNetClient, defaultTimeouts } from '../net/index.ts';
import { openStore } from './open-store.ts';
import { testModeSample } from './sample-clips.ts';
import { publicUrlProblem } from './public-url.ts';
import { speedOptions } from './speed-options.ts';
import { registerServiceMetrics } from '../observability/service-metrics.ts';
import { createStorage, readDiskUsage, storageFolder } from '../storage/index.ts';
import type { Store } from '../store/index.ts';
import { startTracing } from '../observability/tracing.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';
import { warnOfMissingEngines } from './warn-of-missing-engines.ts';

export type { Lifetime };

export interface Roles {
  api: boolean;
  worker: boolean;
}

export interface StartOptions {
  demo?: DemoParts | undefined;
  /** of the worker; default: until stop() */
  lifetime?: Lifetime | undefined;
  /** ends the start; the service itself ends by stop() */
  signal?: AbortSignal | undefined;
}

export interface Service {
  /** base URL of the API; null in a process without API */
  url: string | null;
  store: Store;
  keyPepper: string;
  logger: Logger;
  /** stops requests and jobs in order and releases everything; may be called twice */
  stop(): Promise<void>;
  /** aborts the running jobs and requests that a pending stop() waits for */
  forceStop(): void;
  /** resolves when the worker's lifetime is over, to the number of steps that it ran; never without a lifetime */
  finished: Promise<number>;
}

/** Runs the added stop steps in reverse order. If a step fails, the remaining ones still run. */
class Shutdown {
  /** aborted when the first step begins */
  readonly begun = new AbortController();
  /** aborted when nothing is waited for any more */
  readonly forced = new AbortController();
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
    this.begun.abort();
    const failures: unknown[] = [];
    for (const step of this.#steps) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, 'The service did not stop cleanly.');
  }
}

/** Starts the parts that `roles` names. If one fails to start, or the signal aborts, stops the others and throws. */
export async function startService(config: Config, roles: Roles, options: StartOptions = {}): Promise<Service> {
  const shutdown = new Shutdown();
  try {
    return await compose(config, roles, shutdown, options);
  } catch (error) {
    await shutdown.run().catch(() => {});
    throw error;
  }
}

async function compose(config: Config, roles: Roles, shutdown: Shutdown, { demo, lifetime, signal }: StartOptions): Promise<Service> {
  const parts = await openParts({ config, roles, shutdown, signal });
  let worker: Worker | undefined;
  const registry = await serveMetrics(parts, roles, () => worker);
  signal?.throwIfAborted();
  if (roles.worker) worker = await startWorker(parts, registry, lifetime);
  signal?.throwIfAborted();
  const url = roles.api ? await startApi(parts, registry, demo) : null;
  const { store, keyPepper, logger } = parts;
  const finished = worker?.finished ?? new Promise<number>(() => {});
  const forceStop = () => {
    shutdown.forced.abort();
    worker?.forceStop();
  };
  return { url, store, keyPepper, logger, finished, stop: () => shutdown.run(), forceStop };
}

/** The parts that the API and the worker share. */
type Parts = Awaited<ReturnType<typeof openParts>>;

/** A worker alone makes few queries at a time. With the two connections of the queue it has four (docs/fleet.md). */
const workerStoreConnections = 2;

interface Opening {
  config: Config;
  roles: Roles;
  shutdown: Shutdown;
  signal: AbortSignal | undefined;
}

async function openParts({ config, roles, shutdown, signal }: Opening) {
  const logger = createLogger(config);
  if (config.tracesEndpoint !== undefined) {
    const tracing = await startTracing({ endpoint: config.tracesEndpoint, logger });
    shutdown.add(() => tracing.stop());
  }
  const { store, evidence, secrets, databaseUrl, close } = await openStore(config, { logger, signal, maxConnections: roles.api ? undefined : workerStoreConnections });
  shutdown.add(close);
  // Creates the signing key at the first start.
  await unlessAborted(evidence.jwks(), signal);
  const models = installedModels(config.modelsDir);
  const { requireIsolation, enginesDir } = config;
  const growth = limitFactors(config.limits);
  const outputLimitMb = Math.ceil(defaultOutputLimitMb * growth.duration);
  const media = await createMedia({ requireIsolation, models, enginesDir, logger, maxProbes: probeSlots(config), outputLimitMb, speeds: { ...speedOptions(config), shared: store.machineSpeeds } });
  signal?.throwIfAborted();
  const timeouts = { downloadBytesPerSecond: config.downloadBytesPerSecond, totalMs: defaultTimeouts.totalMs * growth.size };
  const net = createNetClient({ allowHosts: config.allowHosts, denyHosts: ownHosts(config), timeouts, logger });
  shutdown.add(() => net.close());
  // startApi replaces this URL: with PORT=0 the port is known only once the API listens.
  const listening = { url: `http://${bracketed(config.host)}:${config.port}` };
  const publicUrl = () => config.publicUrl ?? listening.url;
  const storage = await createStorage({ ...config, ...secrets, publicUrl });
  if (storage.kind === 's3') shutdown.add(async () => storage.close());
  if (!config.acceptMissingFiles) await unlessAborted(checkStorage({ store, storage }), signal);
  const { keyPepper } = secrets;
  return { config, shutdown, signal, logger, store, evidence, keyPepper, databaseUrl, models, media, net, listening, publicUrl, storage };
}

async function startWorker(parts: Parts, registry: Registry | undefined, lifetime: Lifetime = {}): Promise<Worker> {
  const { config, shutdown, signal, logger, store, evidence, databaseUrl, media, models, net, storage } = parts;
  // Not awaited: opening the GPUs takes seconds, and jobs do not depend on it.
  if (config.workerConcurrency > 0 && media.hasGpu && config.device !== 'cpu') void warnOfMissingEngines({ media, models, logger, enginesDir: config.enginesDir });
  // Before the first job: other work would make the machine appear slower.
  if (config.minSpeed !== undefined && runsOnCpu(config.device, media.hasGpu) && config.workerConcurrency > 0) await media.speeds({ signal });
  signal?.throwIfAborted();
  const metrics = createWorkerMetrics(registry);
  const sessionUrl = config.databaseSessionUrl;
  const silenceTimeoutS = config.databaseTimeoutS;
  const worker = createWorker({ config, logger, databaseUrl, sessionUrl, silenceTimeoutS, store, evidence, media, net, storage, testModeSample, metrics, lifetime });
  await worker.start();
  // At once: requests in progress may take a while, and the worker must take no more jobs meanwhile.
  shutdown.begun.signal.addEventListener('abort', () => void worker.stop().catch(() => {}));
  shutdown.add(() => worker.stop());
  return worker;
}

/** Returns the URL that the API listens on. */
async function startApi(parts: Parts, registry: Registry | undefined, demo: DemoParts | undefined): Promise<string> {
  const { config, shutdown, logger, store, evidence, keyPepper, models, media, net, listening, publicUrl, storage } = parts;
  const { limits, rateLimits, testModeDelayMs, retentionDays, uploadQuotaBytes, enhancementsPerAccount, hstsSubdomains } = config;
  const requestLog = createRequestLog({ store: store.requestLog, logger });
  // After the server has stopped, and before the store is closed.
  shutdown.add(() => requestLog.close());
  const bucketOrigin = storage.kind === 's3' ? await storage.linkOrigin() : undefined;
  const app = buildApp({
    store,
    requestLog,
    storage,
    evidence,
    keyPepper,
    logger,
    measure: createMeasure({ net, storage, media, limits }),
    checkUrl: (url: string) => net.checkUrl(url),
    stopping: shutdown.begun.signal,
    description: await readFile(new URL('../../openapi.yaml', import.meta.url), 'utf8'),
    publicUrl,
    docsDir: fileURLToPath(new URL('../../build/docs', import.meta.url)),
    ...(registry === undefined ? {} : { metrics: createHttpMetrics({ registry }) }),
    ...(config.console ? { console: createConsole({ config, store, bucketOrigin, demo }) } : {}),
    ...(storage.kind === 'filesystem' ? { freeBytes: async () => (await readDiskUsage(storageFolder(config.dataDir))).freeBytes } : {}),
    options: {
      ...{ limits, rateLimits, testModeDelayMs, retentionDays, uploadQuotaBytes, enhancementsPerAccount, hstsSubdomains },
      models: describeModels(models),
      encoderCrf: config.encoder.crf,
    },
  });
  const url = await serveUntilStop(app.fetch, { ...config, variable: 'PORT' }, parts);
  listening.url = url;
  logger.info({ url }, 'listening');
  const problem = publicUrlProblem(config);
  if (problem !== undefined) logger.warn({ url }, problem);
  return url;
}

/** Serves metrics on their own port. Returns undefined when no port is configured. */
async function serveMetrics(parts: Parts, roles: Roles, worker: () => Worker | undefined): Promise<Registry | undefined> {
  const { config, logger, store } = parts;
  if (config.metricsPort === undefined) return undefined;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // These gauges end in `_total`, as only counters should. The gauges by type report the same numbers.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`);
  registerServiceMetrics({ registry, store });
  const folders = {
    ...(roles.worker ? { scratch: scratchRoot(config.dataDir) } : {}),
    ...(config.s3 === undefined ? { storage: storageFolder(config.dataDir) } : {}),
  };
  registerDiskMetrics({ registry, folders });
  const socket = { host: config.metricsHost, port: config.metricsPort, variable: 'REELMEND_METRICS_PORT' };
  const url = await serveUntilStop(buildMetricsApp({ registry, notReadyReason: () => notReadyReason(store, worker()) }).fetch, socket, parts);
  logger.info({ url }, 'metrics');
  return registry;
}

/** Why the process is not ready for work, in one sentence; null if it is ready. */
async function notReadyReason(store: Store, worker: Worker | undefined): Promise<string | null> {
  if (!(await store.ping())) return 'The database does not respond.';
  return worker?.storageIsUp === false ? 'The storage does not answer: the worker takes no work until it does.' : null;
}

/** The service's own public host: the service downloads no video from itself. */
function ownHosts(config: Config): string[] {
  return config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host];
}

type Fetch = Parameters<typeof listen>[0];
type Socket = Pick<Parameters<typeof listen>[1], 'host' | 'port' | 'variable'>;

/** Returns the base URL. */
async function serveUntilStop(fetch: Fetch, { host, port, variable }: Socket, { shutdown, logger, publicUrl }: Parts): Promise<string> {
  const { url, close, forceClose } = await listen(fetch, { host, port, variable, logger, publicUrl });
  shutdown.forced.signal.addEventListener('abort', forceClose);
  shutdown.add(close);
  return url;
}

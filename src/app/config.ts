/** Reads the environment into one typed, validated configuration, once at start. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defaultDataDir } from './folders.ts';
import { z } from 'zod';
import type { MinSpeed } from '../media/types.ts';
import { defaultVideoLimits, longestDurationS, type VideoLimits } from '../domain/limits.ts';
import { hasKnownSslMode, sslModes } from '../store/connection-url.ts';
import type { ServiceRateClass } from '../store/types.ts';

const hostPort = /^(\[[0-9a-fA-F:.]+\]|[^\s:,[\]]+):([0-9]{1,5})$/;
const hasPort = (entry: string) => {
  const port = Number(hostPort.exec(entry)?.[2]);
  return port >= 1 && port <= 65_535;
};

const integer = (fallback: number, min: number, max: number) => {
  const error = `must be from ${min} to ${max}`;
  return z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error))
    .default(fallback);
};

/** `25fps`, `0.5x`, or `none` */
const minSpeed = z
  .string()
  .regex(/^(none|\d{1,5}(\.\d{1,3})?(fps|x))$/, 'must be frames a second such as 25fps, a multiple of real time such as 0.5x, or none')
  .refine((text) => text === 'none' || Number.parseFloat(text) > 0, 'must be more than 0')
  .transform((text): MinSpeed | undefined => {
    if (text === 'none') return undefined;
    const value = Number.parseFloat(text);
    return text.endsWith('x') ? { timesLength: value } : { framesPerSecond: value };
  });

const flag = z
  .enum(['0', '1', 'true', 'false', 'yes', 'no'], { error: 'must be 0 or 1' })
  .transform((value) => value === '1' || value === 'true' || value === 'yes');

/** `create=120,read=600,other=240,auth=30,pending=1000`: calls by class. Omitted classes keep their default. */
const rateLimits = z
  .string()
  .default('')
  .transform((value) => value.split(',').map((entry) => entry.trim()).filter(Boolean))
  .pipe(z.array(z.string().regex(/^(create|read|other|auth|pending)=[1-9]\d{0,6}$/, 'must be a list such as create=120,read=600,other=240')))
  .transform((entries): Partial<Record<ServiceRateClass, number>> =>
    Object.fromEntries(entries.map((entry) => entry.split('=')).map(([name, count]) => [name, Number(count)])),
  );

const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}` });

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** Paths are appended to it. */
const baseUrl = httpUrl.refine((url) => !/[?#]/.test(url), 'must be an http(s) URL without a query');

/** Not with a `%` that begins no escape, as in a password that was put into the URL as it is. */
function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL, with %XX for special characters of the password (such as %2F for /)' })
  .refine(isDecodable, 'has a % that begins no %XX of UTF-8; write a % of the password as %25')
  .refine(hasKnownSslMode, `has an unknown sslmode; use one of ${sslModes.join(', ')}`);

const environment = z.object({
  PORT: integer(8080, 0, 65535),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_SESSION_URL: databaseUrl.optional(),
  REELMEND_DATABASE_TIMEOUT_SECONDS: integer(60, 1, 3600),
  REELMEND_DATA_DIR: z.string().min(1).optional(),
  REELMEND_PUBLIC_URL: baseUrl.optional(),
  REELMEND_ALLOW_HOSTS: z
    .string()
    .default('')
    .transform((value) => value.split(',').map((entry) => entry.trim()).filter(Boolean))
    .pipe(z.array(z.string().refine(hasPort, 'must be a comma-separated list of host:port'))),
  REELMEND_TEST_MODE_DELAY_MS: integer(2000, 0, 600_000),
  REELMEND_REQUIRE_ISOLATION: flag.default(false),
  REELMEND_ACCEPT_MISSING_FILES: flag.default(false),
  REELMEND_DEMO: flag.default(true),
  REELMEND_WORKER_CONCURRENCY: integer(1, 0, 64),
  REELMEND_DOWNLOAD_CONCURRENCY: integer(4, 0, 256),
  REELMEND_DOWNLOAD_MIN_SPEED: integer(64, 0, 1_000_000),
  REELMEND_MAX_DURATION_SECONDS: integer(600, 1, longestDurationS),
  REELMEND_MAX_FILE_MB: integer(2000, 1, 1_000_000),
  REELMEND_MAX_FRAME_RATE: integer(250, 1, 1000),
  REELMEND_MAX_PIXELS: integer(67108864, 1, defaultVideoLimits.pixels),
  REELMEND_THREADS: integer(0, 0, 1024),
  REELMEND_DEVICE: z
    .string()
    .regex(/^(auto|cpu|cuda:all|cuda:\d{1,3}(,cuda:\d{1,3})*)$/, 'must be auto, cpu, cuda:N, a list such as cuda:0,cuda:1, or cuda:all')
    .default('auto'),
  REELMEND_MIN_SPEED: z.string().default('2fps').pipe(minSpeed),
  REELMEND_WARM_CHILDREN: integer(1, 0, 64),
  REELMEND_SEGMENTS_FROM_SECONDS: integer(60, 0, 21_600),
  REELMEND_SEGMENTS_AT_ONCE: integer(64, 1, 10_000),
  REELMEND_ENHANCEMENTS_PER_ACCOUNT: integer(0, 0, 10_000),
  REELMEND_MODELS_DIR: z.string().min(1).optional(),
  REELMEND_ENGINES_DIR: z.string().min(1).optional(),
  REELMEND_ENCODER_PRESET: oneOf(['ultrafast', 'superfast', 'veryfast', 'faster', 'fast', 'medium', 'slow', 'slower', 'veryslow'])
    .default('superfast'),
  REELMEND_ENCODER_CRF: integer(16, 1, 51),
  REELMEND_KEY_PEPPER: z.string().min(16, 'must have at least 16 characters').optional(),
  REELMEND_LINK_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  REELMEND_RATE_LIMITS: rateLimits,
  REELMEND_RETENTION_DAYS: integer(30, 1, 365),
  REELMEND_UPLOAD_QUOTA_GB: integer(20, 1, 1_000_000),
  REELMEND_CONSOLE: flag.default(true),
  REELMEND_SIGN_UP: oneOf(['open', 'closed']).default('open'),
  REELMEND_PROXY_HOPS: integer(0, 0, 10),
  REELMEND_HSTS_SUBDOMAINS: flag.default(false),
  REELMEND_LEASE_SECONDS: integer(20, 2, 3600),
  REELMEND_DRAIN_SECONDS: integer(0, 0, 86_400),
  REELMEND_METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  REELMEND_METRICS_PORT: integer(0, 0, 65535),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  REELMEND_RESTART: flag.default(false),
  REELMEND_LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']).optional(),
  S3_ENDPOINT: httpUrl.optional(),
  S3_PUBLIC_ENDPOINT: httpUrl.optional(),
  S3_BUCKET: z.string().min(3, 'must have at least 3 characters').optional(),
  S3_REGION: z.string().min(1).default('us-east-1'),
});

/** Names of all variables that are read. */
export const configVariables: readonly string[] = Object.keys(environment.shape);

export interface Config {
  port: number;
  host: string;
  /** undefined: an embedded PostgreSQL under `dataDir` */
  databaseUrl: string | undefined;
  /** the same database with sessions, if `databaseUrl` leads to a pooler in transaction mode */
  databaseSessionUrl: string | undefined;
  /** a connection to the database is replaced after so many seconds without an answer */
  databaseTimeoutS: number;
  /** absolute */
  dataDir: string;
  /** base of the links that the service hands out, without a trailing slash; undefined: the listening address */
  publicUrl: string | undefined;
  /** `host:port` pairs exempt from the private-address guard */
  allowHosts: string[];
  testModeDelayMs: number;
  requireIsolation: boolean;
  /** starts although the storage has none of the newest results (check-storage.ts) */
  acceptMissingFiles: boolean;
  demo: boolean;
  /** enhancements that one worker runs at once; 0: none */
  workerConcurrency: number;
  /** downloads that one worker runs at once; 0: none */
  downloadConcurrency: number;
  /** bytes per second; a slower download is aborted; 0: only the fixed minimum of net/timeouts.ts applies */
  downloadBytesPerSecond: number;
  /** limits of a source; all processes of an installation need the same */
  limits: VideoLimits;
  /** threads of one media child */
  threads: number;
  /** auto, cpu, cuda:N, a comma-separated list of cuda:N, or cuda:all */
  device: string;
  /** speed that `auto` must reach on a CPU; undefined: it takes the fast networks, and nothing is measured */
  minSpeed: MinSpeed | undefined;
  /** size of a worker's warm pool of media children */
  warmChildren: number;
  /** videos longer than this are enhanced in segments; 0: none are. A segment has at most 60 s, so shorter videos gain little. */
  segmentsFromSeconds: number;
  /** segments of one job that are queued or run at a time */
  segmentsAtOnce: number;
  /** enhancements of one account that all workers together run at a time; 0: no limit */
  enhancementsPerAccount: number;
  /** absolute; operators' own networks, with a manifest */
  modelsDir: string | undefined;
  /** absolute; engines for GPUs, built ahead of time */
  enginesDir: string | undefined;
  encoder: { preset: string; crf: number };
  /** undefined: generated at first start and kept in `dataDir`. Machines that share a database must all set the same one */
  keyPepper: string | undefined;
  linkSecret: string | undefined;
  /** by class: calls per minute and key (`auth`: per ten minutes and IP address; `pending`: jobs per day of an unapproved account); absent = the default */
  rateLimits: Partial<Record<ServiceRateClass, number>>;
  /** days that files of jobs of the Standard tier are kept */
  retentionDays: number;
  /** bytes that all uploads of an approved account may have, in each mode */
  uploadQuotaBytes: number;
  /** whether the console and its API are served */
  console: boolean;
  /** whether anyone who can reach the console can create an account */
  signUp: 'open' | 'closed';
  /** number of reverse proxies in front that add to X-Forwarded-For; 0 = the header is ignored */
  proxyHops: number;
  /** whether the header Strict-Transport-Security covers subdomains */
  hstsSubdomains: boolean;
  leaseSeconds: number;
  /** grace period for running jobs at shutdown; 0 = they go back to the queue at once */
  drainSeconds: number;
  /** host of `/metrics`, which is separate from the API because it needs no sign-in */
  metricsHost: string;
  /** undefined: metrics are not served */
  metricsPort: number | undefined;
  /** base URL of the collector for traces (OTLP over HTTP); undefined: no traces */
  tracesEndpoint: string | undefined;
  /** whether a supervisor restarts the service when it crashes */
  restart: boolean;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `publicEndpoint`: the base URL in links to customers, when it differs from `endpoint` */
  s3: { endpoint: string | undefined; publicEndpoint?: string | undefined; bucket: string; region: string } | undefined;
}

/** An invalid variable; the message is one line that names it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variable: string;
  /** what is wrong, as the end of a sentence such as "must be 0 or 1" */
  readonly problem: string;

  constructor(variable: string, problem: string) {
    super(`${variable}: ${problem}`);
    this.variable = variable;
    this.problem = problem;
  }
}

/** Loads the configuration. Empty variables count as unset. Throws ConfigError for the first invalid variable. */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const variables = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(variables);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new ConfigError(String(issue.path[0]), issue.message);
  }
  assertComplete(parsed.data);
  return configOf(parsed.data, variables);
}

type Environment = z.infer<typeof environment>;

/** Throws ConfigError if a variable lacks one that it needs. */
function assertComplete(e: Environment): void {
  if (e.DATABASE_SESSION_URL !== undefined && e.DATABASE_URL === undefined) {
    throw new ConfigError('DATABASE_URL', 'is required when DATABASE_SESSION_URL is set');
  }
  if (e.S3_ENDPOINT !== undefined && e.S3_BUCKET === undefined) {
    throw new ConfigError('S3_BUCKET', 'is required when S3_ENDPOINT is set');
  }
  if (e.S3_PUBLIC_ENDPOINT !== undefined && e.S3_ENDPOINT === undefined) {
    throw new ConfigError('S3_ENDPOINT', 'is required when S3_PUBLIC_ENDPOINT is set');
  }
}

function configOf(e: Environment, variables: Record<string, string | undefined>): Config {
  return {
    port: e.PORT,
    host: e.HOST,
    databaseUrl: e.DATABASE_URL,
    databaseSessionUrl: e.DATABASE_SESSION_URL,
    databaseTimeoutS: e.REELMEND_DATABASE_TIMEOUT_SECONDS,
    dataDir: e.REELMEND_DATA_DIR === undefined ? defaultDataDir(variables) : resolve(e.REELMEND_DATA_DIR),
    publicUrl: e.REELMEND_PUBLIC_URL?.replace(/\/+$/, ''),
    allowHosts: e.REELMEND_ALLOW_HOSTS.map((entry) => entry.toLowerCase()),
    testModeDelayMs: e.REELMEND_TEST_MODE_DELAY_MS,
    requireIsolation: e.REELMEND_REQUIRE_ISOLATION,
    acceptMissingFiles: e.REELMEND_ACCEPT_MISSING_FILES,
    demo: e.REELMEND_DEMO,
    workerConcurrency: e.REELMEND_WORKER_CONCURRENCY,
    downloadConcurrency: e.REELMEND_DOWNLOAD_CONCURRENCY,
    downloadBytesPerSecond: e.REELMEND_DOWNLOAD_MIN_SPEED * 1000,
    limits: {
      durationS: e.REELMEND_MAX_DURATION_SECONDS,
      bytes: e.REELMEND_MAX_FILE_MB * 1_000_000,
      frameRate: e.REELMEND_MAX_FRAME_RATE,
      pixels: e.REELMEND_MAX_PIXELS,
    },
    threads: e.REELMEND_THREADS || Math.max(1, Math.floor(availableParallelism() / Math.max(1, e.REELMEND_WORKER_CONCURRENCY))),
    device: e.REELMEND_DEVICE,
    minSpeed: e.REELMEND_MIN_SPEED,
    warmChildren: e.REELMEND_WARM_CHILDREN,
    segmentsFromSeconds: e.REELMEND_SEGMENTS_FROM_SECONDS,
    segmentsAtOnce: e.REELMEND_SEGMENTS_AT_ONCE,
    enhancementsPerAccount: e.REELMEND_ENHANCEMENTS_PER_ACCOUNT,
    enginesDir: e.REELMEND_ENGINES_DIR === undefined ? undefined : resolve(e.REELMEND_ENGINES_DIR),
    modelsDir: e.REELMEND_MODELS_DIR === undefined ? undefined : resolve(e.REELMEND_MODELS_DIR),
    encoder: { preset: e.REELMEND_ENCODER_PRESET, crf: e.REELMEND_ENCODER_CRF },
    keyPepper: e.REELMEND_KEY_PEPPER,
    linkSecret: e.REELMEND_LINK_SECRET,
    rateLimits: e.REELMEND_RATE_LIMITS,
    retentionDays: e.REELMEND_RETENTION_DAYS,
    uploadQuotaBytes: e.REELMEND_UPLOAD_QUOTA_GB * 1_000_000_000,
    console: e.REELMEND_CONSOLE,
    signUp: e.REELMEND_SIGN_UP,
    proxyHops: e.REELMEND_PROXY_HOPS,
    hstsSubdomains: e.REELMEND_HSTS_SUBDOMAINS,
    leaseSeconds: e.REELMEND_LEASE_SECONDS,
    drainSeconds: e.REELMEND_DRAIN_SECONDS,
    metricsHost: e.REELMEND_METRICS_HOST,
    metricsPort: variables['REELMEND_METRICS_PORT'] === undefined ? undefined : e.REELMEND_METRICS_PORT,
    tracesEndpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT,
    restart: e.REELMEND_RESTART,
    // At a terminal, JSON lines would hide the command's output.
    logLevel: e.REELMEND_LOG_LEVEL ?? (process.stderr.isTTY ? 'warn' : 'info'),
    s3:
      e.S3_BUCKET === undefined
        ? undefined
        : { endpoint: e.S3_ENDPOINT, publicEndpoint: e.S3_PUBLIC_ENDPOINT, bucket: e.S3_BUCKET, region: e.S3_REGION },
  };
}

/** A host as it stands in a URL: an IPv6 address in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

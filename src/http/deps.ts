/** The dependencies of the API. src/app creates the real ones, tests create fakes. */
import type { Jwks } from '../contract/types.gen.ts';
import type { MeasuredSource, Resolution } from '../domain/job.ts';
import type { VideoLimits } from '../domain/limits.ts';
import type { ModelDescription } from '../domain/models.ts';
import type { LoggedRequest } from '../domain/request-log.ts';
import type { Passwords } from '../domain/passwords.ts';
import type { FilesystemStorage } from '../storage/filesystem.ts';
import type { Storage } from '../storage/types.ts';
import type { Store } from '../store/index.ts';
import type { HttpStore, ServiceRateClass } from '../store/types.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Streams, StreamsOptions } from './streams.ts';

/** The part of pino that http uses. */
export interface HttpLogger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** The data of a finished request. The rest is derived when the batch is written. */
export interface RequestFacts extends Omit<LoggedRequest, 'id' | 'requestBody'> {
  /** the text of the JSON body; undefined for none */
  bodyText: string | undefined;
}

/** Collects what keys called (`createRequestLog`). */
export interface RequestLog {
  add(facts: RequestFacts): void;
  /** Writes the waiting entries; resolves even if that fails. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** The state of an audit log, to be signed. */
export interface AuditHeadFacts {
  account_id: string;
  /** number of entries */
  size: number;
  /** hash of the newest entry; 64 zeros for an empty log */
  hash: string;
  /** RFC 3339 UTC with milliseconds */
  signed_at: string;
}

/** The signing keys. */
export interface HttpEvidence {
  /** returns the head as a compact JWS */
  signHead(head: AuditHeadFacts): Promise<string>;
  /** returns the public keys, including retired ones */
  jwks(): Promise<Jwks>;
}

/** An object of the storage that holds a customer's video. */
export interface StoredVideo {
  key: string;
  sizeBytes: number;
}

export interface MeasureCall {
  accountId: string;
  signal: AbortSignal;
  /** called when the measurement begins, with the ms that it waited for others */
  onStart?(waitedMs: number): void;
}

export interface HttpDeps {
  store: HttpStore;
  /** This API serves the links of filesystem storage; links of S3 storage lead to the bucket. */
  storage: Storage | FilesystemStorage;
  /**
   * Measures a video behind a URL, or an object of the storage. Reads only the bytes that the demuxer needs. Rejects with
   * ReelmendError `url_not_allowed`, `video_unreachable`, `video_too_large`, `video_too_long`, `unreadable_video`, or
   * `service_unavailable` if too many videos are being measured. Stops soon after the signal is aborted.
   */
  measure(video: string | StoredVideo, request: MeasureCall): Promise<MeasuredSource>;
  /** Throws ReelmendError `url_not_allowed` for a URL that must not be fetched. Sends no request. */
  checkUrl(url: string): void;
  evidence: HttpEvidence;
  /** server secret for the hashes of API keys */
  keyPepper: string;
  /** base URL of this service as its clients know it, without a slash at the end */
  publicUrl(): string;
  /** the text of openapi.yaml */
  description: string;
  /** folder of the built documents; absent: /docs returns 404 */
  docsDir?: string;
  logger: HttpLogger;
  /** aborted when the process begins to stop: event streams end at once, and their clients reconnect to another process */
  stopping?: AbortSignal;
  /** free bytes of the disk that uploads are stored on; absent: the storage is not on this machine */
  freeBytes?(): Promise<number>;
  /** the log of the accounts' requests; absent: none is written */
  requestLog?: RequestLog;
  /** counts and times requests (`createHttpMetrics`); optional */
  metrics?: HttpMetrics;
  /** serves the console; optional */
  console?: ConsoleDeps;
  options?: HttpOptions;
}

/** The dependencies of the handlers, with the event streams that are open in this process. */
export type WithStreams = HttpDeps & { streams: Streams };

/** The dependencies of the console's handlers. */
export type WithConsole = WithStreams & { console: ConsoleDeps };

export interface ConsoleDeps {
  store: Store;
  passwords: Passwords;
  /** folder of the built page; without it the page returns 404 */
  pageDir: string;
  /** whether cookies are sent over https only */
  secureCookies: boolean;
  /** origins of the page other than the request's own Host (for proxies that change Host) */
  origins: readonly string[];
  /** other origins that the page may play videos from */
  mediaOrigins: readonly string[];
  /** URL of the bundled sample for live jobs; null if there is none */
  sampleUrl: string | null;
  /** `closed`: the API refuses sign-ups and the page does not offer them */
  signUp: 'open' | 'closed';
  /** number of reverse proxies in front whose X-Forwarded-For is trusted */
  proxyHops: number;
}

export interface HttpOptions {
  /** time limit of the measurement in POST /v1/jobs, ms; default 19,000, so that the call returns within 20 s */
  measureTimeoutMs?: number;
  /** largest JSON body in bytes; default 65,536 */
  bodyLimitBytes?: number;
  /** time limit for receiving a JSON body, ms; default 30,000 */
  bodyTimeoutMs?: number;
  /** the installed models, without `auto` and `none`; default: none */
  models?: readonly ModelDescription[];
  /** limits of a video; default: those of the specification */
  limits?: VideoLimits;
  /** whether the header Strict-Transport-Security covers subdomains; default false */
  hstsSubdomains?: boolean;
  /** limits by class; middleware/rate-limit.ts has the defaults and the windows */
  rateLimits?: Partial<Record<ServiceRateClass, number>>;
  /** days that files of jobs of the Standard tier are kept; default 30 */
  retentionDays?: number;
  /** bytes that all uploads of an approved account may have, in each mode; default 20,000,000,000 */
  uploadQuotaBytes?: number;
  /** concurrent enhancements of an account, for customers to read; 0 or absent: no limit */
  enhancementsPerAccount?: number;
  /** duration of a test job for quotes, ms; default 2000 */
  testModeDelayMs?: number;
  /** seconds of processing per second of video, for quotes of installations without finished jobs */
  processingRates?: Readonly<Record<Resolution, number>>;
  /** the encoder's CRF for jobs of standard quality, for the size in quotes; default 16 */
  encoderCrf?: number;
  /** ms between two comments on an idle event stream; default 15,000 */
  eventHeartbeatMs?: number;
  /** longest duration of an event stream, ms; default 15 min. Clients reconnect */
  eventStreamMs?: number;
  /** limits of open event streams, and how often their credentials are checked */
  streams?: Omit<StreamsOptions, 'usable'>;
  /** how long DELETE waits for the certificate of a Secure job, ms; default 3000 */
  certificateWaitMs?: number;
}

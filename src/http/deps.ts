/** What the API is built from; main.ts makes the real ones, tests make fakes. */
import type { Jwks } from '../contract/types.gen.ts';
import type { MeasuredSource, Resolution } from '../domain/job.ts';
import type { Passwords } from '../domain/passwords.ts';
import type { FilesystemStorage } from '../storage/filesystem.ts';
import type { Storage } from '../storage/types.ts';
import type { KeptUpload, Upload } from '../storage/uploads.ts';
import type { Store } from '../store/index.ts';
import type { HttpStore, RateClass } from '../store/types.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Streams, StreamsOptions } from './streams.ts';

/** The part of pino that http uses. */
export interface HttpLogger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** State of an account's audit log, to be signed. */
export interface AuditHeadFacts {
  account_id: string;
  /** number of entries */
  size: number;
  /** of the newest entry; 64 zeros of an empty log */
  hash: string;
  /** RFC 3339 UTC with milliseconds */
  signed_at: string;
}

/** The signing keys, as far as http uses them. */
export interface HttpEvidence {
  /** compact JWS of the head */
  signHead(head: AuditHeadFacts): Promise<string>;
  /** the public keys, retired ones included */
  jwks(): Promise<Jwks>;
}

export interface HttpDeps {
  store: HttpStore;
  /** Links of the filesystem storage are served by this API; those of S3 lead to the bucket. */
  storage: Storage | FilesystemStorage;
  /**
   * Measures a remote video by reading only what the demuxer asks for. Rejects with ReelmendError
   * `url_not_allowed`, `video_unreachable`, `video_too_large`, `video_too_long`, `unreadable_video` or, when this
   * service has no room for it now, `service_unavailable`; an aborted signal ends it soon.
   */
  measure(url: string, request: { accountId: string; signal: AbortSignal }): Promise<MeasuredSource>;
  /** Throws ReelmendError `url_not_allowed` for an address that no request is ever sent to. Sends nothing. */
  checkUrl(url: string): void;
  evidence: HttpEvidence;
  /** server secret under which keys are hashed */
  keyPepper: string;
  /** openapi.yaml as authored */
  description: string;
  logger: HttpLogger;
  /** counts and times requests when given (`createHttpMetrics`) */
  metrics?: HttpMetrics;
  /** serves the console when given */
  console?: ConsoleDeps;
  options?: HttpOptions;
}

/** What handlers get: the open streams of events are counted over all of them. */
export type WithStreams = HttpDeps & { streams: Streams };

/** What the console's handlers get. */
export type WithConsole= WithStreams & { console: ConsoleDeps };

export interface Uploads {
  /**
   * Keeps the file and returns an address that live jobs may use. Throws ReelmendError `payload_too_large`,
   * `invalid_request` for an empty one, `rate_limit_exceeded` over the account's quota, or `service_unavailable`
   * without room on disk; nothing is kept then.
   */
  save(body: AsyncIterable<Uint8Array>, upload: Upload): Promise<KeptUpload>;
}

export interface ConsoleDeps {
  store: Store;
  passwords: Passwords;
  /** folder of the built page; the page answers 404 as long as it is not built */
  pageDir: string;
  /** whether cookies are sent over https only */
  secureCookies: boolean;
  /** origins of the page beside the address that the browser asked (behind a proxy that changes Host) */
  origins: readonly string[];
  /** origins that videos are played from beside the page's own */
  mediaOrigins: readonly string[];
  /** address of the bundled sample that live jobs can fetch; null where there is none */
  sampleUrl: string | null;
  /** takes files of a local demo; absent elsewhere */
  uploads?: Uploads;
  /** `closed`: sign-ups are refused, and the page offers none */
  signUp: 'open' | 'closed';
  /** reverse proxies in front, whose X-Forwarded-For is believed */
  proxyHops: number;
}

export interface HttpOptions {
  /** ms that the measurement inside POST /v1/jobs may take; default 19,000, so that the call answers within 20 s */
  measureTimeoutMs?: number;
  /** bytes of a request body; default 65,536 */
  bodyLimitBytes?: number;
  /** ms that a JSON body may take to arrive; default 30,000 */
  bodyTimeoutMs?: number;
  /** names of installed models beside `auto` and `none`; default: no others */
  models?: readonly string[];
  /** calls a minute and key, by class (src/http/middleware/rate-limit.ts has the defaults) */
  rateLimits?: Partial<Record<RateClass, number>>;
  /** ms that a sandbox job takes, for quotes; default 2000 */
  sandboxDelayMs?: number;
  /** seconds of processing for one second of video, for quotes of accounts without finished jobs */
  processingRates?: Readonly<Record<Resolution, number>>;
  /** ms between two comments on an idle stream of events; default 15,000 */
  eventHeartbeatMs?: number;
  /** ms after which a stream of events is ended, to be opened again; default 15 min */
  eventStreamMs?: number;
  /** how many streams of events may be open at a time, and how often their keys are looked at */
  streams?: Omit<StreamsOptions, 'usable'>;
  /** ms that DELETE waits for the certificate of a job of the Secure tier; default 3000 */
  certificateWaitMs?: number;
}

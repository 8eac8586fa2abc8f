/** The part of the store that src/http needs, as interfaces; the files of queries implement them. */
import type { KeyAccess } from '../domain/api-key.ts';
import type { ApprovalStatus } from '../domain/approval.ts';
import type { AuditEntry } from '../domain/audit.ts';
import type { Enhancements, JobPicture, JobRecord, JobStatus, Mode, MeasuredSource, OutputSettings, Resolution, Tier } from '../domain/job.ts';
import type { PreviewFacts } from '../domain/previews.ts';
import type { TimeSample } from '../domain/processing-time.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { LoggedRequest } from '../domain/request-log.ts';
import type { Role } from '../domain/roles.ts';
import type { UploadRecord } from '../domain/uploads.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';

export interface Account {
  id: string;
  name: string;
  plan: string;
  approvalStatus: ApprovalStatus;
  /** live credits, 1 credit = 1 US cent */
  credits: number;
  retentionDays: number;
  createdAt: Date;
  /** set by an operator, instead of the service's limits */
  quotas: Quotas;
}

/** An account for operators: a closed one is still in the books. */
export interface AccountRecord extends Account {
  closedAt: Date | null;
}

/** A user of the console. */
export interface ConsoleUser {
  id: string;
  accountId: string;
  email: string;
  /** what the user may do in the account */
  role: Role;
  /** whether the user may open the operator pages */
  operator: boolean;
  createdAt: Date;
}

/** The caller of a request. */
export type Principal = KeyPrincipal | UserPrincipal;

interface Caller {
  mode: Mode;
  tier: Tier;
  account: Account;
}

/** The caller of a request of the API: an active key. */
export interface KeyPrincipal extends Caller {
  kind: 'key';
  keyId: string;
  /** empty: no name */
  name: string;
  access: KeyAccess;
  /** as recorded before this request */
  lastUsedAt: Date | null;
}

/** The caller of a request of the console: a signed-in user. */
export interface UserPrincipal extends Caller {
  kind: 'user';
  userId: string;
  sessionId: string;
}

/** The actor in the audit log. Empty: the operator's command line, or the service itself. */
export interface Actor {
  key_id?: string;
  /** absent for a key without a name */
  key_name?: string;
  user_id?: string;
}

export interface CreateJob {
  account: { id: string; retentionDays: number };
  /** days that files of jobs of the Standard tier are kept; default 30 */
  standardRetentionDays?: number | undefined;
  mode: Mode;
  tier: Tier;
  resolution: Resolution;
  /** null for a job from an upload */
  videoUrl: string | null;
  upload?: { id: string; fileName: string } | null;
  webhookUrl: string | null;
  model: string | null;
  enhancements: Enhancements;
  outputSettings?: OutputSettings;
  /** absent or null unless the job is a preview */
  preview?: PreviewFacts | null;
  metadata: Record<string, string>;
  durationSeconds: number;
  source: MeasuredSource | null;
  /** the price by src/domain/pricing.ts; 0 in test mode */
  credits: number;
  idempotency: Idempotency | null;
  /** W3C Trace Context of the request, if it is traced */
  traceparent?: string | null;
  /** for the audit log */
  actor?: Actor;
  /** of a caller of the console: it must be open still */
  sessionId?: string | undefined;
}

export interface Idempotency {
  key: string;
  /** SHA-256 (hex) of the canonical request body */
  fingerprint: string;
}

export interface ListJobs {
  accountId: string;
  mode: Mode;
  limit: number;
  startingAfter?: string;
  status?: JobStatus;
  /** inclusive */
  createdAfter?: Date;
  /** exclusive */
  createdBefore?: Date;
  /** `name=value`; not for previews */
  metadata?: string;
  /** previews instead of jobs; absent: jobs */
  previews?: boolean;
}

export interface DeletedJob {
  id: string;
  deletedAt: Date;
  refundedCredits: number;
}

export interface CreateUpload {
  accountId: string;
  mode: Mode;
  fileName: string;
  sizeBytes: number;
  /** the checksum that the customer sent */
  sha256: string | null;
  /** limit of the bytes of all uploads of the account and mode */
  quotaBytes: number;
  idempotency?: Idempotency | null;
  /** for the audit log */
  actor?: Actor;
}

/** The checksum that the customer sent. */
export interface UploadChecksum {
  /** null: the one given at creation */
  sha256: string | null;
  /** of each part */
  partSha256: string[] | null;
}

export interface ListUploads {
  accountId: string;
  mode: Mode;
  limit: number;
  startingAfter?: string;
}

export interface DeletedUpload {
  id: string;
  deletedAt: Date;
}

export interface UploadStore {
  /**
   * The upload that was created with this idempotency key; null for a new key. Throws ReelmendError `idempotency_key_reused` if it was used
   * with another body.
   */
  findReplay(accountId: string, mode: Mode, idempotency: Idempotency): Promise<UploadRecord | null>;
  /**
   * Throws ReelmendError `upload_quota_exceeded` or `idempotency_key_reused`. `replayed` is true if another request with the same key won.
   */
  create(input: CreateUpload): Promise<{ upload: UploadRecord; replayed: boolean }>;
  /**
   * Stores the storage's id of the transfer, and returns it, or that of an earlier transfer if there is one. null if the upload was deleted
   * meanwhile: the transfer is destroyed.
   */
  begin(id: string, multipartId: string): Promise<string | null>;
  /** Deletes an upload unless its transfer has begun. Its idempotency key can be used again. */
  abandon(accountId: string, mode: Mode, id: string): Promise<void>;
  /** null for an upload that is unknown, deleted, of another account or of the other mode. */
  get(accountId: string, mode: Mode, id: string): Promise<UploadRecord | null>;
  /** Newest first; `startingAfter` is an exclusive id. */
  list(query: ListUploads): Promise<{ uploads: UploadRecord[]; hasMore: boolean }>;
  /** Queues the verification. An upload that does not wait for parts stays as it is. null like `get`. */
  complete(accountId: string, mode: Mode, id: string, checksum: UploadChecksum): Promise<UploadRecord | null>;
  /** Deletes an upload; a queued task destroys its file. null like `get`. */
  delete(accountId: string, mode: Mode, id: string, actor?: Actor): Promise<DeletedUpload | null>;
  /** Bytes of all uploads that are not verified yet. */
  expectedBytes(): Promise<number>;
}

export interface KeyStore {
  /** The principal of a key hash; null when unknown, revoked or expired. */
  authenticate(keyHash: Buffer): Promise<KeyPrincipal | null>;
  /** Which of the keys may still be used: neither revoked nor expired, live ones of an approved account. */
  usable(keyIds: string[]): Promise<Set<string>>;
}

export interface AccountStore {
  get(accountId: string): Promise<Account | null>;
  /**
   * Sets the retention of new jobs, `days` 1…365, with its entry in the audit log, in one transaction. The current value
   * again has no effect. null for an unknown or closed account.
   */
  setRetention(accountId: string, days: number, actor: Actor): Promise<Account | null>;
}

/**
 * Classes of calls that the service limits, per key (REELMEND_RATE_LIMITS). `auth`: signing up and in at the console, per IP address.
 * `pending`: jobs per day of an account that is not approved.
 */
export type ServiceRateClass = 'create' | 'read' | 'other' | 'auth' | 'pending';

/** `daily`: live jobs per day of an account with that quota; the service itself has no such limit. */
export type RateClass = ServiceRateClass | 'daily';

export interface RateLimitResult {
  allowed: boolean;
  /** calls left */
  remaining: number;
  /** seconds until the quota is full again */
  resetS: number;
  /** seconds until the next call is allowed; 0 if this one was */
  retryAfterS: number;
}

export interface RatePolicy {
  /** calls per window */
  limit: number;
  windowS: number;
  /** the account, whose keys together have a limit, too */
  account?: { id: string; limit: number };
}

/** One limiter for all API processes: GCRA in the database, by its clock. */
export interface RateLimitStore {
  take(keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<RateLimitResult>;
  /** Gives back one call that was allowed under the same policy. */
  giveBack(keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<void>;
  /** Resets the quota to full. */
  forget(keyId: string, rateClass: RateClass): Promise<void>;
}

export interface AuditStore {
  /** Newest first; `startingAfter` is an exclusive sequence number. `head` is of the whole log. */
  list(query: { accountId: string; limit: number; startingAfter?: number; jobId?: string }): Promise<{
    entries: AuditEntry[];
    hasMore: boolean;
    head: { size: number; hash: string };
  }>;
  /**
   * Records that a link to a source or a result, or to a piece of the result, was handed out. One entry covers all accesses of the
   * same key or user to the same source, result or piece in the hour after it.
   */
  record(entry: {
    accountId: string;
    kind: 'source.accessed' | 'result.accessed';
    jobId?: string;
    data?: Record<string, unknown>;
  }): Promise<void>;
}

/** A deletion certificate, or why there is none. */
export type CertificateState =
  | { state: 'issued'; jws: string }
  /** deleted, but the storage has not yet confirmed that every object is absent */
  | { state: 'pending' }
  | { state: 'not_deleted' };

export interface CertificateStore {
  /** null for a job that is unknown, of another account, of the other mode, or not of the Secure tier. */
  get(accountId: string, mode: Mode, jobId: string): Promise<CertificateState | null>;
}

/** A part of a video that is enhanced on its own. */
export interface JobSegment {
  number: number;
  startSeconds: number;
  endSeconds: number;
  state: 'pending' | 'running' | 'done';
  /** 0…1 */
  progress: number;
  /** key of its stored piece; null until it is done */
  key: string | null;
}

export interface JobStore {
  /**
   * The job that was created with this idempotency key, for a replay before anything is measured; null for a new key. Throws
   * ReelmendError `idempotency_key_reused` if it was used with another body.
   */
  findReplay(accountId: string, mode: Mode, idempotency: Idempotency): Promise<JobRecord | null>;
  /**
   * One transaction: idempotency key, job, charge, event row, queue row. Throws ReelmendError `insufficient_credits` or
   * `idempotency_key_reused`. `replayed` is true if another request with the same key won.
   */
  create(input: CreateJob): Promise<{ job: JobRecord; replayed: boolean }>;
  /** A job or a preview. null if it is unknown, deleted, of another account or of the other mode. */
  get(accountId: string, mode: Mode, jobId: string): Promise<JobRecord | null>;
  /** Newest first. */
  list(query: ListJobs): Promise<{ jobs: JobRecord[]; hasMore: boolean }>;
  /** Start and end times of the installation's latest live jobs, of all accounts; at most `limit`. */
  latestTimes(limit: number): Promise<TimeSample[]>;
  /** Storage keys of the finished output and its pictures; null if there is no output. */
  resultFiles(jobId: string): Promise<{ outputKey: string; pictures: JobPicture[] } | null>;
  /** The segments of a job in order; empty if it has none. */
  segments(jobId: string): Promise<JobSegment[]>;
  /**
   * Cancels or deletes a job, with the refund of domain/refunds.ts; a queued task destroys the files. null for an unknown
   * job.
   */
  delete(accountId: string, mode: Mode, jobId: string, actor?: Actor): Promise<DeletedJob | null>;
  /**
   * Yields the job now and after every change of its status, progress or remaining time, until it has ended, is deleted, or the
   * signal is aborted. One LISTEN connection per process serves all watchers; a poll every few seconds covers lost notifications.
   */
  watch(accountId: string, mode: Mode, jobId: string, signal: AbortSignal): AsyncIterable<JobRecord>;
}

export interface WebhookEndpointRecord {
  /** `hook_…` */
  id: string;
  accountId: string;
  mode: Mode;
  url: string;
  events: WebhookEvent[];
  description: string;
  enabled: boolean;
  createdAt: Date;
}

export type CreateWebhookEndpoint = Pick<WebhookEndpointRecord, 'accountId' | 'mode' | 'url' | 'events' | 'description'>;
export type UpdateWebhookEndpoint = Partial<Pick<WebhookEndpointRecord, 'url' | 'events' | 'description' | 'enabled'>>;

/** Both modes unless one is named. */
export interface WhichWebhookEndpoint {
  accountId: string;
  id: string;
  mode?: Mode;
}

/** An endpoint with its newest secret, which is shown only after its creation. */
export interface NewEndpointSecret {
  endpoint: WebhookEndpointRecord;
  secret: string;
  /** when `x-service-signature` switches to it automatically; null if it signs already */
  switchesAt: Date | null;
}

/** null if it is unknown, of another account or of the other mode. */
export interface WebhookEndpointStore {
  /** Throws ReelmendError `webhook_endpoint_limit_reached`. */
  create(input: CreateWebhookEndpoint, actor?: Actor): Promise<NewEndpointSecret>;
  /** Newest first; both modes unless one is named. */
  list(accountId: string, mode?: Mode): Promise<WebhookEndpointRecord[]>;
  get(which: WhichWebhookEndpoint): Promise<WebhookEndpointRecord | null>;
  update(which: WhichWebhookEndpoint, change: UpdateWebhookEndpoint, actor?: Actor): Promise<WebhookEndpointRecord | null>;
  /** False where the others return null. */
  delete(which: WhichWebhookEndpoint, actor?: Actor): Promise<boolean>;
  rotateSecret(which: WhichWebhookEndpoint, actor?: Actor): Promise<NewEndpointSecret | null>;
  /** `x-service-signature` uses the newest secret from now on. */
  switchSecret(which: WhichWebhookEndpoint, actor?: Actor): Promise<WebhookEndpointRecord | null>;
  /** Queues a test event; returns the id of its delivery. */
  test(which: WhichWebhookEndpoint, event: WebhookEvent): Promise<string | null>;
}

export interface ListRequestLog {
  accountId: string;
  /** both modes unless one is named */
  mode?: Mode | undefined;
  keyId?: string | undefined;
  requestId?: string | undefined;
  resourceId?: string | undefined;
  /** inclusive */
  statuses?: { from: number; to: number } | undefined;
  startingAfter?: string | undefined;
  limit: number;
}

export interface RequestLogStore {
  append(entries: readonly LoggedRequest[]): Promise<void>;
  /** Newest first; `startingAfter` is an exclusive id. */
  page(query: ListRequestLog): Promise<LoggedRequest[]>;
}

export type TransferKind = 'grant' | 'withdrawal' | 'charge' | 'refund';

export interface LedgerLine {
  id: number;
  kind: TransferKind;
  /** credits, negative if taken */
  amount: number;
  balance: number;
  jobId: string | null;
  note: string;
  at: Date;
}

export interface UsageQuery {
  accountId: string;
  interval: 'day' | 'month';
  /** first and last day, `2026-11-21`, UTC */
  from: string;
  to: string;
}

export interface UsagePeriod {
  /** `2026-11-21` or `2026-11`, UTC */
  period: string;
  /** charged jobs and previews */
  jobs: number;
  /** billed seconds */
  seconds: number;
  credits: number;
  refunded: number;
}

export interface StatementStore {
  /** Live credit transfers, newest first; `startingAfter` is an exclusive number. */
  ledger(query: { accountId: string; limit: number; startingAfter?: number | undefined }): Promise<LedgerLine[]>;
  /** Of the live transfers. Oldest first, also periods without transfers. */
  usage(query: UsageQuery): Promise<UsagePeriod[]>;
}

/** The part of the store that http needs. */
export interface HttpStore {
  keys: KeyStore;
  accounts: AccountStore;
  jobs: JobStore;
  uploads: UploadStore;
  rateLimits: RateLimitStore;
  audit: AuditStore;
  certificates: CertificateStore;
  webhookEndpoints: WebhookEndpointStore;
  requestLog: RequestLogStore;
  statements: StatementStore;
  /** true if the database responds within seconds, for readiness */
  ping(): Promise<boolean>;
}

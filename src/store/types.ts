/** What http and jobs may ask of the database. One file of queries per aggregate implements it. */
import type { AuditEntry } from '../domain/audit.ts';
import type { Enhancements, JobRecord, JobStatus, Mode, MeasuredSource, Resolution, Tier } from '../domain/job.ts';

export type ApprovalStatus = 'pending' | 'approved' | 'rejected';

export interface Account {
  id: string;
  name: string;
  plan: string;
  approvalStatus: ApprovalStatus;
  /** live credits, 1 credit = 1 US cent */
  credits: number;
  sandboxCredits: number;
  retentionDays: number;
  createdAt: Date;
}

/** Who makes a request: one live key and its account. */
export interface Principal {
  keyId: string;
  mode: Mode;
  tier: Tier;
  account: Account;
}

export interface CreateJob {
  account: { id: string; retentionDays: number };
  mode: Mode;
  tier: Tier;
  resolution: Resolution;
  videoUrl: string;
  webhookUrl: string | null;
  model: string | null;
  enhancements: Enhancements;
  metadata: Record<string, string>;
  durationSeconds: number;
  source: MeasuredSource | null;
  /** already priced by src/domain/pricing.ts; 0 in the sandbox */
  credits: number;
  idempotency: Idempotency | null;
  /** W3C Trace Context of the request, where that is traced */
  traceparent?: string | null;
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
}

export interface DeletedJob {
  id: string;
  deletedAt: Date;
  refundedCredits: number;
}

export interface KeyStore {
  /** The principal of a key hash; null when unknown, revoked or expired. */
  authenticate(keyHash: Buffer): Promise<Principal | null>;
  /** Those of the keys that may still be used: neither revoked nor expired, live ones of an approved account. */
  usable(keyIds: string[]): Promise<Set<string>>;
}

/** Who set the retention, for the audit log. */
export type RetentionActor = { key_id: string } | { user_id: string };

export interface AccountStore {
  get(accountId: string): Promise<Account | null>;
  /**
   * Sets the retention of jobs made from now on, `days` 1…365, with its entry in the audit log, in one transaction.
   * A value that the account has changes nothing. null for an unknown or closed account.
   */
  setRetention(accountId: string, days: number, actor: RetentionActor): Promise<Account | null>;
}

/**
 * Classes of calls with a limit of their own, per key; `auth`: signing up and in at the console, per address; `pending`:
 * jobs a day of an account that is not approved.
 */
export type RateClass = 'create' | 'read' | 'other' | 'auth' | 'pending';

export interface RateVerdict {
  allowed: boolean;
  /** calls left at once */
  remaining: number;
  /** seconds until the full quota is back */
  resetS: number;
  /** seconds until one call is allowed again; 0 when allowed */
  retryAfterS: number;
}

export interface RatePolicy {
  /** calls in a window */
  limit: number;
  windowS: number;
  /** whose calls of the class, of all its keys together, have a limit as well */
  account?: { id: string; limit: number };
}

/** One limiter for all API processes: GCRA, one UPSERT a call, by the database's clock. */
export interface RateLimitStore {
  take(keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<RateVerdict>;
  /** Gives back one call that was allowed under the same policy. */
  giveBack(keyId: string, rateClass: RateClass, policy: RatePolicy): Promise<void>;
  /** Gives the whole quota back at once. */
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
   * Appends what only http sees (a result's link was handed out). One entry of an access stands
   * for all by the same key or user to the same job in the hour after it.
   */
  record(entry: {
    accountId: string;
    kind: 'result.accessed';
    jobId?: string;
    data?: Record<string, unknown>;
  }): Promise<void>;
}

/** A deletion certificate, or why there is none yet. */
export type CertificateState =
  | { state: 'issued'; jws: string }
  /** deleted, but the storage has not yet answered that every object is absent */
  | { state: 'pending' }
  | { state: 'not_deleted' };

export interface CertificateStore {
  /** null for an unknown job, another account's, the other mode's, or one that was not of the Secure tier. */
  get(accountId: string, mode: Mode, jobId: string): Promise<CertificateState | null>;
}

export interface JobStore {
  /**
   * The job already made under this idempotency key, for a replay before anything is measured; null when the
   * key is new. Throws ReelmendError `idempotency_key_reused` when it was used with another body.
   */
  findReplay(accountId: string, mode: Mode, idempotency: Idempotency): Promise<JobRecord | null>;
  /**
   * One transaction: idempotency key, job, charge, event row, queue row. Throws ReelmendError
   * `insufficient_credits` or `idempotency_key_reused`. `replayed` is true when another request with the
   * same key won.
   */
  create(input: CreateJob): Promise<{ job: JobRecord; replayed: boolean }>;
  /** null for unknown, deleted, another account's or the other mode's job. */
  get(accountId: string, mode: Mode, jobId: string): Promise<JobRecord | null>;
  list(query: ListJobs): Promise<{ jobs: JobRecord[]; hasMore: boolean }>;
  /** Storage key of the finished output; null when there is none. */
  outputKey(jobId: string): Promise<string | null>;
  /** Cancels or deletes with the refund the decisions name; files are destroyed by a queued task. null = unknown. */
  delete(accountId: string, mode: Mode, jobId: string): Promise<DeletedJob | null>;
  /**
   * The job now and after every change of its status or progress, until it has ended, is deleted, or the signal
   * fires (then it just ends). One LISTEN connection a process, whatever the number of watchers; a slow look every
   * few seconds covers lost notifications.
   */
  watch(accountId: string, mode: Mode, jobId: string, signal: AbortSignal): AsyncIterable<JobRecord>;
}

/** The part of the store that http needs. */
export interface HttpStore {
  keys: KeyStore;
  accounts: AccountStore;
  jobs: JobStore;
  rateLimits: RateLimitStore;
  audit: AuditStore;
  certificates: CertificateStore;
  /** true when the database answers, for readiness */
  ping(): Promise<boolean>;
}

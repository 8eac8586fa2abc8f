/** The tables as Drizzle sees them. The migrations define them, with every constraint; a test compares both. */
import { sql } from './orm.ts';
import {
  bigint,
  boolean,
  customType,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';
import type { ApprovalStatus } from '../domain/approval.ts';
import type { KeyAccess } from '../domain/api-key.ts';
import type { JobErrorCode } from '../domain/errors.ts';
import type {
  AppliedEnhancements,
  Enhancements,
  JobPicture,
  JobStatus,
  Mode,
  OutputFacts,
  OutputSettings,
  Resolution,
  MeasuredSource,
  Tier,
} from '../domain/job.ts';
import type { Role } from '../domain/roles.ts';
import type { PreviewFacts } from '../domain/previews.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { LoggedError } from '../domain/request-log.ts';
import type { UploadErrorCode, UploadStatus } from '../domain/uploads.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';
import type { TransferKind } from './types.ts';

const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });
const timestamptz = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
const bigintNumber = (name: string) => bigint(name, { mode: 'number' });

export const accounts = pgTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  plan: text('plan').notNull().default('standard'),
  approvalStatus: text('approval_status').$type<ApprovalStatus>().notNull().default('pending'),
  credits: bigintNumber('credits').notNull().default(0),
  retentionDays: integer('retention_days').notNull().default(30),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  closedAt: timestamptz('closed_at'),
  quotas: jsonb('quotas').$type<Quotas>().notNull().default({}),
});

export const apiKeys = pgTable('api_keys', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  hash: bytea('hash').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  tier: text('tier').$type<Tier>().notNull(),
  lastFour: text('last_four').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at'),
  revokedAt: timestamptz('revoked_at'),
  lastUsedAt: timestamptz('last_used_at'),
  name: text('name').notNull().default(''),
  access: text('access').$type<KeyAccess>().notNull().default('full'),
});

/** `segments`: the segments of a video are enhanced, each under a lease of its own. `join`: their pieces are joined. */
export const steps = ['ingest', 'enhance', 'segments', 'join', 'test_mode'] as const;
export type Step = (typeof steps)[number];

/** The largest integer of PostgreSQL. A remaining time is an estimate and may be anything, as when a clock was set. */
export const longestEtaS = 2 ** 31 - 1;

export const jobs = pgTable('jobs', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  tier: text('tier').$type<Tier>().notNull(),
  status: text('status').$type<JobStatus>().notNull().default('queued'),
  resolution: text('resolution').$type<Resolution>().notNull(),
  videoUrl: text('video_url'),
  webhookUrl: text('webhook_url'),
  model: text('model'),
  enhancements: jsonb('enhancements').$type<Enhancements>().notNull().default({}),
  outputSettings: jsonb('output_settings').$type<OutputSettings>().notNull().default({}),
  metadata: jsonb('metadata').$type<Record<string, string>>().notNull().default({}),
  durationSeconds: integer('duration_seconds').notNull(),
  creditsCharged: bigintNumber('credits_charged').notNull(),
  creditsRefunded: bigintNumber('credits_refunded').notNull().default(0),
  progress: doublePrecision('progress').notNull().default(0),
  /** of the attempt that holds the lease */
  attemptProgress: doublePrecision('attempt_progress').notNull().default(0),
  etaSeconds: integer('eta_seconds'),
  source: jsonb('source').$type<MeasuredSource>(),
  output: jsonb('output').$type<OutputFacts>(),
  applied: jsonb('applied').$type<AppliedEnhancements>(),
  errorCode: text('error_code').$type<JobErrorCode>(),
  errorMessage: text('error_message'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  startedAt: timestamptz('started_at'),
  finishedAt: timestamptz('finished_at'),
  expiresAt: timestamptz('expires_at').notNull(),
  deletedAt: timestamptz('deleted_at'),
  deletedBy: text('deleted_by').$type<DeletedBy>(),
  /** deleted and waits for its certificate; set by triggers (functions/jobs_certificate_due.sql) */
  certificateDue: boolean('certificate_due').notNull().default(false),
  uploadId: text('upload_id'),
  fileName: text('file_name'),
  step: text('step').$type<Step>().notNull(),
  traceparent: text('traceparent'),
  originalKey: text('original_key'),
  outputKey: text('output_key'),
  pictures: jsonb('pictures').$type<JobPicture[]>(),
  /** grows with each lease */
  attempt: integer('attempt').notNull().default(0),
  /** leases that have expired */
  crashes: integer('crashes').notNull().default(0),
  /** of the current step, those that count */
  failures: integer('failures').notNull().default(0),
  /** while no other job could free any disk space */
  insufficientDiskSince: timestamptz('insufficient_disk_since'),
  diskWaitSince: timestamptz('disk_wait_since'),
  infrastructureFaultSince: timestamptz('infrastructure_fault_since'),
  deviceClass: text('device_class').$type<DeviceClass>(),
  unservedSince: timestamptz('unserved_since'),
  leaseOwner: text('lease_owner'),
  leaseExpiresAt: timestamptz('lease_expires_at'),
  /** of workers that have segments of a plan that was given up */
  formerLeasesExpireAt: timestamptz('former_leases_expire_at'),
  segmentPlan: text('segment_plan'),
  inOnePiece: boolean('in_one_piece').notNull().default(false),
  preview: jsonb('preview').$type<PreviewFacts>(),
});

/** The hashes of the jobs' metadata. A trigger keeps them (functions/job_metadata.sql). */
export const jobMetadata = pgTable(
  'job_metadata',
  {
    accountId: text('account_id').notNull(),
    mode: text('mode').$type<Mode>().notNull(),
    /** SHA-256 of `name=value` */
    pair: bytea('pair').notNull(),
    jobId: text('job_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.mode, table.pair, table.jobId] })],
);

/** The names of the jobs' videos, for searches. A trigger keeps them (functions/job_names.sql). */
export const jobNames = pgTable(
  'job_names',
  {
    accountId: text('account_id').notNull(),
    mode: text('mode').$type<Mode>().notNull(),
    jobId: text('job_id').notNull(),
    /** in lower case, of at most 200 characters; a segment of a URL without its escapes */
    name: text('name').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.mode, table.jobId] })],
);

export type DeletedBy = 'customer' | 'retention' | 'operator';
export const objectRoles = ['original', 'output', 'poster', 'thumbnail', 'segment', 'clip'] as const;
export type ObjectRole = (typeof objectRoles)[number];

export const uploads = pgTable('uploads', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  status: text('status').$type<UploadStatus>().notNull().default('waiting'),
  fileName: text('file_name'),
  sizeBytes: bigintNumber('size_bytes').notNull(),
  partSizeBytes: integer('part_size_bytes').notNull(),
  sha256: text('sha256'),
  partSha256: text('part_sha256').array(),
  key: text('key').notNull(),
  multipartId: text('multipart_id'),
  version: text('version'),
  errorCode: text('error_code').$type<UploadErrorCode>(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  completedAt: timestamptz('completed_at'),
  expiresAt: timestamptz('expires_at').notNull(),
  deletedAt: timestamptz('deleted_at'),
  deletedBy: text('deleted_by').$type<DeletedBy>(),
  destroyedAt: timestamptz('destroyed_at'),
  /** a job was created from it, so the row is kept for ever (`prune` in uploads.ts) */
  kept: boolean('kept').notNull().default(false),
});

export const objects = pgTable('objects', {
  key: text('key').primaryKey(),
  jobId: text('job_id').notNull(),
  attempt: integer('attempt').notNull(),
  role: text('role').$type<ObjectRole>().notNull(),
  state: text('state').$type<'pending' | 'stored' | 'destroyed'>().notNull().default('pending'),
  sizeBytes: bigintNumber('size_bytes'),
  sha256: text('sha256'),
  version: text('version'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  storedAt: timestamptz('stored_at'),
  destroyedAt: timestamptz('destroyed_at'),
});

/** The stored result of one segment of a job. */
export interface SegmentResult {
  applied: AppliedEnhancements;
  device: string;
}

export const segments = pgTable(
  'segments',
  {
    jobId: text('job_id').notNull(),
    number: integer('number').notNull(),
    startSeconds: doublePrecision('start_seconds').notNull(),
    endSeconds: doublePrecision('end_seconds').notNull(),
    frames: bigintNumber('frames').notNull(),
    deviceClass: text('device_class').$type<DeviceClass>().notNull(),
    /** that planned it and is to make it; null: any */
    engine: text('engine'),
    state: text('state').$type<'pending' | 'running' | 'done'>().notNull().default('pending'),
    attempt: integer('attempt').notNull().default(0),
    failures: integer('failures').notNull().default(0),
    crashes: integer('crashes').notNull().default(0),
    diskWaitSince: timestamptz('disk_wait_since'),
    infrastructureFaultSince: timestamptz('infrastructure_fault_since'),
    progress: doublePrecision('progress').notNull().default(0),
    leaseOwner: text('lease_owner'),
    leaseExpiresAt: timestamptz('lease_expires_at'),
    objectKey: text('object_key'),
    sha256: text('sha256'),
    result: jsonb('result').$type<SegmentResult>(),
    queued: boolean('queued').notNull().default(true),
    priority: smallint('priority').notNull().default(0),
    startedAt: timestamptz('started_at'),
    /** only workers of the previous version read and write it */
    moved: boolean('moved').notNull().default(false),
    /** a link to its piece was handed out; only the API of the previous version reads and writes it */
    linked: boolean('previewed').notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.number] })],
);

export const deviceClasses = ['cpu', 'cuda'] as const;
export type DeviceClass = (typeof deviceClasses)[number];

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: text('account_id').notNull(),
    mode: text('mode').$type<Mode>().notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    /** of the job or preview that it created; else null */
    jobId: text('job_id'),
    /** of the upload that it created; else null */
    uploadId: text('upload_id'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.mode, table.key] })],
);

export const creditIdempotencyKeys = pgTable(
  'credit_idempotency_keys',
  {
    accountId: text('account_id').notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.key] })],
);

export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  pools: text('pools').array().notNull().default([]),
  startedAt: timestamptz('started_at').notNull().defaultNow(),
  heartbeatAt: timestamptz('heartbeat_at').notNull().defaultNow(),
  host: text('host'),
  concurrency: integer('concurrency'),
  devices: jsonb('devices').$type<WorkerDevice[]>().notNull().default([]),
  deviceClasses: text('device_classes').array().$type<DeviceClass[]>().notNull().default([]),
  /** null: of an older version, or not described yet */
  engine: text('engine'),
});

/** A processor as the engine describes it. */
export interface WorkerDevice {
  /** `cpu`, `cuda:0` … */
  id: string;
  name: string;
  usable: boolean;
  /** why it is not usable; empty if it is */
  reason: string;
  threads: number;
  simd: string;
  encoder: string;
  inference: string[];
}

export const consoleUsers = pgTable('console_users', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  email: text('email').notNull(),
  password: text('password').notNull(),
  operator: boolean('operator').notNull().default(false),
  role: text('role').$type<Role>().notNull().default('admin'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
});

export const consoleSessions = pgTable('console_sessions', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull(),
  tokenHash: bytea('token_hash').notNull(),
  userAgent: text('user_agent').notNull().default(''),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  lastSeenAt: timestamptz('last_seen_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
});

export const invitations = pgTable('invitations', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  email: text('email').notNull(),
  role: text('role').$type<Role>().notNull(),
  tokenHash: bytea('token_hash').notNull(),
  createdBy: text('created_by'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
});

export const passwordLinks = pgTable('password_links', {
  userId: text('user_id').primaryKey(),
  tokenHash: bytea('token_hash').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
});

export const twoFactor = pgTable('two_factor', {
  userId: text('user_id').primaryKey(),
  secret: bytea('secret').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  confirmedAt: timestamptz('confirmed_at'),
  lastStep: bigintNumber('last_step').notNull().default(0),
});

/** Whether the user of the row signs in with a second factor. */
export const hasTwoFactor = sql<boolean>`EXISTS (SELECT FROM two_factor WHERE user_id = ${consoleUsers.id} AND confirmed_at IS NOT NULL)`;

export const recoveryCodes = pgTable(
  'recovery_codes',
  {
    userId: text('user_id').notNull(),
    codeHash: bytea('code_hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.codeHash] })],
);

export type Book = 'customer' | 'issued' | 'revenue';

export const ledgerTransfers = pgTable('ledger_transfers', {
  id: bigintNumber('id').generatedAlwaysAsIdentity().primaryKey(),
  kind: text('kind').$type<TransferKind>().notNull(),
  accountId: text('account_id').notNull(),
  jobId: text('job_id'),
  credits: bigintNumber('credits').notNull(),
  note: text('note').notNull().default(''),
  at: timestamptz('at').notNull().default(sql`clock_timestamp()`),
});

export const ledgerEntries = pgTable(
  'ledger_entries',
  {
    transferId: bigintNumber('transfer_id').notNull(),
    book: text('book').$type<Book>().notNull(),
    accountId: text('account_id'),
    amount: bigintNumber('amount').notNull(),
    balance: bigintNumber('balance'),
  },
  (table) => [primaryKey({ columns: [table.transferId, table.book] })],
);

export const eventHeads = pgTable('event_heads', {
  accountId: text('account_id').primaryKey(),
  seq: bigintNumber('seq').notNull(),
  // of the last entry; the database sets it when it links an entry
  hash: text('hash').notNull().default(sql`repeat('0'::text, 64)`),
});

export const jobEvents = pgTable(
  'job_events',
  {
    accountId: text('account_id').notNull(),
    seq: bigintNumber('seq').notNull(),
    id: text('id').notNull(),
    kind: text('kind').$type<EventKind>().notNull(),
    jobId: text('job_id'),
    // whole milliseconds
    at: timestamptz('at').notNull(),
    data: jsonb('data').$type<Record<string, unknown>>().notNull().default({}),
    previousHash: text('previous_hash').notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.seq] })],
);

export type EventKind =
  | 'account.created'
  | 'account.approved'
  | 'account.rejected'
  | 'account.plan_changed'
  | 'account.quotas_changed'
  | 'account.closed'
  | 'retention.changed'
  | 'credits.granted'
  | 'credits.withdrawn'
  | 'key.created'
  | 'key.renamed'
  | 'key.rotated'
  | 'key.revoked'
  | 'webhook_secret.rotated'
  | 'webhook_secret.switched'
  | 'webhook_endpoint.created'
  | 'webhook_endpoint.changed'
  | 'webhook_endpoint.deleted'
  | 'webhook_endpoint.secret_rotated'
  | 'webhook_endpoint.secret_switched'
  | 'user.created'
  | 'user.role_changed'
  | 'user.removed'
  | 'invitation.created'
  | 'invitation.revoked'
  | 'user.password_changed'
  | 'user.password_link_created'
  | 'user.two_factor_enabled'
  | 'user.two_factor_disabled'
  | 'user.two_factor_reset'
  | 'user.recovery_code_used'
  | 'user.recovery_codes_replaced'
  | 'operator.added'
  | 'operator.removed'
  | 'job.created'
  | 'job.started'
  | 'job.completed'
  | 'job.failed'
  | 'job.deleted'
  | 'preview.created'
  | 'preview.started'
  | 'preview.completed'
  | 'preview.failed'
  | 'preview.deleted'
  | 'upload.created'
  | 'upload.ready'
  | 'upload.failed'
  | 'upload.deleted'
  | 'upload.destroyed'
  | 'source.accessed'
  | 'result.accessed'
  | 'certificate.issued';

export const signingKeys = pgTable('signing_keys', {
  kid: text('kid').primaryKey(),
  publicJwk: jsonb('public_jwk').$type<Record<string, unknown>>().notNull(),
  privateJwk: bytea('private_jwk').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  retiredAt: timestamptz('retired_at'),
});

export const certificates = pgTable('certificates', {
  id: text('id').primaryKey(),
  jobId: text('job_id').notNull(),
  accountId: text('account_id').notNull(),
  jws: text('jws').notNull(),
  issuedAt: timestamptz('issued_at').notNull(),
});

export const requestLog = pgTable('request_log', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  keyId: text('key_id').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  requestId: text('request_id').notNull(),
  at: timestamptz('at').notNull(),
  method: text('method').notNull(),
  path: text('path').notNull(),
  resourceId: text('resource_id'),
  status: integer('status').notNull(),
  durationMs: integer('duration_ms').notNull(),
  error: jsonb('error').$type<LoggedError>(),
  requestBody: jsonb('request_body').$type<Record<string, unknown>>(),
});

export const webhookEndpoints = pgTable('webhook_endpoints', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  url: text('url').notNull(),
  events: text('events').array().$type<WebhookEvent[]>().notNull(),
  description: text('description').notNull().default(''),
  enabled: boolean('enabled').notNull().default(true),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  /** its deliveries still have its URL */
  deletedAt: timestamptz('deleted_at'),
});

export const webhookSecrets = pgTable('webhook_secrets', {
  id: bigintNumber('id').generatedAlwaysAsIdentity().primaryKey(),
  accountId: text('account_id').notNull(),
  secret: bytea('secret').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at'),
  switchedAt: timestamptz('switched_at'),
  endpointId: text('endpoint_id'),
});

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'stopped';

export const webhookDeliveries = pgTable('webhook_deliveries', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  jobId: text('job_id'),
  event: text('event').$type<WebhookEvent>().notNull(),
  url: text('url'),
  state: text('state').$type<DeliveryState>().notNull().default('pending'),
  failedAttempts: integer('failed_attempts').notNull().default(0),
  nextAt: timestamptz('next_at'),
  busyUntil: timestamptz('busy_until'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  settledAt: timestamptz('settled_at'),
  endpointId: text('endpoint_id'),
});

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: text('delivery_id').notNull(),
    number: integer('number').notNull(),
    at: timestamptz('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    status: integer('status'),
    failure: text('failure'),
    responseBody: text('response_body'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);

/** The tables as Drizzle sees them; migrations/*.sql are their source and hold every constraint. */
import {
  bigint,
  boolean,
  customType,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';
import type { JobErrorCode } from '../domain/errors.ts';
import type {
  AppliedEnhancements,
  Enhancements,
  JobStatus,
  Mode,
  OutputFacts,
  Resolution,
  MeasuredSource,
  Tier,
} from '../domain/job.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';
import type { ApprovalStatus } from './types.ts';

const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });
const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
const whole = (name: string) => bigint(name, { mode: 'number' });

export const accounts = pgTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  plan: text('plan').notNull().default('standard'),
  approvalStatus: text('approval_status').$type<ApprovalStatus>().notNull().default('pending'),
  credits: whole('credits').notNull().default(0),
  sandboxCredits: whole('sandbox_credits').notNull().default(10_000),
  retentionDays: integer('retention_days').notNull().default(30),
  createdAt: instant('created_at').notNull().defaultNow(),
  closedAt: instant('closed_at'),
});

export const apiKeys = pgTable('api_keys', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  hash: bytea('hash').notNull(),
  mode: text('mode').$type<Mode>().notNull(),
  tier: text('tier').$type<Tier>().notNull(),
  lastFour: text('last_four').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
  expiresAt: instant('expires_at'),
  revokedAt: instant('revoked_at'),
  lastUsedAt: instant('last_used_at'),
});

export type Step = 'ingest' | 'enhance' | 'sandbox';

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
  enhancements: jsonb('enhancements').$type<Enhancements>().notNull(),
  metadata: jsonb('metadata').$type<Record<string, string>>().notNull(),
  durationSeconds: integer('duration_seconds').notNull(),
  creditsCharged: whole('credits_charged').notNull(),
  creditsRefunded: whole('credits_refunded').notNull().default(0),
  progress: doublePrecision('progress').notNull().default(0),
  etaSeconds: integer('eta_seconds'),
  source: jsonb('source').$type<MeasuredSource>(),
  output: jsonb('output').$type<OutputFacts>(),
  applied: jsonb('applied').$type<AppliedEnhancements>(),
  errorCode: text('error_code').$type<JobErrorCode>(),
  errorMessage: text('error_message'),
  createdAt: instant('created_at').notNull().defaultNow(),
  startedAt: instant('started_at'),
  finishedAt: instant('finished_at'),
  expiresAt: instant('expires_at').notNull(),
  deletedAt: instant('deleted_at'),
  deletedBy: text('deleted_by').$type<DeletedBy>(),
  step: text('step').$type<Step>().notNull(),
  traceparent: text('traceparent'),
  originalKey: text('original_key'),
  outputKey: text('output_key'),
  attempt: integer('attempt').notNull().default(0),
  crashes: integer('crashes').notNull().default(0),
  failures: integer('failures').notNull().default(0),
  insufficientDiskSince: instant('insufficient_disk_since'),
  diskWaitSince: instant('disk_wait_since'),
  leaseOwner: text('lease_owner'),
  leaseExpiresAt: instant('lease_expires_at'),
});

export type DeletedBy = 'customer' | 'retention' | 'operator';
export type ObjectRole = 'original' | 'output';

export const objects = pgTable('objects', {
  key: text('key').primaryKey(),
  jobId: text('job_id').notNull(),
  attempt: integer('attempt').notNull(),
  role: text('role').$type<ObjectRole>().notNull(),
  state: text('state').$type<'pending' | 'stored' | 'destroyed'>().notNull().default('pending'),
  sizeBytes: whole('size_bytes'),
  sha256: text('sha256'),
  version: text('version'),
  createdAt: instant('created_at').notNull().defaultNow(),
  storedAt: instant('stored_at'),
  destroyedAt: instant('destroyed_at'),
});

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: text('account_id').notNull(),
    mode: text('mode').$type<Mode>().notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    jobId: text('job_id').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.mode, table.key] })],
);

export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  pools: text('pools').array().notNull().default([]),
  startedAt: instant('started_at').notNull().defaultNow(),
  seenAt: instant('seen_at').notNull().defaultNow(),
  host: text('host'),
  concurrency: integer('concurrency'),
  devices: jsonb('devices').$type<WorkerDevice[]>().notNull().default([]),
});

/** A processor as the engine describes it. */
export interface WorkerDevice {
  /** `cpu`, `cuda:0` … */
  id: string;
  name: string;
  usable: boolean;
  /** why not; empty when it is usable */
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
  createdAt: instant('created_at').notNull().defaultNow(),
});

export const consoleSessions = pgTable('console_sessions', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull(),
  tokenHash: bytea('token_hash').notNull(),
  userAgent: text('user_agent').notNull().default(''),
  createdAt: instant('created_at').notNull().defaultNow(),
  lastSeenAt: instant('last_seen_at').notNull().defaultNow(),
  expiresAt: instant('expires_at').notNull(),
});

export type TransferKind = 'grant' | 'withdrawal' | 'charge' | 'refund';
export type Book = 'customer' | 'issued' | 'revenue';

export const ledgerTransfers = pgTable('ledger_transfers', {
  id: whole('id').generatedAlwaysAsIdentity().primaryKey(),
  kind: text('kind').$type<TransferKind>().notNull(),
  accountId: text('account_id').notNull(),
  jobId: text('job_id'),
  credits: whole('credits').notNull(),
  note: text('note').notNull().default(''),
  at: instant('at').notNull().defaultNow(),
});

export const ledgerEntries = pgTable(
  'ledger_entries',
  {
    transferId: whole('transfer_id').notNull(),
    book: text('book').$type<Book>().notNull(),
    accountId: text('account_id'),
    amount: whole('amount').notNull(),
    balance: whole('balance'),
  },
  (table) => [primaryKey({ columns: [table.transferId, table.book] })],
);

export const eventHeads = pgTable('event_heads', {
  accountId: text('account_id').primaryKey(),
  seq: whole('seq').notNull(),
  // of the last event; set by the database when that is linked
  hash: text('hash').notNull().default('0'.repeat(64)),
});

export const jobEvents = pgTable(
  'job_events',
  {
    accountId: text('account_id').notNull(),
    seq: whole('seq').notNull(),
    id: text('id').notNull(),
    kind: text('kind').$type<EventKind>().notNull(),
    jobId: text('job_id'),
    // whole milliseconds
    at: instant('at').notNull(),
    data: jsonb('data').$type<Record<string, unknown>>().notNull(),
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
  | 'account.closed'
  | 'retention.changed'
  | 'credits.granted'
  | 'credits.withdrawn'
  | 'key.created'
  | 'key.rotated'
  | 'key.revoked'
  | 'webhook_secret.rotated'
  | 'webhook_secret.switched'
  | 'user.created'
  | 'user.password_changed'
  | 'operator.added'
  | 'operator.removed'
  | 'job.created'
  | 'job.started'
  | 'job.completed'
  | 'job.failed'
  | 'job.deleted'
  | 'result.accessed'
  | 'certificate.issued';

export const signingKeys = pgTable('signing_keys', {
  kid: text('kid').primaryKey(),
  publicJwk: jsonb('public_jwk').$type<Record<string, unknown>>().notNull(),
  privateJwk: bytea('private_jwk').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
  retiredAt: instant('retired_at'),
});

export const certificates = pgTable('certificates', {
  id: text('id').primaryKey(),
  jobId: text('job_id').notNull(),
  accountId: text('account_id').notNull(),
  jws: text('jws').notNull(),
  issuedAt: instant('issued_at').notNull(),
});

export const webhookSecrets = pgTable('webhook_secrets', {
  id: whole('id').generatedAlwaysAsIdentity().primaryKey(),
  accountId: text('account_id').notNull(),
  secret: bytea('secret').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
  expiresAt: instant('expires_at'),
  switchedAt: instant('switched_at'),
});

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'stopped';

export const webhookDeliveries = pgTable('webhook_deliveries', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull(),
  jobId: text('job_id').notNull(),
  event: text('event').$type<WebhookEvent>().notNull(),
  url: text('url'),
  state: text('state').$type<DeliveryState>().notNull().default('pending'),
  tries: integer('tries').notNull().default(0),
  nextAt: instant('next_at'),
  busyUntil: instant('busy_until'),
  createdAt: instant('created_at').notNull().defaultNow(),
  settledAt: instant('settled_at'),
});

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: text('delivery_id').notNull(),
    number: integer('number').notNull(),
    at: instant('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    status: integer('status'),
    failure: text('failure'),
    reply: text('reply'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);

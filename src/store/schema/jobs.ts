/** Jobs, their stored objects and their segments. */
import { sql } from '../orm.ts';
import { boolean, doublePrecision, integer, jsonb, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import type { JobErrorCode } from '../../domain/errors.ts';
import type { AppliedEnhancements, Enhancements, JobPicture, JobStatus, MeasuredSource, Mode, OutputFacts, OutputSettings, Resolution, Tier } from '../../domain/job.ts';
import type { PreviewFacts } from '../../domain/previews.ts';
import { bytea, timestamptz, bigintNumber } from './columns.ts';
import type { DeviceClass } from './workers.ts';

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

/**
 * The id of a job, for comparisons with columns that refer to it, such as `segments.job_id`. The collation of `jobs.id` is "C". With it, PostgreSQL
 * could not use their indexes, which have the default one.
 */
export const idOfJob = sql`${jobs.id} COLLATE "default"`;

export type DeletedBy = 'customer' | 'retention' | 'operator';

export const objectRoles = ['original', 'output', 'poster', 'thumbnail', 'segment', 'clip'] as const;
export type ObjectRole = (typeof objectRoles)[number];

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

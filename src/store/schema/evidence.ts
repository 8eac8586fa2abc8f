/** What proves and explains what happened: the audit log, certificates, the log of requests. */
import { sql } from '../orm.ts';
import { integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { Mode } from '../../domain/job.ts';
import type { LoggedError } from '../../domain/request-log.ts';
import { bytea, timestamptz, bigintNumber } from './columns.ts';

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

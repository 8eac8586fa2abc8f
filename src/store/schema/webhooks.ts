/** Webhook endpoints and deliveries. */
import { boolean, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { Mode } from '../../domain/job.ts';
import type { WebhookEvent } from '../../domain/webhooks.ts';
import { bytea, timestamptz, bigintNumber } from './columns.ts';

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

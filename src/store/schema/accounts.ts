/** Accounts and their API keys. */
import { integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import type { KeyAccess } from '../../domain/api-key.ts';
import type { ApprovalStatus } from '../../domain/approval.ts';
import type { Mode, Tier } from '../../domain/job.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { bytea, timestamptz, bigintNumber } from './columns.ts';

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

/** Users of the console: sessions, invitations, passwords, second factors. */
import { sql } from '../orm.ts';
import { boolean, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { Role } from '../../domain/roles.ts';
import { bytea, timestamptz, bigintNumber } from './columns.ts';

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

/** The books. */
import { sql } from '../orm.ts';
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { TransferKind } from '../types.ts';
import { timestamptz, bigintNumber } from './columns.ts';

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

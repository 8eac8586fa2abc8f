/** Uploads of customers. */
import { boolean, integer, pgTable, text } from 'drizzle-orm/pg-core';
import type { Mode } from '../../domain/job.ts';
import type { UploadErrorCode, UploadStatus } from '../../domain/uploads.ts';
import { timestamptz, bigintNumber } from './columns.ts';
import type { DeletedBy } from './jobs.ts';

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

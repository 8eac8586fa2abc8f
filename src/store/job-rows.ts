/** Conversion of rows of `jobs` to the domain's records. */
import type { JobRecord } from '../domain/job.ts';
import type { jobs } from './schema.ts';

export type JobRow = typeof jobs.$inferSelect;

/** Throws if the job is deleted: only its ledger, audit log and certificate may be shown. */
export function toJobRecord(row: JobRow): JobRecord {
  if (row.deletedAt !== null) throw new Error(`Job ${row.id} was deleted`);
  return {
    id: row.id,
    accountId: row.accountId,
    mode: row.mode,
    tier: row.tier,
    status: row.status,
    resolution: row.resolution,
    videoUrl: row.videoUrl,
    uploadId: row.uploadId,
    fileName: row.fileName,
    webhookUrl: row.webhookUrl,
    model: row.model,
    enhancements: row.enhancements,
    outputSettings: row.outputSettings,
    metadata: row.metadata,
    durationSeconds: row.durationSeconds,
    creditsCharged: row.creditsCharged,
    creditsRefunded: row.creditsRefunded,
    progress: row.progress,
    etaSeconds: row.etaSeconds,
    source: row.source,
    output: row.output,
    applied: row.applied,
    error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
    preview: row.preview,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    expiresAt: row.expiresAt,
  };
}

/** The columns of a JobRecord, as SQL text: with Drizzle's generic mapping a poll takes nearly twice as long. */
const recordColumns = `id, account_id AS "accountId", mode, tier, status, resolution,
  video_url AS "videoUrl", upload_id AS "uploadId", file_name AS "fileName", webhook_url AS "webhookUrl", model, enhancements,
  output_settings AS "outputSettings", metadata,
  duration_seconds AS "durationSeconds", credits_charged::float8 AS "creditsCharged",
  credits_refunded::float8 AS "creditsRefunded", progress, eta_seconds AS "etaSeconds", source, output, applied,
  CASE WHEN error_code IS NOT NULL THEN jsonb_build_object('code', error_code, 'message', error_message) END AS error,
  preview, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt", expires_at AS "expiresAt"`;

/** Reads one job for a status poll. Parameters: id, account, mode. */
export const visibleJobQuery = `SELECT ${recordColumns}
  FROM jobs WHERE id = $1 AND account_id = $2 AND mode = $3 AND deleted_at IS NULL`;

/** Creates a job (migrations/functions/create_job.sql) and returns it. Parameters: job, idempotency record, queue row, event id, event data. */
export const createJobQuery = `SELECT ${recordColumns} FROM create_job($1, $2, $3, $4, $5)`;

type Timestamps = 'createdAt' | 'startedAt' | 'finishedAt' | 'expiresAt';

/** A row of these queries; Drizzle configures the driver to leave timestamps as text. */
export type VisibleJobRow = Omit<JobRecord, Timestamps> & {
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  expiresAt: string;
};

export function fromVisibleRow(row: VisibleJobRow): JobRecord {
  return {
    ...row,
    createdAt: new Date(row.createdAt),
    startedAt: row.startedAt === null ? null : new Date(row.startedAt),
    finishedAt: row.finishedAt === null ? null : new Date(row.finishedAt),
    expiresAt: new Date(row.expiresAt),
  };
}

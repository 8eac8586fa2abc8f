/** Rows of `jobs` as the domain knows them. */
import type { JobRecord } from '../domain/job.ts';
import type { jobs } from './schema.ts';

export type JobRow = typeof jobs.$inferSelect;

/** A job that was not deleted; a deleted one is unknown to everybody but the ledger and its certificate. */
export function toJobRecord(row: JobRow): JobRecord {
  if (row.videoUrl === null) throw new Error(`Job ${row.id} was deleted`);
  return {
    id: row.id,
    accountId: row.accountId,
    mode: row.mode,
    tier: row.tier,
    status: row.status,
    resolution: row.resolution,
    videoUrl: row.videoUrl,
    webhookUrl: row.webhookUrl,
    model: row.model,
    enhancements: row.enhancements,
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
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    expiresAt: row.expiresAt,
  };
}

/** A job's record, column by column as text: through Drizzle's generic mapping a poll costs nearly twice the time. */
const recordColumns = `id, account_id AS "accountId", mode, tier, status, resolution,
  video_url AS "videoUrl", webhook_url AS "webhookUrl", model, enhancements, metadata,
  duration_seconds AS "durationSeconds", credits_charged::float8 AS "creditsCharged",
  credits_refunded::float8 AS "creditsRefunded", progress, eta_seconds AS "etaSeconds", source, output, applied,
  CASE WHEN error_code IS NOT NULL THEN jsonb_build_object('code', error_code, 'message', error_message) END AS error,
  created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt", expires_at AS "expiresAt"`;

/** The one query that polling runs. Parameters: id, account, mode. */
export const visibleJobQuery = `SELECT ${recordColumns}
  FROM jobs WHERE id = $1 AND account_id = $2 AND mode = $3 AND deleted_at IS NULL`;

/** The one query that a creation runs (migrations/functions/create_job.sql). Parameters: job, claim, queue row, event id, event data. */
export const createJobQuery = `SELECT ${recordColumns} FROM create_job($1, $2, $3, $4, $5)`;

type Instants = 'createdAt' | 'startedAt' | 'finishedAt' | 'expiresAt';

/** A row of these queries; Drizzle has taught the driver to leave timestamps as text. */
export type VisibleJobRow = Omit<JobRecord, Instants> & {
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

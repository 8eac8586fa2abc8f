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
    lane: row.lane,
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

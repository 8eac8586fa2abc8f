/** The service's records in the contract's shape. */
import type { Account as AccountBody, Job } from '../contract/types.gen.ts';
import type { JobRecord } from '../domain/job.ts';
import { linkValidityS, maxDurationS, maxSourceBytes } from '../domain/limits.ts';
import { priceTable } from '../domain/pricing.ts';
import type { Account, Principal } from '../store/types.ts';

export function presentJob(job: JobRecord): Job {
  return {
    id: job.id,
    status: job.status,
    resolution: job.resolution,
    duration_seconds: job.durationSeconds,
    credits_charged: job.creditsCharged,
    credits_refunded: job.creditsRefunded,
    sandbox: job.lane === 'test',
    tier: job.tier,
    progress: job.progress,
    eta_seconds: job.etaSeconds === null ? null : Math.max(0, Math.ceil(job.etaSeconds)),
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    finished_at: job.finishedAt?.toISOString() ?? null,
    expires_at: job.expiresAt.toISOString(),
    source: job.source,
    output: job.output,
    error: job.error,
    enhancements: job.applied,
    metadata: job.metadata,
  };
}

/** `account` is read afresh: the principal's copy may be older than the last charge. */
export function presentAccount({ lane, tier }: Principal, account: Account): AccountBody {
  const prices = priceTable(tier);
  return {
    id: account.id,
    plan: account.plan,
    tier,
    credits: lane === 'test' ? account.sandboxCredits : account.credits,
    sandbox: lane === 'test',
    approval_status: account.approvalStatus,
    retention_days: account.retentionDays,
    pricing: { currency: prices.currency, per_minute: prices.perMinute, per_second: prices.perSecond },
    limits: {
      max_duration_seconds: maxDurationS,
      max_file_size_bytes: maxSourceBytes,
      resolutions: ['1080p', '4k'],
      link_validity_seconds: linkValidityS,
    },
  };
}

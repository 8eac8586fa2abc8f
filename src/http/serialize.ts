/** Converts the store's records to the types of the contract. */
import type { Account as AccountBody, Job, JobError, Limits, Model, Pricing, RequestedSettings } from '../contract/types.gen.ts';
import type { AppliedEnhancements, JobRecord, MeasuredSource, SourceFacts, Tier } from '../domain/job.ts';
import { defaultVideoLimits, linkValidityS, retentionDaysFor, type VideoLimits } from '../domain/limits.ts';
import type { ModelDescription } from '../domain/models.ts';
import type { EffectiveQuotas } from '../domain/quotas.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { priceTable } from '../domain/pricing.ts';
import { testCredits } from '../domain/test-mode.ts';
import { defaultUploadQuotaBytes, pendingUploadQuotaBytes } from '../domain/uploads.ts';
import type { Account, KeyPrincipal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { jobDocUrl } from './doc-url.ts';
import { callsPerMinute } from './middleware/rate-limit.ts';

/** Rounds to thousandths: a single-precision number of the engine would print with seventeen digits. */
export const rounded = (value: number) => Math.round(value * 1000) / 1000;

function serializeApplied(applied: AppliedEnhancements): AppliedEnhancements {
  const { denoise, sharpen, face_restoration, adaptive_contrast, plan } = applied;
  return {
    ...applied,
    denoise: rounded(denoise),
    sharpen: rounded(sharpen),
    face_restoration: rounded(face_restoration),
    adaptive_contrast: rounded(adaptive_contrast),
    plan: plan.map((stage) => ({ ...stage, strength: rounded(stage.strength) })),
  };
}

/** Removes internal fields. */
export function serializeSource(source: MeasuredSource | null): SourceFacts | null {
  if (source === null) return null;
  const { etag: _, ...facts } = source;
  return facts;
}

/** Why a job or preview failed. */
export function serializeJobError({ publicUrl }: Pick<HttpDeps, 'publicUrl'>, { error }: Pick<JobRecord, 'error'>): JobError | null {
  return error === null ? null : { ...error, doc_url: jobDocUrl(publicUrl(), error.code) };
}

/** Whole seconds; null if unknown. */
export const etaOf = ({ etaSeconds }: Pick<JobRecord, 'etaSeconds'>) => (etaSeconds === null ? null : Math.max(0, Math.ceil(etaSeconds)));

export const timestamp = (at: Date | null): string | null => at?.toISOString() ?? null;

/** The settings of the request. Its URLs stay out: they are often signed, and grant access. */
function serializeRequested({ model, enhancements, outputSettings }: JobRecord): RequestedSettings {
  return omitUndefined({
    model: model ?? undefined,
    enhancements: unlessEmpty(enhancements),
    output: unlessEmpty(outputSettings),
  });
}

const unlessEmpty = <T extends object>(settings: T): T | undefined => (Object.keys(settings).length === 0 ? undefined : settings);

export function serializeJob(deps: Pick<HttpDeps, 'publicUrl'>, job: JobRecord): Job {
  return {
    id: job.id,
    status: job.status,
    resolution: job.resolution,
    duration_seconds: job.durationSeconds,
    credits_charged: job.creditsCharged,
    credits_refunded: job.creditsRefunded,
    sandbox: job.mode === 'test',
    tier: job.tier,
    progress: rounded(job.progress),
    eta_seconds: etaOf(job),
    created_at: job.createdAt.toISOString(),
    started_at: timestamp(job.startedAt),
    finished_at: timestamp(job.finishedAt),
    expires_at: job.expiresAt.toISOString(),
    source: serializeSource(job.source),
    output: job.output,
    error: serializeJobError(deps, job),
    enhancements: job.applied === null ? null : serializeApplied(job.applied),
    metadata: job.metadata,
    requested: serializeRequested(job),
    upload_id: job.uploadId,
    file_name: job.fileName,
  };
}

/** The values that `model` of a job may have. */
export function modelsOf({ options }: Pick<HttpDeps, 'options'>): string[] {
  return ['auto', 'none', ...(options?.models ?? []).map(({ name }) => name)];
}

export function serializeModel({ name, title, description, scales, relativeCost, license }: ModelDescription): Model {
  return { name, title, description, scales, relative_cost: relativeCost, license };
}

/** Limits of a video on this service. */
export const limitsOf = ({ options }: Pick<HttpDeps, 'options'>): VideoLimits => options?.limits ?? defaultVideoLimits;

/** Limit of the bytes of all uploads of the account, in each mode. */
export function uploadQuotaOf({ options }: Pick<HttpDeps, 'options'>, { approvalStatus, quotas }: Pick<Account, 'approvalStatus' | 'quotas'>): number {
  const quota = quotas.upload_quota_bytes ?? options?.uploadQuotaBytes ?? defaultUploadQuotaBytes;
  return approvalStatus === 'approved' ? quota : Math.min(quota, pendingUploadQuotaBytes);
}

/** The effective quotas of an account: its own, or those of the service. */
export function effectiveQuotas(deps: Pick<HttpDeps, 'options'>, { quotas }: Pick<Account, 'quotas'>): EffectiveQuotas {
  const { rateLimits, uploadQuotaBytes = defaultUploadQuotaBytes, enhancementsPerAccount = 0 } = deps.options ?? {};
  return {
    jobs_per_day: quotas.jobs_per_day ?? null,
    parallel_enhancements: quotas.parallel_enhancements ?? (enhancementsPerAccount || null),
    upload_quota_bytes: quotas.upload_quota_bytes ?? uploadQuotaBytes,
    create_per_minute: callsPerMinute('create', quotas, rateLimits),
    read_per_minute: callsPerMinute('read', quotas, rateLimits),
    other_per_minute: callsPerMinute('other', quotas, rateLimits),
  };
}

export function serializeLimits(deps: Pick<HttpDeps, 'options'>, account: Pick<Account, 'approvalStatus' | 'quotas'>): Limits {
  const limits = limitsOf(deps);
  const quotas = effectiveQuotas(deps, account);
  return {
    max_duration_seconds: limits.durationS,
    max_file_size_bytes: limits.bytes,
    resolutions: ['1080p', '4k'],
    link_validity_seconds: linkValidityS(limits),
    models: modelsOf(deps),
    upload_quota_bytes: uploadQuotaOf(deps, account),
    jobs_per_day: quotas.jobs_per_day,
    parallel_enhancements: quotas.parallel_enhancements,
    calls_per_minute: { create: quotas.create_per_minute!, read: quotas.read_per_minute!, other: quotas.other_per_minute! },
  };
}

/** A Secure key can use both tiers. */
function serializePricing(tier: Tier): Pricing {
  const prices = (of: Tier) => {
    const { perMinute, perSecond } = priceTable(of);
    return { per_minute: perMinute, per_second: perSecond };
  };
  const secure = tier === 'secure' ? { secure: prices('secure') } : {};
  return { currency: 'USD', ...prices(tier), tiers: { standard: prices('standard'), ...secure } };
}

/** `account` must be freshly read: the principal's copy may be older than the last charge. */
export function serializeAccount(deps: Pick<HttpDeps, 'options'>, principal: KeyPrincipal, account: Account): AccountBody {
  const { mode, tier, keyId, name, access, lastUsedAt } = principal;
  return {
    id: account.id,
    plan: account.plan,
    tier,
    credits: mode === 'test' ? testCredits : account.credits,
    sandbox: mode === 'test',
    approval_status: account.approvalStatus,
    retention_days: retentionDaysFor(tier, account, deps.options?.retentionDays),
    pricing: serializePricing(tier),
    limits: serializeLimits(deps, account),
    key: { id: keyId, name, access, last_used_at: timestamp(lastUsedAt) },
  };
}

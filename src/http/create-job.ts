/** POST /v1/jobs after validation: idempotency check, measurement, price, and one call of the store. */
import type { JobRecord } from '../domain/job.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { priceInCredits } from '../domain/pricing.ts';
import type { CreateJob, Idempotency, Principal } from '../store/types.ts';
import { actorOf, sessionIdOf } from './actor.ts';
import type { HttpDeps } from './deps.ts';
import { idempotencyOf, withReplay } from './idempotency.ts';
import { measureVideo } from './measurement.ts';
import { defaultQuotas, rateLimitExceeded } from './middleware/rate-limit.ts';
import { currentTraceparent } from './middleware/trace.ts';
import { assertTierAllowed, assertWithinMaxCredits, type JobInput, parsePublicUrl, tierOf } from './request-checks.ts';
import { findVideo } from './requested-video.ts';
import { assertTestBalance } from './test-mode-refusals.ts';

export interface CreationRequest {
  principal: Principal;
  body: JobInput;
  idempotencyKey: string | undefined;
  /** aborted when the client disconnects */
  signal: AbortSignal;
}

export interface Creation {
  job: JobRecord;
  replayed: boolean;
}

/** Creates the job, or returns the job that the same idempotency key has created. Throws ReelmendError with the codes that openapi.yaml lists for createJob. */
export async function createJob(deps: HttpDeps, request: CreationRequest): Promise<Creation> {
  const { principal, body, idempotencyKey } = request;
  assertTierAllowed(principal, body);
  const idempotency = idempotencyOf(idempotencyKey, body);
  return withReplay(idempotency, { find: findReplay(deps, principal), create: () => createNewJob(deps, request, idempotency) });
}

/** The last call stores and charges everything in one transaction. */
async function createNewJob(deps: HttpDeps, { principal, body, signal }: CreationRequest, idempotency: Idempotency | null): Promise<Creation> {
  const video = await findVideo(deps, principal, body);
  const webhookUrl = body.webhook_url === undefined ? null : parsePublicUrl(deps, body.webhook_url, '/webhook_url');
  const measured = await measureVideo(deps, { principal, body, video, signal });
  const { durationSeconds } = measured;
  assertWithinMaxCredits(priceInCredits({ durationSeconds, resolution: body.resolution, tier: tierOf(body) }), body.max_credits);
  if (principal.mode === 'test') assertTestBalance(video);
  return createWithinQuota(deps, principal, {
    ...requestedJob(deps, principal, body),
    videoUrl: video.url?.href ?? null,
    upload: video.upload,
    webhookUrl: webhookUrl?.href ?? null,
    ...measured,
    idempotency,
    traceparent: currentTraceparent(),
    actor: actorOf(principal),
    sessionId: sessionIdOf(principal),
  });
}

/** Finds the job or preview that an idempotency key of the principal has created. */
export const findReplay =
  ({ store }: HttpDeps, { account, mode }: Principal) =>
  async (idempotency: Idempotency): Promise<Creation | null> => {
    const job = await store.jobs.findReplay(account.id, mode, idempotency);
    return job && { job, replayed: true };
  };

const dayS = 86_400;

interface DailyQuota {
  rateClass: 'pending' | 'daily';
  limit: number;
  /** the error until the retry time */
  refusal: string;
  /** what the caller can do instead */
  advice: string;
}

/**
 * Anyone who signs up can use test mode, so accounts that are not approved have a limit. Live jobs have the account's own,
 * if any.
 */
function dailyQuotaOf({ options }: HttpDeps, { account, mode }: Principal): DailyQuota | null {
  if (account.approvalStatus !== 'approved') {
    const limit = options?.rateLimits?.pending ?? defaultQuotas.pending;
    const refusal = `An account that is not approved can create ${limit} test jobs and previews per day.`;
    return { rateClass: 'pending', limit, refusal, advice: ', or ask the operator for approval' };
  }
  const limit = account.quotas.jobs_per_day;
  if (limit === undefined || mode === 'test') return null;
  return { rateClass: 'daily', limit, refusal: `This account can create ${limit} jobs and previews per day.`, advice: '' };
}

/**
 * Creates a job or preview within the account's daily quota. A refused one is not counted. Throws ReelmendError
 * `rate_limit_exceeded`.
 */
export async function createWithinQuota(deps: HttpDeps, principal: Principal, input: CreateJob): Promise<Creation> {
  const { store } = deps;
  const quota = dailyQuotaOf(deps, principal);
  if (quota === null) return store.jobs.create(input);
  const { rateClass, limit, refusal, advice } = quota;
  const policy = { limit, windowS: dayS };
  const taken = await store.rateLimits.take(principal.account.id, rateClass, policy);
  if (!taken.allowed) throw rateLimitExceeded(refusal, taken, advice);
  const giveBack = () => store.rateLimits.giveBack(principal.account.id, rateClass, policy);
  try {
    const created = await store.jobs.create(input);
    if (created.replayed) await giveBack();
    return created;
  } catch (error) {
    await giveBack();
    throw error;
  }
}

function requestedJob({ options }: HttpDeps, principal: Principal, body: JobInput) {
  const { account, mode } = principal;
  return {
    account: { id: account.id, retentionDays: account.retentionDays },
    standardRetentionDays: options?.retentionDays,
    mode,
    tier: tierOf(body),
    resolution: body.resolution,
    model: body.model ?? null,
    enhancements: omitUndefined(body.enhancements ?? {}),
    outputSettings: omitUndefined(body.output ?? {}),
    metadata: body.metadata ?? {},
  };
}

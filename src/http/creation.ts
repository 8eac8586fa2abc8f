/** POST /v1/jobs behind its validation: replay, lane, measurement, price, one call of the store. */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { zJobInput } from '../contract/zod.gen.ts';
import { FrameliftError } from '../domain/errors.ts';
import type { Enhancements, JobRecord, SourceFacts } from '../domain/job.ts';
import { assertDurationAllowed, assertSizeAllowed, billedSeconds, sandboxDurationS } from '../domain/limits.ts';
import { priceInCredits } from '../domain/pricing.ts';
import type { CreateJob, Idempotency, Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { assertSandboxAccepts } from './sandbox.ts';
import { canonicalJson } from './strict-json.ts';
import { urlNotAllowed } from './validation.ts';

type JobInput = z.output<typeof zJobInput>;

export interface CreationRequest {
  principal: Principal;
  body: JobInput;
  idempotencyKey: string | undefined;
  /** aborted when the caller goes away */
  signal: AbortSignal;
}

/** Names that the engine understands without any installed network. */
const builtInModels = ['auto', 'none'];
const defaultMeasureTimeoutMs = 19_000;

/**
 * Throws FrameliftError with the codes that the document names for createJob. Nothing is stored or charged before
 * the last step.
 */
export async function createJob(
  deps: HttpDeps,
  { principal, body, idempotencyKey, signal }: CreationRequest,
): Promise<{ job: JobRecord; replayed: boolean }> {
  const { store } = deps;
  if (body.secure === true && principal.tier !== 'secure') {
    throw new FrameliftError('secure_tier_required', 'This needs a key of the Secure tier.', { param: '/secure' });
  }
  const idempotency = idempotencyOf(idempotencyKey, body);
  if (idempotency !== null) {
    const job = await store.jobs.findReplay(principal.account.id, principal.lane, idempotency);
    if (job !== null) return { job, replayed: true };
  }
  const videoUrl = parseUrl(body.video_url, '/video_url');
  const webhookUrl = body.webhook_url === undefined ? null : parseUrl(body.webhook_url, '/webhook_url');
  const measured =
    principal.lane === 'test' ? measureInSandbox(body, videoUrl) : await measureLive(deps, body, { videoUrl, signal });
  return store.jobs.create({
    ...requested(principal, body),
    videoUrl: videoUrl.href,
    webhookUrl: webhookUrl?.href ?? null,
    ...measured,
    idempotency,
  });
}

function idempotencyOf(key: string | undefined, body: JobInput): Idempotency | null {
  if (key === undefined) return null;
  return { key, fingerprint: createHash('sha256').update(canonicalJson(body)).digest('hex') };
}

/** Parsed once; from here on only the normalised form is used. */
function parseUrl(text: string, param: string): URL {
  try {
    return new URL(text);
  } catch (cause) {
    throw urlNotAllowed(param, cause);
  }
}

function requested(principal: Principal, body: JobInput) {
  const { account, lane } = principal;
  return {
    account: { id: account.id, retentionDays: account.retentionDays },
    lane,
    tier: body.secure === true ? ('secure' as const) : ('standard' as const),
    resolution: body.resolution,
    model: body.model ?? null,
    enhancements: withoutUndefined(body.enhancements ?? {}),
    metadata: body.metadata ?? {},
  };
}

function withoutUndefined(input: { [Name in keyof Enhancements]?: Enhancements[Name] | undefined }): Enhancements {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

type Measured = Pick<CreateJob, 'durationSeconds' | 'source' | 'credits'>;

function measureInSandbox(body: JobInput, videoUrl: URL): Measured {
  assertSandboxAccepts(videoUrl);
  return { durationSeconds: body.duration_seconds ?? sandboxDurationS, source: null, credits: 0 };
}

async function measureLive(
  deps: HttpDeps,
  body: JobInput,
  { videoUrl, signal }: { videoUrl: URL; signal: AbortSignal },
): Promise<Measured> {
  const { models = [], measureTimeoutMs = defaultMeasureTimeoutMs } = deps.options ?? {};
  if (body.model !== undefined && ![...builtInModels, ...models].includes(body.model)) {
    throw new FrameliftError('invalid_request', `There is no model "${body.model}".`, { param: '/model' });
  }
  const source = await measureInTime(deps, videoUrl, { signal, timeoutMs: measureTimeoutMs });
  assertSizeAllowed(source.size_bytes);
  if (!Number.isFinite(source.duration) || source.duration <= 0) {
    throw new FrameliftError('unreadable_video', 'The video has no duration.', { param: '/video_url' });
  }
  assertDurationAllowed(source.duration);
  const durationSeconds = billedSeconds(source.duration);
  const tier = body.secure === true ? 'secure' : 'standard';
  return { durationSeconds, source, credits: priceInCredits({ durationSeconds, resolution: body.resolution, tier }) };
}

/** The measurement, given up at the deadline even if it does not listen to its signal. */
async function measureInTime(
  { measure }: HttpDeps,
  videoUrl: URL,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<SourceFacts> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const overdue = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(deadline.reason), { once: true });
  });
  try {
    return await Promise.race([measure(videoUrl.href, AbortSignal.any([signal, deadline])), overdue]);
  } catch (cause) {
    // A caller that went away gets no answer; what aborted the measurement is then no failure to log.
    throw measurementError(cause, deadline.aborted || signal.aborted);
  }
}

function measurementError(cause: unknown, overdue: boolean): unknown {
  const options = { param: '/video_url', cause };
  if (overdue) return new FrameliftError('video_unreachable', 'The video could not be measured in time.', options);
  if (!(cause instanceof FrameliftError)) {
    return new FrameliftError('internal_error', 'The service failed to measure the video; the failure was logged.', {
      cause,
    });
  }
  // What ends a job while it is processed says, here, that the video cannot be read or reached.
  if (cause.code === 'processing_failed') {
    return new FrameliftError('unreadable_video', 'The video cannot be decoded.', options);
  }
  if (cause.code === 'processing_timeout' || cause.code === 'source_changed') {
    return new FrameliftError('video_unreachable', 'The video could not be measured.', options);
  }
  if (cause.param !== undefined) return cause;
  const { code, message, retryAfterS } = cause;
  return new FrameliftError(code, message, { ...options, ...(retryAfterS === undefined ? {} : { retryAfterS }) });
}

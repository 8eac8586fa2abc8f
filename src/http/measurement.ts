/** What a request for a job is measured and priced at, before anything is stored. */
import type { z } from 'zod';
import type { zJobInput } from '../contract/zod.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { MeasuredSource, Tier } from '../domain/job.ts';
import { assertDurationAllowed, assertSizeAllowed, billedSeconds, sandboxSeconds } from '../domain/limits.ts';
import { priceInCredits } from '../domain/pricing.ts';
import { sandboxScenario, type SandboxScenario } from '../domain/sandbox.ts';
import { problemOfText, urlNotAllowed } from '../domain/urls.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { modelsOf } from './serialize.ts';

export type JobInput = z.output<typeof zJobInput>;

export interface MeasurementRequest {
  principal: Principal;
  body: JobInput;
  videoUrl: URL;
  /** aborted when the caller goes away */
  signal: AbortSignal;
}

export interface Measured {
  /** whole seconds, billed */
  durationSeconds: number;
  /** null in the sandbox */
  source: MeasuredSource | null;
  /** 0 in the sandbox */
  credits: number;
}

const defaultMeasureTimeoutMs = 19_000;

export function tierOf(body: JobInput): Tier {
  return body.secure === true ? 'secure' : 'standard';
}

/** Throws ReelmendError `secure_tier_required` for a job of the Secure tier with a Standard key. */
export function assertTierAllowed(principal: Principal, body: JobInput): void {
  if (body.secure === true && principal.tier !== 'secure') throw secureTierRequired('/secure');
}

export function secureTierRequired(param?: string): ReelmendError {
  const options = param === undefined ? {} : { param };
  return new ReelmendError('secure_tier_required', 'This needs a key of the Secure tier.', options);
}

/**
 * Parsed once; from here on only the normalised form is used. Private addresses are refused as soon as they are given,
 * alike in both modes. Names are not resolved: the sandbox needs no network, and live mode judges each address when
 * it connects.
 */
export function parsePublicUrl(deps: HttpDeps, text: string, param: string): URL {
  const url = URL.parse(text);
  if (url === null) throw urlNotAllowed(problemOfText(text), { param });
  try {
    deps.checkUrl(url.href);
  } catch (cause) {
    if (!(cause instanceof ReelmendError)) throw cause;
    throw new ReelmendError(cause.code, cause.message, { param, cause });
  }
  return url;
}

/** Throws ReelmendError with the codes that the document names for a refused video, or `invalid_request`. */
export async function measureVideo(deps: HttpDeps, request: MeasurementRequest): Promise<Measured> {
  const { principal, body, videoUrl } = request;
  assertModelInstalled(deps, body);
  if (principal.mode === 'live') return measureLive(deps, request);
  assertSandboxMeasures(videoUrl);
  return { durationSeconds: sandboxSeconds(body.duration_seconds), source: null, credits: 0 };
}

/** In the sandbox as well: whoever tests there learns of a name that would be refused later. */
function assertModelInstalled(deps: HttpDeps, { model }: JobInput): void {
  const names = modelsOf(deps);
  if (model === undefined || names.includes(model)) return;
  const message = `There is no model "${model}"; there are ${names.join(', ')}.`;
  throw new ReelmendError('invalid_request', message, { param: '/model' });
}

async function measureLive(deps: HttpDeps, request: MeasurementRequest): Promise<Measured> {
  const { measureTimeoutMs = defaultMeasureTimeoutMs } = deps.options ?? {};
  const { body } = request;
  const source = await measureInTime(deps, request, measureTimeoutMs);
  assertSizeAllowed(source.size_bytes);
  if (!Number.isFinite(source.duration) || source.duration <= 0) {
    throw new ReelmendError('unreadable_video', 'The video has no duration.', { param: '/video_url' });
  }
  assertDurationAllowed(source.duration);
  const durationSeconds = billedSeconds(source.duration);
  const credits = priceInCredits({ durationSeconds, resolution: body.resolution, tier: tierOf(body) });
  return { durationSeconds, source, credits };
}

/** The measurement, given up at the deadline even if it does not listen to its signal. */
async function measureInTime(
  { measure }: HttpDeps,
  { principal, videoUrl, signal }: MeasurementRequest,
  timeoutMs: number,
): Promise<MeasuredSource> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const overdue = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(deadline.reason), { once: true });
  });
  try {
    const request = { accountId: principal.account.id, signal: AbortSignal.any([signal, deadline]) };
    return await Promise.race([measure(videoUrl.href, request), overdue]);
  } catch (cause) {
    // A caller that went away gets no answer; what aborted the measurement is then no failure to log.
    throw measurementError(cause, deadline.aborted || signal.aborted);
  }
}

function measurementError(cause: unknown, overdue: boolean): unknown {
  const options = { param: '/video_url', cause };
  if (overdue) return new ReelmendError('video_unreachable', 'The video could not be measured in time.', options);
  if (!(cause instanceof ReelmendError)) {
    return new ReelmendError('internal_error', 'The service failed to measure the video. The failure was logged.', {
      cause,
    });
  }
  // What ends a job while it is processed says, here, that the video cannot be read or reached.
  if (cause.code === 'processing_failed') {
    return new ReelmendError('unreadable_video', 'The video cannot be decoded.', options);
  }
  if (cause.code === 'processing_timeout' || cause.code === 'source_changed') {
    return new ReelmendError('video_unreachable', 'The video could not be measured.', options);
  }
  // That this service is busy says nothing of the URL.
  if (cause.param !== undefined || cause.code === 'service_unavailable') return cause;
  const { code, message, retryAfterS } = cause;
  return new ReelmendError(code, message, { ...options, ...(retryAfterS === undefined ? {} : { retryAfterS }) });
}

type Refusal = Exclude<SandboxScenario, 'processing_failed' | 'slow'>;

const messages: Readonly<Record<Refusal, string>> = {
  unreadable_video: 'The video cannot be decoded.',
  video_too_long: 'The video lasts 601.000 s; at most 600 s are accepted.',
  video_too_large: 'The video has 2000000001 bytes; at most 2000000000 are accepted.',
  insufficient_credits: 'The balance does not cover the charge.',
};

function isRefusal(scenario: SandboxScenario | null): scenario is Refusal {
  return scenario !== null && Object.hasOwn(messages, scenario);
}

/** Throws the ReelmendError that the measurement of such a video would end in; other names pass. */
export function assertSandboxMeasures(videoUrl: URL): void {
  const scenario = sandboxScenario(videoUrl.href);
  if (!isRefusal(scenario) || scenario === 'insufficient_credits') return;
  throw new ReelmendError(scenario, messages[scenario], { param: '/video_url' });
}

/** Throws ReelmendError `insufficient_credits` for the address that asks for it. */
export function assertSandboxPays(videoUrl: URL): void {
  if (sandboxScenario(videoUrl.href) !== 'insufficient_credits') return;
  throw new ReelmendError('insufficient_credits', messages.insufficient_credits);
}

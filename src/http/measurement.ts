/** Measures and prices a video before anything is stored. */
import { ReelmendError } from '../domain/errors.ts';
import type { MeasuredSource } from '../domain/job.ts';
import { assertDurationAllowed, assertSizeAllowed, billedSeconds, slowMeasurementMessage, testJobSeconds } from '../domain/limits.ts';
import { priceInCredits } from '../domain/pricing.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';
import { isStorageFault } from '../storage/faults.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { assertModelInstalled, type JobInput, tierOf } from './request-checks.ts';
import { fieldOf, type Video } from './requested-video.ts';
import { limitsOf } from './serialize.ts';
import { assertTestVideo } from './test-mode-refusals.ts';

export interface MeasurementRequest {
  principal: Principal;
  body: JobInput;
  video: Video;
  /** aborted when the client disconnects */
  signal: AbortSignal;
}

export interface Measured {
  /** billed duration, whole seconds */
  durationSeconds: number;
  /** null in test mode */
  source: MeasuredSource | null;
  /** 0 in test mode */
  credits: number;
}

const defaultMeasureTimeoutMs = 19_000;

/** Share of the time limit. After a longer wait for a slot, it is this service that left the video too little time. */
const blamelessWait = 0.05;

const busy = (cause: unknown) =>
  new ReelmendError('service_unavailable', 'The video waited for others to be measured; retry shortly.', { retryAfterS: 5, cause });

const late = (cause: unknown) =>
  new ReelmendError('service_unavailable', 'The upload could not be measured in time; retry shortly.', { retryAfterS: 5, cause });

/** Throws ReelmendError with the codes that openapi.yaml names for a refused video, or `invalid_request`. */
export async function measureVideo(deps: HttpDeps, request: MeasurementRequest): Promise<Measured> {
  const { principal, body, video } = request;
  assertModelInstalled(deps, body);
  if (principal.mode === 'live') return measureLive(deps, request);
  const limits = limitsOf(deps);
  assertTestVideo(video, limits);
  return { durationSeconds: testJobSeconds(body.duration_seconds, limits), source: null, credits: 0 };
}

async function measureLive(deps: HttpDeps, request: MeasurementRequest): Promise<Measured> {
  const { measureTimeoutMs = defaultMeasureTimeoutMs } = deps.options ?? {};
  const { body } = request;
  const source = await measureInTime(deps, request, measureTimeoutMs);
  const limits = limitsOf(deps);
  assertSizeAllowed(source.size_bytes, limits);
  if (!Number.isFinite(source.duration) || source.duration <= 0) {
    throw new ReelmendError('unreadable_video', 'The video has no duration.', { param: fieldOf(request.video) });
  }
  assertDurationAllowed(source.duration, limits);
  const durationSeconds = billedSeconds(source.duration);
  const credits = priceInCredits({ durationSeconds, resolution: body.resolution, tier: tierOf(body) });
  return { durationSeconds, source, credits };
}

/** Stops waiting at the deadline, even if `measure` ignores its signal. */
async function measureInTime(
  { measure }: HttpDeps,
  { principal, video, signal }: MeasurementRequest,
  timeoutMs: number,
): Promise<MeasuredSource> {
  const deadline = AbortSignal.timeout(timeoutMs);
  let waitedMs = 0;
  try {
    const onStart = (ms: number) => void (waitedMs = ms);
    const request = { accountId: principal.account.id, signal: AbortSignal.any([signal, deadline]), onStart };
    const source = video.upload === null ? video.url.href : { key: video.upload.key, sizeBytes: video.upload.sizeBytes };
    return await unlessAborted(measure(source, request), deadline);
  } catch (cause) {
    if (deadline.aborted && waitedMs > timeoutMs * blamelessWait) throw busy(cause);
    // An upload lies in our own storage, so no one else is slow or at fault.
    if (video.upload !== null && deadline.aborted) throw late(cause);
    if (video.upload !== null && isStorageFault(cause)) throw cause;
    // A disconnected client counts like the deadline: nobody reads the response, and there is no failure to log.
    throw measurementError(cause, { param: fieldOf(video), isAborted: deadline.aborted || signal.aborted });
  }
}

function measurementError(cause: unknown, { param, isAborted }: { param: string; isAborted: boolean }): unknown {
  const options = { param, cause };
  if (isAborted) return new ReelmendError('video_unreachable', slowMeasurementMessage, options);
  if (!(cause instanceof ReelmendError)) {
    return new ReelmendError('internal_error', 'The service failed to measure the video. The failure was logged.', {
      cause,
    });
  }
  // Codes of running jobs are translated to codes of requests.
  if (cause.code === 'processing_failed') {
    return new ReelmendError('unreadable_video', 'The video cannot be decoded.', options);
  }
  if (cause.code === 'processing_timeout' || cause.code === 'source_changed') {
    return new ReelmendError('video_unreachable', 'The video could not be measured.', options);
  }
  // `service_unavailable` is not about the URL, so it gets no `param`.
  return cause.param !== undefined || cause.code === 'service_unavailable' ? cause : cause.withParam(param);
}

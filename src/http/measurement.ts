/** Measures and prices a job request before anything is stored. */
import type { z } from 'zod';
import type { zJobInput, zPreviewInput } from '../contract/zod.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { MeasuredSource, Tier } from '../domain/job.ts';
import {
  assertDurationAllowed,
  assertSizeAllowed,
  billedSeconds,
  testJobSeconds,
  tooLargeMessage,
  tooLongMessage,
  type VideoLimits,
} from '../domain/limits.ts';
import { priceInCredits } from '../domain/pricing.ts';
import { testModeScenario, type TestModeScenario, type VideoName } from '../domain/test-mode.ts';
import type { UploadRecord } from '../domain/uploads.ts';
import { problemOfText, urlNotAllowed } from '../domain/urls.ts';
import { isStorageFault } from '../storage/faults.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { limitsOf, modelsOf } from './serialize.ts';
import { uploadNotFound } from './validation.ts';

export type JobInput = z.output<typeof zJobInput>;
export type PreviewInput = z.output<typeof zPreviewInput>;

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

/** What a request asks to enhance: a URL or an upload. */
export type Video = { url: URL; upload: null } | { url: null; upload: UploadRecord };

/** The field that names the video, as JSON Pointer. */
const fieldOf = ({ upload }: Video): string => (upload === null ? '/video_url' : '/upload_id');

/** The part of the video that test mode looks at. */
export const nameOf = ({ url, upload }: Video): VideoName => ({ videoUrl: url?.href ?? null, fileName: upload?.fileName ?? null });

/**
 * Finds the video of a request. Throws ReelmendError `url_not_allowed`, `upload_not_found`, `upload_not_ready` or
 * `upload_failed`.
 */
export async function findVideo(deps: HttpDeps, { account, mode }: Principal, body: JobInput | PreviewInput): Promise<Video> {
  if (body.upload_id === undefined) return { url: parsePublicUrl(deps, body.video_url ?? '', '/video_url'), upload: null };
  const upload = await deps.store.uploads.get(account.id, mode, body.upload_id);
  if (upload === null) throw uploadNotFound('/upload_id');
  assertUsable(upload);
  return { url: null, upload };
}

const notReady = {
  waiting: 'The upload waits for its parts. Send them and complete it.',
  verifying: 'The upload is being verified. Create the job when its status is "ready".',
} as const;

function assertUsable({ status }: UploadRecord): void {
  const options = { param: '/upload_id' };
  if (status === 'failed') {
    throw new ReelmendError('upload_failed', 'The uploaded file differs from its checksum. Upload it again.', options);
  }
  if (status !== 'ready') throw new ReelmendError('upload_not_ready', notReady[status], options);
}

const defaultMeasureTimeoutMs = 19_000;

/** Share of the time limit. After a longer wait for a slot, it is this service that left the video too little time. */
const blamelessWait = 0.05;

const busy = (cause: unknown) =>
  new ReelmendError('service_unavailable', 'The video waited for others to be measured; retry shortly.', { retryAfterS: 5, cause });

const late = (cause: unknown) =>
  new ReelmendError('service_unavailable', 'The upload could not be measured in time; retry shortly.', { retryAfterS: 5, cause });

export function tierOf(body: Pick<JobInput, 'secure'>): Tier {
  return body.secure === true ? 'secure' : 'standard';
}

/** Throws ReelmendError `secure_tier_required` for a Secure job with a Standard key. */
export function assertTierAllowed(principal: Principal, body: Pick<JobInput, 'secure'>): void {
  if (body.secure === true && principal.tier !== 'secure') throw secureTierRequired('/secure');
}

export function secureTierRequired(param?: string): ReelmendError {
  const options = param === undefined ? {} : { param };
  return new ReelmendError('secure_tier_required', 'This needs a key of the Secure tier.', options);
}

/**
 * Parses a URL of the request once; all later code uses the normalised form. Refuses private addresses in both modes.
 * Does not resolve names: test mode needs no network, and live mode checks each IP address when it connects.
 */
export function parsePublicUrl(deps: HttpDeps, text: string, param: string): URL {
  const url = URL.parse(text);
  if (url === null) throw urlNotAllowed(problemOfText(text), { param });
  try {
    deps.checkUrl(url.href);
  } catch (cause) {
    throw cause instanceof ReelmendError ? cause.withParam(param) : cause;
  }
  return url;
}

/** Throws ReelmendError with the codes that openapi.yaml names for a refused video, or `invalid_request`. */
export async function measureVideo(deps: HttpDeps, request: MeasurementRequest): Promise<Measured> {
  const { principal, body, video } = request;
  assertModelInstalled(deps, body);
  if (principal.mode === 'live') return measureLive(deps, request);
  const limits = limitsOf(deps);
  assertTestVideo(video, limits);
  return { durationSeconds: testJobSeconds(body.duration_seconds, limits), source: null, credits: 0 };
}

/** Applies to test mode too, so that a test finds a name that live mode would refuse. */
export function assertModelInstalled(deps: HttpDeps, { model }: Pick<JobInput, 'model'>, param = '/model'): void {
  const names = modelsOf(deps);
  if (model === undefined || names.includes(model)) return;
  const message = `There is no model "${model}"; there are ${names.join(', ')}.`;
  throw new ReelmendError('invalid_request', message, { param });
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
  const timeout = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(deadline.reason), { once: true });
  });
  try {
    const onStart = (ms: number) => void (waitedMs = ms);
    const request = { accountId: principal.account.id, signal: AbortSignal.any([signal, deadline]), onStart };
    const source = video.upload === null ? video.url.href : { key: video.upload.key, sizeBytes: video.upload.sizeBytes };
    return await Promise.race([measure(source, request), timeout]);
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
  if (isAborted) return new ReelmendError('video_unreachable', 'The video could not be measured in time.', options);
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

/**
 * Throws ReelmendError `max_credits_exceeded` if the job or preview costs more than the request allows. In test mode, which
 * is free, the price of live mode counts.
 */
export function assertWithinMaxCredits(credits: number, most: number | undefined, what: 'job' | 'preview' = 'job'): void {
  if (most === undefined || credits <= most) return;
  const message = `The ${what} would cost ${credits} credits; \`max_credits\` allows ${most}.`;
  throw new ReelmendError('max_credits_exceeded', message, { param: '/max_credits' });
}

type Refusal = Exclude<TestModeScenario, 'processing_failed' | 'slow'>;

const balanceMessage = 'The balance does not cover the charge.';

const messages = (limits: VideoLimits): Readonly<Record<Refusal, string>> => ({
  unreadable_video: 'The video cannot be decoded.',
  video_too_long: tooLongMessage(limits.durationS + 1, limits),
  video_too_large: tooLargeMessage(limits.bytes + 1, limits),
  insufficient_credits: balanceMessage,
});

function isRefusal(scenario: TestModeScenario | null): scenario is Refusal {
  return scenario !== null && scenario !== 'processing_failed' && scenario !== 'slow';
}

/** Test mode measures nothing: throws the error that the name of the video requests (src/domain/test-mode.ts). */
function assertTestVideo(video: Video, limits: VideoLimits): void {
  const scenario = testModeScenario(nameOf(video));
  if (!isRefusal(scenario) || scenario === 'insufficient_credits') return;
  throw new ReelmendError(scenario, messages(limits)[scenario], { param: fieldOf(video) });
}

/** Throws ReelmendError `insufficient_credits` if the name of the video requests it. */
export function assertTestBalance(video: Video): void {
  if (testModeScenario(nameOf(video)) !== 'insufficient_credits') return;
  throw new ReelmendError('insufficient_credits', balanceMessage);
}

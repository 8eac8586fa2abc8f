/** POST /v1/quotes: the price and duration of a job with the same body. Changes nothing. */
import type { Quote } from '../contract/types.gen.ts';
import type { JobRecord, MeasuredSource, Resolution } from '../domain/job.ts';
import { crfOf, estimateSize, fittedSize, type SizeEstimate } from '../domain/output-size.ts';
import { testModeScenario, slowScenarioS } from '../domain/test-mode.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { serializeSource } from './serialize.ts';
import { assertTierAllowed, findVideo, type JobInput, measureVideo, nameOf, parsePublicUrl, tierOf, type Video } from './measurement.ts';

/** An estimate is based on so many of the account's latest jobs. */
const sampleSize = 50;
const defaultTestJobMs = 2000;
/** of REELMEND_ENCODER_CRF */
const defaultCrf = 16;
/** Seconds of processing per second of video on two cores, for accounts without a finished job. */
const defaultRates: Readonly<Record<Resolution, number>> = { '1080p': 1.5, '4k': 6 };

export interface QuoteRequest {
  principal: Principal;
  body: JobInput;
  /** aborted when the client disconnects */
  signal: AbortSignal;
}

/** Throws ReelmendError with the codes that openapi.yaml names for createQuote. */
export async function createQuote(deps: HttpDeps, { principal, body, signal }: QuoteRequest): Promise<Quote> {
  assertTierAllowed(principal, body);
  const video = await findVideo(deps, principal, body);
  if (body.webhook_url !== undefined) parsePublicUrl(deps, body.webhook_url, '/webhook_url');
  const { durationSeconds, credits, source } = await measureVideo(deps, { principal, body, video, signal });
  const sandbox = principal.mode === 'test';
  const latest = sandbox ? [] : await latestJobs(deps, principal);
  const seconds = sandbox ? testJobSeconds(deps, video) : durationSeconds * processingRate(deps, latest, body.resolution);
  return {
    duration_seconds: durationSeconds,
    credits,
    resolution: body.resolution,
    tier: tierOf(body),
    sandbox,
    estimated_seconds: Math.max(1, Math.ceil(seconds)),
    estimated_size: source === null ? null : sizeOf(deps, body, source, latest),
    source: serializeSource(source),
  };
}

function testJobSeconds({ options }: HttpDeps, video: Video): number {
  if (testModeScenario(nameOf(video)) === 'slow') return slowScenarioS;
  return (options?.testModeDelayMs ?? defaultTestJobMs) / 1000;
}

async function latestJobs({ store }: HttpDeps, { account, mode }: Principal): Promise<JobRecord[]> {
  return (await store.jobs.list({ accountId: account.id, mode, limit: sampleSize, status: 'done' })).jobs;
}

function sizeOf({ options }: HttpDeps, body: JobInput, source: MeasuredSource, samples: JobRecord[]): SizeEstimate {
  const { quality, max_bitrate: maxBitrate } = body.output ?? {};
  const crf = crfOf(quality, options?.encoderCrf ?? defaultCrf);
  return estimateSize({ output: fittedSize(body.resolution, source), source, crf, maxBitrate, samples });
}

/** Seconds of processing per second of video: the median of the latest jobs with that resolution. */
function processingRate({ options }: HttpDeps, latest: JobRecord[], resolution: Resolution): number {
  const rates = latest.filter((job) => job.resolution === resolution).flatMap(rateOf);
  const median = rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)];
  return median ?? (options?.processingRates ?? defaultRates)[resolution];
}

function rateOf({ startedAt, finishedAt, durationSeconds }: JobRecord): number[] {
  if (startedAt === null || finishedAt === null) return [];
  return [Math.max(0, finishedAt.getTime() - startedAt.getTime()) / 1000 / durationSeconds];
}

/** POST /v1/quotes: the price and duration of a job with the same body. Changes nothing. */
import type { Quote } from '../contract/types.gen.ts';
import type { JobRecord, MeasuredSource, Resolution } from '../domain/job.ts';
import { type ExpectedTime, estimateTime } from '../domain/processing-time.ts';
import { crfOf, estimateSize, fittedSize, type SizeEstimate } from '../domain/output-size.ts';
import { isSlow, slowScenarioS } from '../domain/test-mode.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { serializeSource } from './serialize.ts';
import { measureVideo } from './measurement.ts';
import { assertTierAllowed, type JobInput, parsePublicUrl, tierOf } from './request-checks.ts';
import { findVideo, nameOf, type Video } from './requested-video.ts';

/** An estimate uses this many of the latest jobs: the account's for the size, all for the time. */
const sampleSize = 50;
const defaultTestJobMs = 2000;
/** of REELMEND_ENCODER_CRF */
const defaultCrf = 16;
/** Seconds of processing per second of video on two cores, for installations without a finished job. */
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
  const isTestMode = principal.mode === 'test';
  const latest = isTestMode ? [] : await latestJobs(deps, principal);
  const { seconds, ...range } = source === null ? testJobTime(deps, video) : await jobTime(deps, body, source);
  return {
    duration_seconds: durationSeconds,
    credits,
    resolution: body.resolution,
    tier: tierOf(body),
    sandbox: isTestMode,
    estimated_seconds: seconds,
    estimated_time: range,
    estimated_size: source === null ? null : sizeOf(deps, body, source, latest),
    source: serializeSource(source),
  };
}

function testJobTime({ options }: HttpDeps, video: Video): ExpectedTime {
  const exact = isSlow(nameOf(video)) ? slowScenarioS : (options?.testModeDelayMs ?? defaultTestJobMs) / 1000;
  const seconds = Math.max(1, Math.ceil(exact));
  return { seconds, min_seconds: seconds, max_seconds: seconds, basis: 'test_mode' };
}

async function jobTime({ store, options }: HttpDeps, { resolution }: JobInput, source: MeasuredSource): Promise<ExpectedTime> {
  const samples = await store.jobs.latestTimes(sampleSize);
  return estimateTime({ resolution, source, samples, typicalRate: (options?.processingRates ?? defaultRates)[resolution] });
}

async function latestJobs({ store }: HttpDeps, { account, mode }: Principal): Promise<JobRecord[]> {
  return (await store.jobs.list({ accountId: account.id, mode, limit: sampleSize, status: 'done' })).jobs;
}

function sizeOf({ options }: HttpDeps, body: JobInput, source: MeasuredSource, samples: JobRecord[]): SizeEstimate {
  const { quality, max_bitrate: maxBitrate } = body.output ?? {};
  const crf = crfOf(quality, options?.encoderCrf ?? defaultCrf);
  return estimateSize({ output: fittedSize(body.resolution, source), source, crf, maxBitrate, samples });
}

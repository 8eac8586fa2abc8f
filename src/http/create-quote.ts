/** POST /v1/quotes: the price and duration of a job with the same body. Changes nothing. */
import type { Quote } from '../contract/types.gen.ts';
import type { JobRecord, Resolution } from '../domain/job.ts';
import { testModeScenario, slowScenarioS } from '../domain/test-mode.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { serializeSource } from './serialize.ts';
import { assertTierAllowed, findVideo, type JobInput, measureVideo, nameOf, parsePublicUrl, tierOf, type Video } from './measurement.ts';

/** An estimate is based on so many of the account's latest jobs. */
const sampleSize = 50;
const defaultTestJobMs = 2000;
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
  const seconds = sandbox
    ? testJobSeconds(deps, video)
    : durationSeconds * (await processingRate(deps, principal, body.resolution));
  return {
    duration_seconds: durationSeconds,
    credits,
    resolution: body.resolution,
    tier: tierOf(body),
    sandbox,
    estimated_seconds: Math.max(1, Math.ceil(seconds)),
    source: serializeSource(source),
  };
}

function testJobSeconds({ options }: HttpDeps, video: Video): number {
  if (testModeScenario(nameOf(video)) === 'slow') return slowScenarioS;
  return (options?.testModeDelayMs ?? defaultTestJobMs) / 1000;
}

/** Seconds of processing per second of video: the median of the account's latest jobs with that resolution. */
async function processingRate(deps: HttpDeps, principal: Principal, resolution: Resolution): Promise<number> {
  const { jobs } = await deps.store.jobs.list({
    accountId: principal.account.id,
    mode: principal.mode,
    limit: sampleSize,
    status: 'done',
  });
  const rates = jobs.filter((job) => job.resolution === resolution).flatMap(rateOf);
  const median = rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)];
  return median ?? (deps.options?.processingRates ?? defaultRates)[resolution];
}

function rateOf({ startedAt, finishedAt, durationSeconds }: JobRecord): number[] {
  if (startedAt === null || finishedAt === null) return [];
  return [Math.max(0, finishedAt.getTime() - startedAt.getTime()) / 1000 / durationSeconds];
}

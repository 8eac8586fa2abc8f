/** Checks of a request for a job or a preview that need no measurement of the video, and of the URLs in requests. */
import type { z } from 'zod';
import type { zJobInput, zPreviewInput } from '../contract/zod.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { Tier } from '../domain/job.ts';
import { problemOfText, urlNotAllowed } from '../domain/urls.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { modelsOf } from './serialize.ts';

export type JobInput = z.output<typeof zJobInput>;
export type PreviewInput = z.output<typeof zPreviewInput>;

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

/** Applies to test mode too, so that a test finds a name that live mode would refuse. */
export function assertModelInstalled(deps: HttpDeps, { model }: Pick<JobInput, 'model'>, param = '/model'): void {
  const names = modelsOf(deps);
  if (model === undefined || names.includes(model)) return;
  const message = `There is no model "${model}"; there are ${names.join(', ')}.`;
  throw new ReelmendError('invalid_request', message, { param });
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

/** POST /v1/previews after validation: like creating a job, with the price of a few stretches. */
import { type JobRecord, videoSeconds } from '../domain/job.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { previewCredits, type PreviewSetting, secondsPerSetting } from '../domain/previews.ts';
import type { Idempotency } from '../store/types.ts';
import { actorOf, sessionIdOf } from './actor.ts';
import { type Creation, type CreationRequest, createWithinQuota, findReplay } from './create-job.ts';
import type { HttpDeps } from './deps.ts';
import { idempotencyOf, withReplay } from './idempotency.ts';
import { measureVideo } from './measurement.ts';
import { currentTraceparent } from './middleware/trace.ts';
import { assertModelInstalled, assertTierAllowed, assertWithinMaxCredits, type PreviewInput, tierOf } from './request-checks.ts';
import { findVideo } from './requested-video.ts';
import { assertTestBalance } from './test-mode-refusals.ts';

export type PreviewRequest = Omit<CreationRequest, 'body'> & { body: PreviewInput };

/**
 * Creates the preview, or returns the one that the same idempotency key has created. Throws ReelmendError with the codes
 * that openapi.yaml lists for createPreview.
 */
export async function createPreview(deps: HttpDeps, request: PreviewRequest): Promise<{ preview: JobRecord; replayed: boolean }> {
  const { principal, body, idempotencyKey } = request;
  assertTierAllowed(principal, body);
  const idempotency = idempotencyOf(idempotencyKey, body);
  const { job, replayed } = await withReplay(idempotency, { find: findReplay(deps, principal), create: () => createNewPreview(deps, request, idempotency) });
  return { preview: job, replayed };
}

async function createNewPreview(deps: HttpDeps, { principal, body, signal }: PreviewRequest, idempotency: Idempotency | null): Promise<Creation> {
  const { account, mode } = principal;
  const settings = body.settings.map(settingOf);
  for (const [index, setting] of settings.entries()) assertModelInstalled(deps, setting, `/settings/${index}/model`);
  const video = await findVideo(deps, principal, body);
  // Measured like a job with the first setting.
  const measured = await measureVideo(deps, { principal, body: { ...videoOf(body), ...settings[0]! }, video, signal });
  const durationS = videoSeconds(measured);
  const tier = tierOf(body);
  const credits = previewCredits({ durationS, settings, tier });
  assertWithinMaxCredits(credits, body.max_credits, 'preview');
  if (mode === 'test') assertTestBalance(video);
  return createWithinQuota(deps, principal, {
    account: { id: account.id, retentionDays: account.retentionDays },
    standardRetentionDays: deps.options?.retentionDays,
    ...{ mode, tier, idempotency },
    source: measured.source,
    resolution: settings.some(({ resolution }) => resolution === '4k') ? '4k' : '1080p',
    videoUrl: video.url?.href ?? null,
    upload: video.upload,
    webhookUrl: null,
    model: null,
    enhancements: {},
    metadata: {},
    durationSeconds: secondsPerSetting(durationS) * settings.length,
    credits: mode === 'test' ? 0 : credits,
    preview: { settings },
    traceparent: currentTraceparent(),
    actor: actorOf(principal),
    sessionId: sessionIdOf(principal),
  });
}

const videoOf = ({ video_url, upload_id, secure }: PreviewInput) => omitUndefined({ video_url, upload_id, secure });

/** The given fields of a setting, so that they can be merged into the body of a job. */
function settingOf({ resolution, model, enhancements, output }: PreviewInput['settings'][number]): PreviewSetting {
  return {
    resolution,
    ...omitUndefined({ model }),
    ...(enhancements === undefined ? {} : { enhancements: omitUndefined(enhancements) }),
    ...(output === undefined ? {} : { output: omitUndefined(output) }),
  };
}

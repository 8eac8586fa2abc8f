/** Previews as the API returns them. */
import type { Preview, PreviewClip, PreviewStretch } from '../contract/types.gen.ts';
import type { JobRecord } from '../domain/job.ts';
import { linkValidityS } from '../domain/limits.ts';
import type { PreviewFacts } from '../domain/previews.ts';
import { previewFileName } from '../domain/uploads.ts';
import type { Principal } from '../store/types.ts';
import { actorOf } from './actor.ts';
import type { HttpDeps } from './deps.ts';
import { limitsOf, serializeJob } from './serialize.ts';
import { previewNotFound } from './validation.ts';

/** A preview in the principal's mode. Throws ReelmendError `preview_not_found`. */
export async function findPreview({ store }: HttpDeps, { account, mode }: Principal, id: string): Promise<JobRecord> {
  const preview = await store.jobs.get(account.id, mode, id);
  if (preview === null) throw previewNotFound();
  return preview;
}

/** The preview with fresh links, which are recorded before they are handed out. */
export async function describePreview(deps: HttpDeps, principal: Principal, preview: JobRecord): Promise<Preview> {
  const { clips, stretches } = preview.preview ?? {};
  if (clips === undefined || stretches === undefined) return serializePreview(deps, preview, null);
  const linked = await linkStretches(deps, preview, { clips, stretches });
  const data = { ...actorOf(principal) };
  await deps.store.audit.record({ accountId: preview.accountId, kind: 'result.accessed', jobId: preview.id, data });
  return serializePreview(deps, preview, linked);
}

type Linked = Pick<Preview, 'stretches' | 'links_expire_in'>;

export function serializePreview(deps: HttpDeps, preview: JobRecord, linked: Linked | null): Preview {
  const { id: _id, resolution: _resolution, duration_seconds, output: _output, enhancements: _applied, ...rest } = serializeJob(deps, preview);
  const { metadata: _metadata, requested: _requested, ...common } = rest;
  return {
    ...common,
    id: preview.id,
    processed_seconds: duration_seconds,
    settings: preview.preview?.settings ?? [],
    ...(linked ?? { stretches: null, links_expire_in: null }),
  };
}

type Made = Required<Pick<PreviewFacts, 'clips' | 'stretches'>>;

async function linkStretches(deps: HttpDeps, preview: JobRecord, { clips, stretches }: Made): Promise<Linked> {
  const expiresInS = linkValidityS(limitsOf(deps));
  let shortestS = expiresInS;
  const link = async (clip: Made['clips'][number]): Promise<PreviewClip> => {
    const { key, width, height, size_bytes } = clip;
    const { url, expiresInS: validS } = await deps.storage.link(key, { fileName: previewFileName(preview, clip), contentType: 'video/mp4', expiresInS });
    shortestS = Math.min(shortestS, validS);
    return { url, width, height, size_bytes };
  };
  const linked = stretches.map(async ({ start, duration, reason }, index): Promise<PreviewStretch> => {
    const ofStretch = clips.filter(({ stretch }) => stretch === index);
    const [original, ...results] = await Promise.all(ofStretch.sort((a, b) => (a.setting ?? -1) - (b.setting ?? -1)).map(link));
    return { start, duration, reason, original: original!, results };
  });
  return { stretches: await Promise.all(linked), links_expire_in: shortestS };
}

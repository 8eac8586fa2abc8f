/** The video that a request names: a URL or an upload. */
import { ReelmendError } from '../domain/errors.ts';
import type { VideoName } from '../domain/test-mode.ts';
import type { UploadRecord } from '../domain/uploads.ts';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { type JobInput, parsePublicUrl, type PreviewInput } from './request-checks.ts';
import { uploadNotFound } from './validation.ts';

/** What a request asks to enhance: a URL or an upload. */
export type Video = { url: URL; upload: null } | { url: null; upload: UploadRecord };

/** The field that names the video, as JSON Pointer. */
export const fieldOf = ({ upload }: Video): string => (upload === null ? '/video_url' : '/upload_id');

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

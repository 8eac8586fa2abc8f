/** Texts of the console about a job: its timeline, help with its errors, a name for its source. */
import type { JobErrorCode } from './errors.ts';
import type { Mode } from './job.ts';
import type { VideoName } from './test-mode.ts';

const timelineTexts: Readonly<Record<string, string>> = {
  'job.created': 'The job was accepted and queued.',
  'job.started': 'A worker started the job.',
  'job.completed': 'The enhanced video is ready.',
  'job.failed': 'The job failed.',
  'job.deleted': 'The job was deleted.',
  'source.accessed': 'A link to the source was handed out.',
  'result.accessed': 'A link to the result was handed out.',
  'certificate.issued': 'The deletion certificate was issued.',
};

/**
 * The sentence for an entry of the audit log; the kind itself if it has none. Test jobs are free, so they mention no refund.
 */
export function timelineText(kind: string, mode: Mode): string {
  if (kind === 'job.failed' && mode === 'live') return 'The job failed; its credits were refunded.';
  return timelineTexts[kind] ?? kind;
}

const help: Readonly<Record<JobErrorCode, string>> = {
  unreadable_video: 'The file is damaged or its format is not supported. Try it in a player, or export it as MP4 (H.264).',
  video_too_long: 'Cut the video: it is longer than this service accepts.',
  video_too_large: 'Compress or cut the video: it is larger than this service accepts.',
  video_unreachable:
    'The server of the video did not answer, or refused. Check that the URL opens without signing in and that the link has not expired.',
  url_not_allowed: 'Give a public http(s) URL: private networks and redirects into them are not fetched.',
  source_changed: 'The video at the URL changed before it was processed. Submit the job again.',
  processing_failed: 'Submit the job again; if it fails again, tell your operator its id.',
  processing_timeout: 'The video took too long to process. Try a shorter one, or a lower resolution.',
};

/** What the user can do about an error. A test job fails only if the name of its video requests that. */
export function errorHelp(mode: Mode, code: JobErrorCode): string {
  return mode === 'test' ? 'The name of the video requests this error; any other name succeeds.' : help[code];
}

/** A name for lists: that of the uploaded file, the last segment of the URL's path, or else its host; at most 120 characters. */
export function sourceName({ videoUrl, fileName }: VideoName): string {
  if (fileName !== null) return [...fileName].slice(0, 120).join('');
  const url = URL.parse(videoUrl ?? '');
  if (url === null) return '';
  const segment = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  return (readable(segment) || url.hostname).slice(0, 120);
}

function readable(segment: string): string {
  try {
    // Lone surrogates and control characters break JSON and pages.
    return decodeURIComponent(segment).toWellFormed().replace(/\p{Cc}/gu, '');
  } catch {
    return segment;
  }
}

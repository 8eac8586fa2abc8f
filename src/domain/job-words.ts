/** Sentences for people: timeline events, advice for errors, and names of videos. */
import type { JobErrorCode } from './errors.ts';
import type { Mode } from './job.ts';

const timelineTexts: Readonly<Record<string, string>> = {
  'job.created': 'The job was accepted and queued.',
  'job.started': 'A worker started the job.',
  'job.completed': 'The enhanced video is ready.',
  'job.failed': 'The job ended in error. Its charge was refunded.',
  'job.deleted': 'The job was deleted.',
  'result.accessed': 'A link to the result was issued.',
  'certificate.issued': 'The deletion certificate was issued.',
};

/** A timeline event as a sentence; an unknown kind is returned unchanged. */
export function timelineText(kind: string): string {
  return timelineTexts[kind] ?? kind;
}

const help: Readonly<Record<JobErrorCode, string>> = {
  unreadable_video: 'The file is damaged or its format is not supported. Try it in a player, or export it as MP4 (H.264).',
  video_too_long: 'Cut the video. The limit is 600 seconds.',
  video_too_large: 'Compress or cut the video. The limit is 2,000,000,000 bytes.',
  video_unreachable:
    'The server of the video did not respond, or refused the request. Check that the URL opens without signing in and that it has not expired.',
  url_not_allowed: 'Use a public http(s) URL. Private networks, and redirects into them, are not allowed.',
  source_changed: 'The video at this URL changed between the quote and the processing. Submit the job again.',
  processing_failed: 'Submit the job again. If it fails again, send its id to your operator.',
  processing_timeout: 'Processing took too long. Try a shorter video or a lower resolution.',
};

/** Advice for the error of a job. A test job fails only because the name of its video asks for it. */
export function errorHelp(mode: Mode, code: JobErrorCode): string {
  return mode === 'test' ? 'The name of the test video requests this error. Any other name succeeds.' : help[code];
}

/** The last path segment of a URL, or the host if the path is empty, as a name for lists. At most 120 characters. */
export function sourceName(videoUrl: string): string {
  const url = URL.parse(videoUrl);
  if (url === null) return '';
  const segment = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  return (readable(segment) || url.hostname).slice(0, 120);
}

function readable(segment: string): string {
  try {
    // JSON and HTML cannot carry lone surrogates and control characters.
    return decodeURIComponent(segment).toWellFormed().replace(/\p{Cc}/gu, '');
  } catch {
    return segment;
  }
}

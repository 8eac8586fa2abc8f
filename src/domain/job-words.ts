/** What happened to a job, and what to do about an error, in plain words for people. */
import type { JobErrorCode } from './errors.ts';
import type { Mode } from './job.ts';

const moments: Readonly<Record<string, string>> = {
  'job.created': 'The job was accepted and queued.',
  'job.started': 'A worker took the job up.',
  'job.completed': 'The enhanced video is ready.',
  'job.failed': 'The job ended in error; what was charged for it was given back.',
  'job.deleted': 'The job was deleted.',
  'result.accessed': 'A link to the result was handed out.',
  'certificate.issued': 'The deletion certificate was issued.',
};

/** An entry of the audit log in a sentence; a kind that is not known here as it is. */
export function timelineText(kind: string): string {
  return moments[kind] ?? kind;
}

const help: Readonly<Record<JobErrorCode, string>> = {
  unreadable_video: 'The file is damaged or of a kind that cannot be read. Try it in a player, or export it as MP4 (H.264).',
  video_too_long: 'Cut the video: at most 600 seconds are accepted.',
  video_too_large: 'Compress or cut the video: at most 2,000,000,000 bytes are accepted.',
  video_unreachable:
    'The server of the video did not answer, or refused. Check that the address opens without signing in and that the link has not expired.',
  url_not_allowed: 'Give a public http(s) address: private networks and redirects into them are not fetched.',
  source_changed: 'The video at the address changed between quote and processing. Submit the job again.',
  processing_failed: 'Submit the job again; if it fails again, tell your operator its id.',
  processing_timeout: 'The video took too long to process. Try a shorter one, or a lower resolution.',
};

/** A job of the sandbox fails only where its video's name asks for it, so that there is nothing to mend. */
export function errorHelp(mode: Mode, code: JobErrorCode): string {
  return mode === 'test' ? 'The name of its video asks for this error; any other name succeeds.' : help[code];
}

/** The last part of an address's path, as a name for lists; the host where there is none. At most 120 characters. */
export function sourceName(videoUrl: string): string {
  const url = URL.parse(videoUrl);
  if (url === null) return '';
  const segment = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  return (readable(segment) || url.hostname).slice(0, 120);
}

function readable(segment: string): string {
  try {
    // A lone surrogate or a control character would not survive JSON or a page.
    return decodeURIComponent(segment).toWellFormed().replace(/\p{Cc}/gu, '');
  } catch {
    return segment;
  }
}

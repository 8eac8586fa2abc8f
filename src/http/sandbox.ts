/** The sandbox measures nothing; the last segment of the address steers what is refused, as test cards do. */
import { FrameliftError, type RequestErrorCode } from '../domain/errors.ts';

const refusals: Readonly<Record<string, { code: RequestErrorCode; message: string; param?: string }>> = {
  unreadable_video: { code: 'unreadable_video', message: 'The video cannot be decoded.', param: '/video_url' },
  video_too_long: {
    code: 'video_too_long',
    message: 'The video lasts 601.000 s; at most 600 s are accepted.',
    param: '/video_url',
  },
  video_too_large: {
    code: 'video_too_large',
    message: 'The video has 2000000001 bytes; at most 2000000000 are accepted.',
    param: '/video_url',
  },
  insufficient_credits: { code: 'insufficient_credits', message: 'The balance does not cover the charge.' },
};

/** Throws the FrameliftError that the address asks for; names that steer the processing pass. */
export function assertSandboxAccepts(videoUrl: URL): void {
  const name = videoUrl.pathname.split('/').at(-1)?.split('.')[0] ?? '';
  const refusal = Object.hasOwn(refusals, name) ? refusals[name] : undefined;
  if (refusal === undefined) return;
  const { code, message, param } = refusal;
  throw new FrameliftError(code, message, param === undefined ? {} : { param });
}

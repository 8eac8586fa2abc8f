/** Test mode measures nothing: the name of the video requests an error (src/domain/test-mode.ts). */
import { ReelmendError } from '../domain/errors.ts';
import { slowMeasurementMessage, tooLargeMessage, tooLongMessage, type VideoLimits } from '../domain/limits.ts';
import { requestedRefusal, type TestModeRefusal } from '../domain/test-mode.ts';
import { fieldOf, nameOf, type Video } from './requested-video.ts';

const balanceMessage = 'The balance does not cover the charge.';

const messages = (limits: VideoLimits): Readonly<Record<TestModeRefusal, string>> => ({
  unreadable_video: 'The video cannot be decoded.',
  video_too_long: tooLongMessage(limits.durationS + 1, limits),
  video_too_large: tooLargeMessage(limits.bytes + 1, limits),
  video_unreachable: slowMeasurementMessage,
  insufficient_credits: balanceMessage,
});

/** Throws the error of a measurement that the name of the video requests. */
export function assertTestVideo(video: Video, limits: VideoLimits): void {
  const code = requestedRefusal(nameOf(video));
  if (code === null || code === 'insufficient_credits') return;
  throw new ReelmendError(code, messages(limits)[code], { param: fieldOf(video) });
}

/** Throws ReelmendError `insufficient_credits` if the name of the video requests it. */
export function assertTestBalance(video: Video): void {
  if (requestedRefusal(nameOf(video)) !== 'insufficient_credits') return;
  throw new ReelmendError('insufficient_credits', balanceMessage);
}

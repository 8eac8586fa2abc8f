/** Test mode measures nothing: the name of the video requests an error (src/domain/test-mode.ts). */
import { ReelmendError } from '../domain/errors.ts';
import { tooLargeMessage, tooLongMessage, type VideoLimits } from '../domain/limits.ts';
import { testModeScenario, type TestModeScenario } from '../domain/test-mode.ts';
import { fieldOf, nameOf, type Video } from './requested-video.ts';

type Refusal = Exclude<TestModeScenario, 'processing_failed' | 'slow'>;

const balanceMessage = 'The balance does not cover the charge.';

const messages = (limits: VideoLimits): Readonly<Record<Refusal, string>> => ({
  unreadable_video: 'The video cannot be decoded.',
  video_too_long: tooLongMessage(limits.durationS + 1, limits),
  video_too_large: tooLargeMessage(limits.bytes + 1, limits),
  insufficient_credits: balanceMessage,
});

function isRefusal(scenario: TestModeScenario | null): scenario is Refusal {
  return scenario !== null && scenario !== 'processing_failed' && scenario !== 'slow';
}

/** Throws the error of a measurement that the name of the video requests. */
export function assertTestVideo(video: Video, limits: VideoLimits): void {
  const scenario = testModeScenario(nameOf(video));
  if (!isRefusal(scenario) || scenario === 'insufficient_credits') return;
  throw new ReelmendError(scenario, messages(limits)[scenario], { param: fieldOf(video) });
}

/** Throws ReelmendError `insufficient_credits` if the name of the video requests it. */
export function assertTestBalance(video: Video): void {
  if (testModeScenario(nameOf(video)) !== 'insufficient_credits') return;
  throw new ReelmendError('insufficient_credits', balanceMessage);
}

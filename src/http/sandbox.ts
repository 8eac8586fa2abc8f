/** The sandbox measures nothing; the address steers what is refused, as test cards do (src/domain/sandbox.ts). */
import { ReelmendError } from '../domain/errors.ts';
import { testModeScenario, type TestModeScenario } from '../domain/test-mode.ts';

type Refusal = Exclude<TestModeScenario, 'processing_failed' | 'slow'>;

const messages: Readonly<Record<Refusal, string>> = {
  unreadable_video: 'The video cannot be decoded.',
  video_too_long: 'The video lasts 601.000 s; at most 600 s are accepted.',
  video_too_large: 'The video has 2000000001 bytes; at most 2000000000 are accepted.',
  insufficient_credits: 'The balance does not cover the charge.',
};

function isRefusal(scenario: TestModeScenario | null): scenario is Refusal {
  return scenario !== null && Object.hasOwn(messages, scenario);
}

/** Throws the ReelmendError that the measurement of such a video would end in; other names pass. */
export function assertSandboxMeasures(videoUrl: URL): void {
  const scenario = testModeScenario(videoUrl.href);
  if (!isRefusal(scenario) || scenario === 'insufficient_credits') return;
  throw new ReelmendError(scenario, messages[scenario], { param: '/video_url' });
}

/** Throws ReelmendError `insufficient_credits` for the address that asks for it. */
export function assertSandboxPays(videoUrl: URL): void {
  if (testModeScenario(videoUrl.href) !== 'insufficient_credits') return;
  throw new ReelmendError('insufficient_credits', messages.insufficient_credits);
}

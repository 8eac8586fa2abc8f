/**
 * Test mode: the last path segment of `video_url`, or the file name of the upload, chooses what happens, like the card
 * numbers of a payment service.
 */

export const testModeScenarios = [
  'unreadable_video',
  'video_too_long',
  'video_too_large',
  'insufficient_credits',
  'processing_failed',
  'slow',
] as const;
export type TestModeScenario = (typeof testModeScenarios)[number];

/**
 * Prefix of the results of test jobs in the storage: one file per resolution, shared by all test jobs. The files are the
 * service's own sample, not customers' data, so no deletion of a job destroys them.
 */
export const samplePrefix = 'samples/';

/** credits that every account shows in test mode; no test job takes any */
export const testCredits = 10_000;

/** seconds that a `slow.*` job takes */
export const slowScenarioS = 30;

/** Where a video comes from: a URL, or an upload with this file name. */
export interface VideoName {
  videoUrl: string | null;
  fileName: string | null;
}

/**
 * The scenario that a video asks for (`https://example.com/slow.mp4` → `slow`), null for an ordinary one.
 * The first four refuse the creation, `processing_failed` ends the job in error, `slow` takes 30 s.
 */
export function testModeScenario({ videoUrl, fileName }: VideoName): TestModeScenario | null {
  const path = videoUrl === null ? (fileName ?? '') : (URL.parse(videoUrl)?.pathname ?? '');
  const segment = path.slice(path.lastIndexOf('/') + 1);
  const dot = segment.indexOf('.');
  if (dot < 0) return null;
  const name = segment.slice(0, dot);
  return testModeScenarios.find((scenario) => scenario === name) ?? null;
}

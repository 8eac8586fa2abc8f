/**
 * Test mode: the last path segment of `video_url`, or the file name of the upload, chooses what happens, like the card
 * numbers of a payment service.
 */
import { type JobErrorCode, jobErrorCodes, videoErrorCodes } from './errors.ts';

/** Scenarios that refuse the creation with the code of their name. */
const refusals = ['unreadable_video', 'video_too_long', 'video_too_large', 'video_unreachable', 'insufficient_credits'] as const;
export type TestModeRefusal = (typeof refusals)[number];

/** The code of each scenario that ends the job in error: `source_changed`, `failed_video_unreachable` … */
const failures: ReadonlyMap<string, JobErrorCode> = new Map([
  ...jobErrorCodes.map((code) => [code, code] as const),
  ...videoErrorCodes.map((code) => [`failed_${code}`, code] as const),
]);

export const testModeScenarios: readonly string[] = [...refusals, ...failures.keys(), 'slow'];

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

/** The name of the scenario that a video asks for (`https://example.com/slow.mp4` → `slow`), null for an ordinary one. */
export function testModeScenario({ videoUrl, fileName }: VideoName): string | null {
  const path = videoUrl === null ? (fileName ?? '') : (URL.parse(videoUrl)?.pathname ?? '');
  const segment = path.slice(path.lastIndexOf('/') + 1);
  const dot = segment.indexOf('.');
  if (dot < 0) return null;
  const name = segment.slice(0, dot);
  return testModeScenarios.includes(name) ? name : null;
}

/** The code with which the creation is refused; null: it is not. */
export const requestedRefusal = (video: VideoName): TestModeRefusal | null => refusals.find((code) => code === testModeScenario(video)) ?? null;

/** The code with which the job ends; null: it succeeds. */
export const requestedFailure = (video: VideoName): JobErrorCode | null => failures.get(testModeScenario(video) ?? '') ?? null;

export const isSlow = (video: VideoName): boolean => testModeScenario(video) === 'slow';

/** How much disk space a job needs, as far as that can be estimated before it is enhanced. */
import { type JobRecord, type PreviewFacts, videoSeconds } from '../domain/job.ts';
import { expectedResultBytes, meanBytes } from '../domain/output-size.ts';
import { candidateStarts, secondsPerSetting, untouchedCrf } from '../domain/previews.ts';

export type SizedJob = Pick<JobRecord, 'id' | 'resolution' | 'durationSeconds' | 'source' | 'outputSettings' | 'preview'>;

/** Whether a video is so long that it is cut into segments. A preview is not. */
export function isCut({ segmentsFromSeconds = 0 }: { segmentsFromSeconds?: number }, job: SizedJob): boolean {
  return job.preview === null && segmentsFromSeconds > 0 && videoSeconds(job) > segmentsFromSeconds;
}

export interface JobBytes {
  source: number;
  /** of the result; in segments, of its pieces beside the file that they are joined to; of a preview, of its clips and samples */
  results: number;
}

/** `crf`: the installation's own. */
export function bytesOf(job: SizedJob, { crf, inSegments }: { crf: number; inSegments: boolean }): JobBytes {
  const result = job.preview === null ? expectedResultBytes(job, crf) : previewBytes(job, job.preview, crf);
  return { source: job.source?.size_bytes ?? 0, results: inSegments ? 2 * result : result };
}

/** Does not grow with the video, but for the first seconds. */
function previewBytes(job: SizedJob, { settings }: PreviewFacts, standardCrf: number): number {
  const { source } = job;
  const durationS = videoSeconds(job);
  const seconds = secondsPerSetting(durationS);
  const stretches = { durationSeconds: seconds, source: source === null ? null : { ...source, duration: seconds } };
  const clips = settings.map(({ resolution, output = {} }) => expectedResultBytes({ ...stretches, resolution, outputSettings: output }, standardCrf));
  // The untouched stretches, and a sample of a second at each position.
  const untouchedS = seconds + candidateStarts(durationS).length;
  const { width = 1920, height = 1080, frame_rate: frameRate = 0 } = source ?? {};
  const untouched = meanBytes({ width, height, frameRate, durationS: untouchedS, crf: untouchedCrf });
  return Math.ceil(clips.reduce((sum, bytes) => sum + bytes, untouched));
}

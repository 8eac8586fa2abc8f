/** The progress of a job with segments: each segment has a part of the bar, in proportion to its length. */
import type { JobSegment } from '../../contract/types.gen.ts';
import { segmentWords, wholePercent } from '../app/format.ts';

export function SegmentBar({ value, segments }: { value: number; segments: readonly JobSegment[] }) {
  const percent = wholePercent(value);
  return (
    <>
      <div
        className="segment-bar"
        role="progressbar"
        aria-label="Progress of the job"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={`${percent} %, ${segmentWords(segments)}`}
      >
        {segments.map(({ start_seconds: start, end_seconds: end, status, progress }) => (
          <span key={start} className={`segment ${status}`} style={{ flexGrow: end - start }} aria-hidden="true">
            <span style={{ transform: `scaleX(${progress})` }} />
          </span>
        ))}
      </div>
      <p className="small muted">{segmentWords(segments)}</p>
    </>
  );
}

/** The progress of a job that is enhanced in segments: each has its own part of the bar, as long as it is. */
import type { JobSegment } from '../../contract/types.gen.ts';
import { segmentWords } from '../app/format.ts';

export function SegmentBar({ value, segments }: { value: number; segments: readonly JobSegment[] }) {
  const percent = Math.floor(value * 100);
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

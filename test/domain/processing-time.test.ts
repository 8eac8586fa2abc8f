import { describe, expect, it } from 'vitest';
import { estimateTime, type TimeSample } from '../../src/domain/processing-time.ts';

const source = { width: 480, height: 270, frame_rate: 25, duration: 60 };

/** A job of that length that took so many seconds. */
function sample(seconds: number, change: Partial<TimeSample> & { duration?: number } = {}): TimeSample {
  const { duration = 60, ...rest } = change;
  const facts = { ...source, duration, container: 'mp4', video_codec: 'h264', audio_codec: null, size_bytes: 1 };
  const startedAt = new Date('2026-11-21T08:00:00Z');
  return { resolution: '1080p', source: facts, startedAt, finishedAt: new Date(startedAt.getTime() + seconds * 1000), ...rest };
}

const estimate = (samples: TimeSample[], change: Partial<Parameters<typeof estimateTime>[0]> = {}) =>
  estimateTime({ resolution: '1080p', source, samples, typicalRate: 1.5, ...change });

describe('the time of a job', () => {
  it('is a wide range around the typical rate where no job has run', () => {
    expect(estimate([])).toEqual({ seconds: 90, min_seconds: 30, max_seconds: 270, basis: 'typical_rate' });
  });

  it('follows the jobs of this machine: a slow one takes longer', () => {
    const range = (seconds: number) => estimate([seconds, seconds, seconds].map((each) => sample(each)));
    const [quick, slow] = [range(30), range(300)];
    expect(quick).toMatchObject({ seconds: 30, basis: 'recent_jobs' });
    expect(slow).toMatchObject({ seconds: 300, basis: 'recent_jobs' });
    expect(quick.max_seconds).toBeLessThan(slow.min_seconds);
  });

  it('has inside it what took place, and no more than it has to', () => {
    const times = [100, 110, 120, 130, 160];
    const { min_seconds, max_seconds } = estimate(times.map((each) => sample(each)));
    expect(min_seconds).toBeLessThan(100);
    expect(max_seconds).toBeGreaterThan(160);
    expect(max_seconds / min_seconds).toBeLessThan(3);
  });

  it('is wider after one job than after many alike', () => {
    const ratio = (count: number) => {
      const { min_seconds, max_seconds } = estimate(Array.from({ length: count }, () => sample(100)));
      return max_seconds / min_seconds;
    };
    expect(ratio(1)).toBeGreaterThan(2 * ratio(10));
  });

  it('counts the frames and the pixels of the result, and prefers jobs of the same resolution', () => {
    const jobs = [102, 102, 102].map((each) => sample(each));
    expect(estimate(jobs, { source: { ...source, duration: 120 } }).seconds).toBe(202);
    expect(estimate(jobs, { source: { ...source, frame_rate: 50 } }).seconds).toBe(202);
    expect(estimate(jobs, { resolution: '4k' }).seconds).toBe(402);
    expect(estimate([...jobs, sample(902, { resolution: '4k' })], { resolution: '4k' }).seconds).toBe(902);
  });

  it('does not stretch the start of a short job over a long one', () => {
    const short = [4, 4, 4].map((each) => sample(each, { duration: 1 }));
    expect(estimate(short).seconds).toBe(122);
  });

  it('leaves out what has no times or no source', () => {
    const broken = [sample(10, { startedAt: null }), sample(10, { finishedAt: null }), sample(10, { source: null })];
    expect(estimate(broken).basis).toBe('typical_rate');
    // They do not hide jobs of the other resolution that tell something.
    const jobs = [102, 102, 102].map((each) => sample(each));
    expect(estimate([...jobs, sample(10, { resolution: '4k', source: null })], { resolution: '4k' }).seconds).toBe(402);
  });
});

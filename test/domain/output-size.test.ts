import { describe, expect, it } from 'vitest';
import { crfOf, estimateSize, fittedSize, type SizeQuery } from '../../src/domain/output-size.ts';

describe('the quality of a job', () => {
  it.each([
    [undefined, 16, 16],
    ['standard', 21, 21],
    ['high', 16, 12],
    ['high', 3, 1],
    [22.5, 16, 22.5],
  ] as const)('%s on an installation with CRF %d is CRF %d', (quality, standard, crf) => {
    expect(crfOf(quality, standard)).toBe(crf);
  });
});

describe('the size of a result', () => {
  const source = { width: 854, height: 480, frame_rate: 30000 / 1001, duration: 12.078733, audio_codec: null, size_bytes: 4_134_647 };
  const query: SizeQuery = { output: { width: 1920, height: 1080 }, source, crf: 16, maxBitrate: undefined, samples: [] };

  it('is where results of real clips were: bits per second at CRF 16, measured by ffprobe', () => {
    const clips = [
      { width: 854, height: 480, rate: 29.97, duration: 12.08, bytes: 4_134_647, bits: 15_520_469 },
      { width: 1920, height: 1080, rate: 24, duration: 5.01, bytes: 993_768, bits: 1_716_470 },
      { width: 1280, height: 720, rate: 30, duration: 1, bytes: 586_323, bits: 14_546_720 },
      { width: 320, height: 240, rate: 15, duration: 2.73, bytes: 932_454, bits: 10_257_170 },
      { width: 568, height: 320, rate: 30, duration: 4, bytes: 439_391, bits: 13_694_260 },
      { width: 1137, height: 640, rate: 30, duration: 14, bytes: 302_156, bits: 10_328_170 },
    ];
    for (const { width, height, rate, duration, bytes, bits } of clips) {
      const facts = { width, height, frame_rate: rate, duration, audio_codec: null, size_bytes: bytes };
      const { min_bytes, max_bytes } = estimateSize({ ...query, source: facts, output: fittedSize('1080p', facts) });
      expect((bits * duration) / 8, `${width}×${height}`).toBeGreaterThan(min_bytes);
      expect((bits * duration) / 8, `${width}×${height}`).toBeLessThan(max_bytes);
    }
  });

  it('has sound on top, is never above what the limit allows, and never below a byte', () => {
    const limited = { ...query, maxBitrate: 1_000_000 };
    expect(estimateSize(limited)).toEqual({ min_bytes: 1_600_000, max_bytes: 1_600_000, basis: 'source_bitrate' });
    const loud = { ...source, audio_codec: 'aac' };
    expect(estimateSize({ ...limited, source: loud })).toMatchObject({ min_bytes: 1_700_000, max_bytes: 2_100_000 });
    const nothing = { ...source, size_bytes: 0, duration: 0.001 };
    expect(estimateSize({ ...query, source: nothing, crf: 51 }).min_bytes).toBeGreaterThanOrEqual(1);
  });

  it('follows the samples, from their lowest tenth to their highest', () => {
    const sample = (size_bytes: number) => ({
      source: { ...source, container: 'mp4', video_codec: 'h264' },
      output: { width: 1920, height: 1080, size_bytes, sha256: '', quality: 16, max_bitrate: null },
    });
    const samples = [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 500].map((megabytes) => sample(megabytes * 1e6));
    const { basis, min_bytes, max_bytes } = estimateSize({ ...query, samples });
    expect({ basis, min_bytes, max_bytes }).toEqual({ basis: 'account_jobs', min_bytes: 8_000_000, max_bytes: 23_000_000 });
    expect(estimateSize({ ...query, samples: samples.slice(0, 4) }).basis).toBe('source_bitrate');
  });
});

describe('the frame of a result', () => {
  it.each([
    ['1080p', 960, 540, 1920, 1080],
    ['1080p', 540, 960, 1080, 1920],
    ['4k', 640, 480, 2880, 2160],
    ['1080p', 3840, 2160, 1920, 1080],
  ] as const)('%s of %d × %d is %d × %d', (resolution, width, height, wide, high) => {
    const { width: x, height: y } = fittedSize(resolution, { width, height });
    expect([x, y].map(Math.round)).toEqual([wide, high]);
  });
});

import { describe, expect, it } from 'vitest';
import { candidateStarts, chooseStretches, previewCredits, secondsPerSetting, type StretchSample, stretchesOf } from '../../src/domain/previews.ts';
import { priceInCredits } from '../../src/domain/pricing.ts';

describe('the stretches of a video', () => {
  it.each([
    [0.4, 1, 0.4, 1],
    [1.5, 1, 1.5, 2],
    [2, 1, 2, 2],
    [3.9, 1, 2, 2],
    [4, 2, 2, 4],
    [6, 3, 2, 6],
    [600, 3, 2, 6],
  ])('of %d s are %d of %d s, billed as %d s', (durationS, count, seconds, billed) => {
    expect(stretchesOf(durationS)).toEqual({ count, seconds });
    expect(secondsPerSetting(durationS)).toBe(billed);
  });

  it('are chosen among at most eight places, which lie within the video, apart from each other', () => {
    for (const durationS of [0.1, 1.9, 2, 5.9, 6, 15.9, 16, 17, 600, 21_600]) {
      const starts = candidateStarts(durationS);
      const { seconds } = stretchesOf(durationS);
      expect(starts).toHaveLength(Math.min(8, Math.max(1, Math.floor(durationS / 2))));
      for (const [index, start] of starts.entries()) {
        expect(start).toBeGreaterThanOrEqual(index === 0 ? 0 : starts[index - 1]! + seconds - 1e-9);
        expect(start + seconds).toBeLessThanOrEqual(durationS + 1e-9);
      }
    }
  });

  it('cost their seconds at the price of each setting', () => {
    const settings = [{ resolution: '1080p' }, { resolution: '4k' }, { resolution: '1080p' }] as const;
    expect(previewCredits({ durationS: 41.4, settings, tier: 'standard' })).toBe(6 * (3 + 6 + 3));
    expect(previewCredits({ durationS: 41.4, settings, tier: 'secure' })).toBe(6 * (6 + 12 + 6));
    expect(previewCredits({ durationS: 0.2, settings: [{ resolution: '1080p' }], tier: 'standard' })).toBe(3);
  });

  it('cost at most six seconds for each setting, however long the video is', () => {
    for (const durationS of [6, 60, 600, 21_600]) {
      expect(secondsPerSetting(durationS)).toBe(6);
      // The prices that docs/quick-start.md names.
      expect(previewCredits({ durationS, settings: [{ resolution: '1080p' }], tier: 'standard' })).toBe(18);
      expect(previewCredits({ durationS, settings: [{ resolution: '4k' }], tier: 'standard' })).toBe(36);
    }
    expect(priceInCredits({ durationSeconds: 600, resolution: '1080p', tier: 'standard' })).toBe(1800);
  });
});

describe('the choice', () => {
  const plain = candidateStarts(16).map((start): StretchSample => ({ start, facesPerFrame: 0, bytesPerSecond: 0, damage: 0 }));
  const withMarks = (marks: Record<number, Partial<StretchSample>>) => plain.map((sample, index) => ({ ...sample, ...marks[index] }));
  const chosen = (samples: StretchSample[]) => chooseStretches(samples, 16).map(({ start, reason }) => [start, reason]);

  it('takes the most faces, then the most bytes, then the most damage, in order of time', () => {
    const samples = withMarks({ 1: { damage: 0.2 }, 3: { damage: 0.5, bytesPerSecond: 10 }, 5: { facesPerFrame: 1 }, 6: { facesPerFrame: 2, bytesPerSecond: 99 }, 7: { bytesPerSecond: 20 } });
    expect(chosen(samples)).toEqual([
      [6, 'most_damaged'],
      [12, 'face'],
      [14, 'hardest_to_encode'],
    ]);
  });

  it('gives no reason that the samples do not show, and spreads the rest over the video', () => {
    expect(chosen(withMarks({ 2: { bytesPerSecond: 5 } }))).toEqual([
      [0, 'evenly_spaced'],
      [4, 'hardest_to_encode'],
      [14, 'evenly_spaced'],
    ]);
    expect(new Set(chosen(plain).map(([, reason]) => reason))).toEqual(new Set(['evenly_spaced']));
    expect(chosen(plain)).toHaveLength(3);
  });
});

import { describe, expect, it } from 'vitest';
import type { Resolution, Tier } from '../../src/domain/job.ts';
import { assertDurationAllowed, assertSizeAllowed, billedSeconds, defaultVideoLimits, limitFactors, linkValidityS, longestDurationS, sameDuration } from '../../src/domain/limits.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { priceInCredits, priceTable } from '../../src/domain/pricing.ts';
import { refundOnDelete, refundOnFailure } from '../../src/domain/refunds.ts';
import { testModeScenario, testModeScenarios } from '../../src/domain/test-mode.ts';
import { isFinal, type Transition, transitions } from '../../src/domain/transitions.ts';

const tiers: Tier[] = ['standard', 'secure'];
const resolutions: Resolution[] = ['1080p', '4k'];

describe('billed seconds', () => {
  for (const [given, billed] of [
    [0, 1],
    [0.04, 1],
    [1, 1],
    [1.001, 2],
    [9.999, 10],
    [10, 10],
    [600, 600],
  ] as const) {
    it(`${given} s are billed as ${billed}`, () => expect(billedSeconds(given)).toBe(billed));
  }
  for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`refuses ${wrong}`, () => expect(() => billedSeconds(wrong)).toThrow(RangeError));
  }
});

describe('limits', () => {
  it('accepts exactly 600 s and refuses anything above', () => {
    expect(() => assertDurationAllowed(600, defaultVideoLimits)).not.toThrow();
    expect(() => assertDurationAllowed(600.001, defaultVideoLimits)).toThrow(expect.objectContaining({ code: 'video_too_long' }));
  });
  it('accepts exactly 2,000,000,000 bytes and refuses one more', () => {
    expect(() => assertSizeAllowed(2_000_000_000, defaultVideoLimits)).not.toThrow();
    expect(() => assertSizeAllowed(2_000_000_001, defaultVideoLimits)).toThrow(expect.objectContaining({ code: 'video_too_large' }));
  });
  it('leave an hour for the link, and more where videos are longer', () => {
    expect(linkValidityS(defaultVideoLimits)).toBe(3600);
    expect(linkValidityS({ ...defaultVideoLimits, durationS: 3600 })).toBe(7200);
  });
  it('enlarge what was sized for the defaults, and never reduce it', () => {
    expect(limitFactors(defaultVideoLimits)).toEqual({ duration: 1, size: 1 });
    expect(limitFactors({ ...defaultVideoLimits, durationS: 3600, bytes: 10e9 })).toEqual({ duration: 6, size: 5 });
    expect(limitFactors({ ...defaultVideoLimits, durationS: 10, bytes: 1 })).toEqual({ duration: 1, size: 1 });
  });
  it('keep the time limit of the longest job within what timers count', () => {
    const { base, perSecond } = defaultTuning.enhanceTimeoutMs;
    expect(base + perSecond * longestDurationS).toBeLessThan(2 ** 31);
  });
  it('takes measurements within one second as equal', () => {
    expect(sameDuration(10, 11)).toBe(true);
    expect(sameDuration(10, 11.001)).toBe(false);
    expect(sameDuration(10, 8.9)).toBe(false);
  });
});

describe('prices', () => {
  const table = { standard: { '1080p': 1.8, '4k': 3.6 }, secure: { '1080p': 3.6, '4k': 7.2 } };
  for (const tier of tiers) {
    for (const resolution of resolutions) {
      it(`${tier} ${resolution} costs ${table[tier][resolution]} dollars a minute`, () => {
        expect(priceTable(tier).perMinute[resolution]).toBe(table[tier][resolution]);
        expect(priceInCredits({ durationSeconds: 60, resolution, tier })).toBe(
          Math.round(table[tier][resolution] * 100),
        );
        expect(priceTable(tier).perSecond[resolution] * 100).toBeCloseTo(
          priceInCredits({ durationSeconds: 1, resolution, tier }),
          9,
        );
      });
    }
  }
  for (const wrong of [0, -3, 1.5, Number.NaN]) {
    it(`refuses ${wrong} seconds`, () =>
      expect(() => priceInCredits({ durationSeconds: wrong, resolution: '4k', tier: 'secure' })).toThrow(RangeError));
  }
});

describe('refunds', () => {
  const base = { creditsCharged: 30, creditsRefunded: 0, durationSeconds: 10 };
  for (const [status, processed, refund] of [
    ['queued', 0, 30],
    ['running', 0, 30],
    ['running', 0.01, 27],
    ['running', 0.5, 15],
    ['running', 0.51, 12],
    ['running', 1, 0],
    ['running', 7, 0],
    ['done', 1, 0],
    ['error', 0.3, 0],
  ] as const) {
    it(`deleting a ${status} job at ${processed} gives ${refund} of 30 back`, () =>
      expect(refundOnDelete({ ...base, status, processed })).toBe(refund));
  }
  it('never gives back more than is held, for every progress, duration and price', () => {
    for (const tier of tiers) {
      for (const resolution of resolutions) {
        for (let durationSeconds = 1; durationSeconds <= 600; durationSeconds += 7) {
          const creditsCharged = priceInCredits({ durationSeconds, resolution, tier });
          let last = Number.POSITIVE_INFINITY;
          for (let step = 0; step <= 50; step++) {
            const query = {
              status: 'running',
              creditsCharged,
              creditsRefunded: 0,
              durationSeconds,
              processed: step / 50,
            } as const;
            const refund = refundOnDelete(query);
            expect(Number.isInteger(refund) && refund >= 0 && refund <= Math.min(creditsCharged, last)).toBe(true);
            last = refund;
          }
        }
      }
    }
  });
  it('gives back every second that was not started, for every progress of whole seconds', () => {
    for (let durationSeconds = 1; durationSeconds <= 600; durationSeconds++) {
      const query = { status: 'running', creditsCharged: 3 * durationSeconds, creditsRefunded: 0, durationSeconds } as const;
      for (let seconds = 0; seconds <= durationSeconds; seconds++) {
        const refund = refundOnDelete({ ...query, processed: seconds / durationSeconds });
        if (refund !== 3 * (durationSeconds - seconds)) expect({ durationSeconds, seconds, refund }).toBe('refunded');
      }
    }
  });
  it('a failed job gets back what is still held', () => {
    expect(refundOnFailure({ creditsCharged: 30, creditsRefunded: 0 })).toBe(30);
    expect(refundOnFailure({ creditsCharged: 30, creditsRefunded: 12 })).toBe(18);
    expect(refundOnFailure({ creditsCharged: 30, creditsRefunded: 30 })).toBe(0);
  });
});

describe('states', () => {
  it('no move but a deletion leaves a final state', () => {
    for (const status of ['queued', 'running', 'done', 'error'] as const) {
      const moves = Object.entries<Transition>(transitions).filter(([, { from }]) => from.includes(status));
      expect(isFinal(status)).toBe(moves.length === 1 && moves[0]![0] === 'delete');
    }
    expect(isFinal('done') && isFinal('error')).toBe(true);
  });
  it('only a running job can finish', () => {
    expect(transitions.finish.from).toEqual(['running']);
  });
});

describe('scenarios of test mode', () => {
  const scenarioOf = (videoUrl: string) => testModeScenario({ videoUrl, fileName: null });
  for (const scenario of testModeScenarios) {
    it(`${scenario}.mp4 asks for ${scenario}`, () => {
      expect(scenarioOf(`https://example.com/a/${scenario}.mp4?x=/y.mp4`)).toBe(scenario);
      expect(scenarioOf(`https://example.com/${scenario}.mp4/film.mov`)).toBeNull();
    });
  }
  it('are asked for by the file names of uploads as well', () => {
    for (const scenario of testModeScenarios) expect(testModeScenario({ videoUrl: null, fileName: `${scenario}.mov` })).toBe(scenario);
    for (const fileName of ['film.mov', 'slow', 'fast/slow']) expect(testModeScenario({ videoUrl: null, fileName })).toBeNull();
  });
  for (const plain of [
    'https://example.com/film.mp4',
    'https://example.com/slow',
    'https://example.com/',
    'nonsense',
  ]) {
    it(`${plain} asks for nothing`, () => expect(scenarioOf(plain)).toBeNull());
  }
});

/** Prices: 1 credit = 1 US cent, charged per whole second of measured video (specification §8). */
import type { Resolution, Tier } from './job.ts';

/** Credits for one second of processed video. */
const creditsPerSecond: Readonly<Record<Tier, Readonly<Record<Resolution, number>>>> = {
  standard: { '1080p': 3, '4k': 6 },
  secure: { '1080p': 6, '4k': 12 },
};

export interface PriceQuery {
  /** whole seconds, ≥ 1 (see `billedSeconds`) */
  durationSeconds: number;
  resolution: Resolution;
  tier: Tier;
}

/** The charge in credits. Throws RangeError for a duration that is not a positive whole number. */
export function priceInCredits({ durationSeconds, resolution, tier }: PriceQuery): number {
  if (!Number.isSafeInteger(durationSeconds) || durationSeconds < 1) {
    throw new RangeError(`Expected a positive whole number for durationSeconds but received ${durationSeconds}`);
  }
  return durationSeconds * creditsPerSecond[tier][resolution];
}

export interface PriceTable {
  currency: 'USD';
  /** dollars per second, by target resolution */
  perSecond: Record<Resolution, number>;
  /** dollars per minute, by target resolution */
  perMinute: Record<Resolution, number>;
}

/** The price list of a tier in dollars, exact to the cent. */
export function priceTable(tier: Tier): PriceTable {
  const credits = creditsPerSecond[tier];
  return {
    currency: 'USD',
    perSecond: { '1080p': credits['1080p'] / 100, '4k': credits['4k'] / 100 },
    perMinute: { '1080p': (credits['1080p'] * 60) / 100, '4k': (credits['4k'] * 60) / 100 },
  };
}

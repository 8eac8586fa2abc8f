/** Quotas: limits that operators set for one account, instead of those of the whole service. */

export const quotaNames = ['jobs_per_day', 'parallel_enhancements', 'upload_quota_bytes', 'create_per_minute', 'read_per_minute', 'other_per_minute'] as const;
export type QuotaName = (typeof quotaNames)[number];

/** The stored quotas of an account; absent ones follow the service's setting. */
export type Quotas = Partial<Record<QuotaName, number>>;
/** null: no limit */
export type EffectiveQuotas = Record<QuotaName, number | null>;
/** null: back to the service's setting */
export type QuotaChanges = Partial<Record<QuotaName, number | null>>;

interface QuotaRange {
  min: number;
  max: number;
}

/** Whole numbers; the contract has the same ranges. */
const quotaRanges: Readonly<Record<QuotaName, QuotaRange>> = {
  jobs_per_day: { min: 1, max: 1_000_000 },
  parallel_enhancements: { min: 1, max: 10_000 },
  upload_quota_bytes: { min: 1, max: 1_000_000_000_000_000 },
  create_per_minute: { min: 1, max: 1_000_000 },
  read_per_minute: { min: 1, max: 1_000_000 },
  other_per_minute: { min: 1, max: 1_000_000 },
};

/** Throws RangeError for a value outside the range. */
export function changedQuotas(before: Quotas, changes: QuotaChanges): Quotas {
  const after = { ...before };
  for (const name of quotaNames) {
    const value = changes[name];
    if (value === undefined) continue;
    delete after[name];
    if (value !== null) after[name] = inRange(name, value);
  }
  return after;
}

function inRange(name: QuotaName, value: number): number {
  const { min, max } = quotaRanges[name];
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`Expected a whole number from ${min} to ${max} for ${name} but received ${value}`);
}

export const sameQuotas = (one: Quotas, other: Quotas): boolean => quotaNames.every((name) => one[name] === other[name]);

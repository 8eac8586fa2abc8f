/** The days that a request for the usage names, or the default ones. */
import { ReelmendError } from '../domain/errors.ts';

const dayMs = 86_400_000;
/** between the first and the last day */
const longestDays = 366;

export interface UsageRequest {
  interval: 'day' | 'month';
  from?: string | undefined;
  to?: string | undefined;
}

/** Throws ReelmendError `invalid_request` for days in the wrong order, or too many. */
export function usageDays({ interval, from, to }: UsageRequest, now: Date): { from: string; to: string } {
  const last = to === undefined ? startOfDay(now) : new Date(to);
  const first = from === undefined ? defaultFirst(interval, last) : new Date(from);
  const days = (last.getTime() - first.getTime()) / dayMs;
  if (days < 0) throw new ReelmendError('invalid_request', `"from" is after ${to === undefined ? 'today (UTC)' : '"to"'}.`, { param: '/from' });
  if (days > longestDays) throw new ReelmendError('invalid_request', `"from" must be at most ${longestDays} days before "to".`, { param: '/from' });
  return { from: dayOf(first), to: dayOf(last) };
}

/** 30 days with the last one, or 12 months with its month. */
function defaultFirst(interval: 'day' | 'month', last: Date): Date {
  if (interval === 'day') return new Date(last.getTime() - 29 * dayMs);
  return new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - 11, 1));
}

/** What the store has for an account without transfers. */
export function periodsWithoutUsage(interval: 'day' | 'month', { from, to }: { from: string; to: string }) {
  const length = interval === 'day' ? '2026-11-21'.length : '2026-11'.length;
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  const periods = new Set(Array.from({ length: days }, (_, day) => dayOf(new Date(Date.parse(from) + day * dayMs)).slice(0, length)));
  return [...periods].map((period) => ({ period, jobs: 0, seconds: 0, credits: 0, refunded: 0 }));
}

const startOfDay = (time: Date) => new Date(dayOf(time));
const dayOf = (time: Date) => time.toISOString().slice(0, 10);

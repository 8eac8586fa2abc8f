/** Formats numbers, times and sizes in English, like the page. Pure functions. */
import type { JobSegment, Resolution } from '../../contract/types.gen.ts';

const locale = 'en-GB';
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const dateTimeFull = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const dateOnly = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
/** Always numbers: 47 hours ago is one day, but was not `yesterday`. */
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

export function formatCount(value: number): string {
  return whole.format(value);
}

/** A number with its sign, for credit transfers. */
export function formatSigned(value: number): string {
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${whole.format(Math.abs(value))}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatCredits(credits: number): string {
  return plural(credits, 'credit');
}

/** One credit is one US cent. */
export function creditsInDollars(credits: number): string {
  return dollars.format(credits / 100);
}

/** File size in decimal units, like the limit of 2 GB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let value = bytes;
  let unit = 0;
  // 999.7 kB would be rounded to 1000 kB.
  while (Math.round(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Seconds as `4.2 s`, `2 min 05 s` or `1 h 03 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  if (rounded < 60) return `${rounded} s`;
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${String(rounded % 60).padStart(2, '0')} s`;
  return `${Math.floor(rounded / 3600)} h ${String(Math.floor((rounded % 3600) / 60)).padStart(2, '0')} min`;
}

/** Below this many frames, the engine's start dominates: the predicted time would be several times too long. */
const earliestTimeLeft = 0.05;

const targets: Readonly<Record<Resolution, string>> = { '1080p': '1080p', '4k': '4K' };

/** The target of a job as people spell it. */
export function formatTarget(resolution: Resolution): string {
  return targets[resolution];
}

/** `40 s left`; null while it is unknown. */
export function formatTimeLeft({ progress, eta_seconds: seconds }: { progress: number; eta_seconds: number | null }): string | null {
  return seconds === null || progress < earliestTimeLeft ? null : `${formatDuration(seconds)} left`;
}

/** Position in a video: `0:04.20`. */
export function formatPosition(seconds: number): string {
  const hundredths = Math.max(0, Math.round(seconds * 100));
  const rest = hundredths % 6000;
  const text = `${String(Math.floor(rest / 100)).padStart(2, '0')}.${String(rest % 100).padStart(2, '0')}`;
  return `${Math.floor(hundredths / 6000)}:${text}`;
}

export function formatDateTime(iso: string): string {
  return dateTime.format(new Date(iso));
}

export function formatDateTimeFull(iso: string): string {
  return dateTimeFull.format(new Date(iso));
}

function formatDate(iso: string): string {
  return dateOnly.format(new Date(iso));
}

/** Time of day with seconds, and the date if it differs from that of `first`. */
export function formatMoment(iso: string, first: string | undefined): string {
  const day = formatDate(iso);
  const time = clock.format(new Date(iso));
  return first !== undefined && first !== iso && day === formatDate(first) ? time : `${day}, ${time}`;
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** `2 hours ago`, `in 3 days`, `just now`; a date beyond 30 days. */
export function formatAgo(iso: string, now: number = Date.now()): string {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  if (Math.abs(seconds) > 30 * 86_400) return formatDate(iso);
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) < size) continue;
    // The past is rounded down. The future is rounded to the nearest unit: 29.99 days are 30 days.
    return relative.format(seconds < 0 ? Math.trunc(seconds / size) : Math.round(seconds / size), unit);
  }
  return seconds > 5 ? 'in less than a minute' : 'just now';
}

/** Rounded down: only what is complete has 100 %. */
export function wholePercent(part: number): number {
  // 0.29 × 100 is 28.999999999999996.
  return Math.floor(part * 100 + 1e-9);
}

export function formatPercent(part: number): string {
  return `${wholePercent(part)} %`;
}

/** Letters that are written from right to left, and marks that turn the direction of a text. */
const turning = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** These would end the isolation of the name that has them. */
const ending = /[\p{Cc}\u2029\u2066-\u2069]/gu;

/**
 * A name within a text: its direction of writing turns nothing but itself. Where the page has an element for the name, the element
 * isolates it (base.css); this is for titles and messages, which are plain text.
 */
export function isolate(name: string): string {
  return turning.test(name) ? `\u2068${name.replaceAll(ending, '')}\u2069` : name;
}

/** `job_01jdq4…3rhbz`: short, but still distinct, since ids differ most at the end. */
export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id;
}

/** `2 of 6 segments done, 3 running` */
export function segmentWords(segments: readonly Pick<JobSegment, 'status'>[]): string {
  const count = (status: JobSegment['status']) => segments.filter((segment) => segment.status === status).length;
  const running = count('running');
  return `${count('done')} of ${segments.length} segments done${running === 0 ? '' : `, ${running} running`}`;
}

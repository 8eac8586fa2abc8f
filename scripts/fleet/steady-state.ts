/** What a fleet does while all its devices have work, apart from its start and its end. */
import type { DeviceEvent } from './events.ts';

/** An event with the number of its worker. */
export interface WorkerEvent extends DeviceEvent {
  worker: number;
}

/** One segment on one device, Unix times in ms. */
interface Span {
  begunAt: number;
  endedAt: number;
}

export interface SteadyState {
  /** from the first event until all devices have work, s; not part of the figures below */
  rampS: number;
  /** while all devices have work */
  windowS: number;
  /** from the end of the window to the last event, s; not part of the other figures */
  tailS: number;
  /** in the window; of segments that are partly in it, the part */
  segments: number;
  /** share of the window while a device works */
  utilisation: number;
  /** from the end of a segment to the begin of the next on the same device, ms */
  gapsMs: { median: number; p95: number; max: number };
}

/**
 * The window opens at `earliestAt`, or when the last device has begun its first segment if that is later. It closes when the
 * first device has ended its last one. Throws if there is no such window.
 */
export function steadyState(events: readonly WorkerEvent[], workers: number, earliestAt = 0): SteadyState {
  const devices = spansOfWorkers(events);
  const opensAt = Math.max(earliestAt, ...devices.map((spans) => spans[0]!.begunAt));
  const closesAt = Math.min(...devices.map((spans) => spans.at(-1)!.endedAt));
  if (devices.length !== workers || closesAt <= opensAt) {
    throw new Error(`${devices.length} of ${workers} devices worked, and not all at the same time: there are too few segments`);
  }
  const all = devices.flat();
  const inWindow = ({ begunAt, endedAt }: Span) => Math.max(0, Math.min(endedAt, closesAt) - Math.max(begunAt, opensAt));
  const sum = (of: (span: Span) => number) => all.reduce((total, span) => total + of(span), 0);
  const windowMs = closesAt - opensAt;
  const gaps = devices.flatMap((spans) => gapsWithin(spans, opensAt, closesAt)).sort((a, b) => a - b);
  return {
    rampS: (opensAt - Math.min(...all.map(({ begunAt }) => begunAt))) / 1000,
    windowS: windowMs / 1000,
    tailS: (Math.max(...all.map(({ endedAt }) => endedAt)) - closesAt) / 1000,
    segments: sum((span) => inWindow(span) / Math.max(1, span.endedAt - span.begunAt)),
    utilisation: sum(inWindow) / workers / windowMs,
    gapsMs: { median: quantile(gaps, 0.5), p95: quantile(gaps, 0.95), max: gaps.at(-1) ?? 0 },
  };
}

/** The segments of each worker that had any, in order. */
function spansOfWorkers(events: readonly WorkerEvent[]): Span[][] {
  const spans = new Map<number, Span[]>();
  for (const { worker, kind, job, segment, at } of events) {
    if (kind !== 'begun') continue;
    const end = events.find((other) => other.kind === 'ended' && other.worker === worker && other.job === job && other.segment === segment && other.at >= at);
    if (end !== undefined) spans.set(worker, [...(spans.get(worker) ?? []), { begunAt: at, endedAt: end.at }]);
  }
  return [...spans.values()].map((ofOne) => ofOne.toSorted((a, b) => a.begunAt - b.begunAt));
}

function gapsWithin(spans: readonly Span[], opensAt: number, closesAt: number): number[] {
  const pairs = spans.slice(1).map((next, index) => ({ from: spans[index]!.endedAt, to: next.begunAt }));
  return pairs.filter(({ from, to }) => from >= opensAt && to <= closesAt).map(({ from, to }) => to - from);
}

const quantile = (sorted: readonly number[], q: number): number => sorted[Math.ceil(q * sorted.length) - 1] ?? 0;

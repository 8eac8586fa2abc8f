/** A moment, relative and kept fresh; the exact time is in its title. */
import { useSyncExternalStore } from 'react';
import { formatAgo, formatDateTime, formatDateTimeFull } from '../app/format.ts';

let now = Date.now();
const listeners = new Set<() => void>();
let timer = 0;

/** One timer for all moments on the page; none while nothing listens. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    now = Date.now();
    timer = window.setInterval(() => {
      now = Date.now();
      for (const one of listeners) one();
    }, 20_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

export function Ago({ at }: { at: string }) {
  const moment = useSyncExternalStore(subscribe, () => now);
  return (
    <time dateTime={at} title={formatDateTimeFull(at)} className="nowrap">
      {formatAgo(at, Math.max(moment, Date.now() - 20_000))}
    </time>
  );
}

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatDateTimeFull(at)} className="nowrap">
      {formatDateTime(at)}
    </time>
  );
}

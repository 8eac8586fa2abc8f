/** Times, relative (`Ago`, updates itself) or absolute (`DateTime`). The tooltip shows the exact time. */
import { useSyncExternalStore } from 'react';
import { formatAgo, formatDateTime, formatDateTimeFull } from '../app/format.ts';

let now = Date.now();
const listeners = new Set<() => void>();
let timer = 0;

/** One timer for all relative times on the page; it runs only while there are any. */
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

/** The time, for what changes with it: milliseconds, at most 20 s old. */
export function useNow(): number {
  return Math.max(useSyncExternalStore(subscribe, () => now), Date.now() - 20_000);
}

export function Ago({ at }: { at: string }) {
  const current = useNow();
  return (
    <time dateTime={at} title={formatDateTimeFull(at)} className="nowrap">
      {formatAgo(at, current)}
    </time>
  );
}

export function DateTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatDateTimeFull(at)} className="nowrap">
      {formatDateTime(at)}
    </time>
  );
}

/**
 * Where each entry of the history was scrolled to, so that Back, Forward and a reload return there. Browsers do so for what is there at
 * once, not for lists that are still to be loaded.
 */
const places = new Map<number, number>();
const storageKey = 'reelmend-places';
/** of the entry that is shown; null until its page has arrived */
let shown: number | null = null;
/** pixels to return to, after Back or Forward; null once it is reached, or the user scrolls */
let wanted: number | null = null;
let observer: ResizeObserver | null = null;
/** The page may have become shorter for good. */
const longestMs = 5000;
let timer = 0;

interface EntryState {
  place?: number;
}

const keyOfEntry = (): number | undefined => (history.state as EntryState | null)?.place;

/** Begins to note the places. */
export function rememberPlaces(): void {
  for (const [key, place] of stored()) places.set(key, place);
  window.addEventListener('pagehide', store);
  const [loading] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (loading?.type === 'back_forward' || loading?.type === 'reload') comeBack();
  window.addEventListener('scroll', () => {
    if (shown !== null && wanted === null) places.set(shown, window.scrollY);
  });
  // The router reports its own navigation with this event. What is scrolled until the next page arrives is not its place.
  window.addEventListener('pushState', () => {
    settle();
    shown = null;
  });
  window.addEventListener('replaceState', keepKey);
  window.addEventListener('popstate', comeBack);
  for (const type of ['wheel', 'touchmove', 'pointerdown', 'keydown']) window.addEventListener(type, settle, { passive: true });
}

function store(): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify([...places]));
  } catch {
    // Then a page that is loaded anew begins at its top.
  }
}

function stored(): [number, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? '[]') as [number, number][];
  } catch {
    return []; // The browser may forbid storage.
  }
}

function comeBack(): void {
  settle();
  shown = keyOfEntry() ?? null;
  wanted = (shown === null ? undefined : places.get(shown)) ?? null;
  timer = window.setTimeout(settle, longestMs);
}

/** The router replaces the state of an entry together with its URL, for example when a list is filtered. */
function keepKey(): void {
  if (shown !== null && keyOfEntry() !== shown) history.replaceState({ ...(history.state as EntryState | null), place: shown }, '');
}

/** A page is shown: at its top, or at its place if the user comes back. */
export function arrive(): void {
  shown = keyOfEntry() ?? null;
  if (shown === null) {
    shown = Date.now();
    keepKey();
  }
  if (wanted === null) return window.scrollTo(0, 0);
  returnToPlace();
  observer?.disconnect();
  // Lists and pictures are loaded after the page has arrived.
  observer = new ResizeObserver(returnToPlace);
  observer.observe(document.body);
}

function returnToPlace(): void {
  if (wanted === null) return;
  window.scrollTo(0, wanted);
  if (Math.abs(window.scrollY - wanted) < 1) settle();
}

function settle(): void {
  wanted = null;
  clearTimeout(timer);
  observer?.disconnect();
  observer = null;
}

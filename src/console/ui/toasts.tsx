/** Short messages at the edge of the page, and a live region for screen readers. */
import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { useId, useLayoutEffect, useSyncExternalStore } from 'react';
import { sentenceOf } from '../api/client.ts';
import { endOfPage } from '../api/session.ts';

interface Toast {
  id: number;
  tone: 'good' | 'bad';
  text: string;
}

interface State {
  toasts: readonly Toast[];
  /** text for screen readers, and the place whose live region has it */
  heard: { text: string; place: string | undefined };
  /** where messages are shown: the page, and the dialogs above it, the newest last */
  places: readonly string[];
}

const nothing: State['heard'] = { text: '', place: undefined };
let state: State = { toasts: [], heard: nothing, places: [] };
let nextId = 1;
/** number of texts for screen readers so far */
let said = 0;
const listeners = new Set<() => void>();

function set(next: Partial<State>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const visibleMs = { good: 4500, bad: 9000 };
/** how much longer, from then on, messages stay that somebody points at, or that have the focus */
const heldMs = 1000;

/** Leaves nothing to the next user, not even in the live region. */
function clear(): void {
  said += 1;
  set({ toasts: [], heard: nothing });
}

export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = nextId++;
  endOfPage().addEventListener('abort', clear, { once: true });
  set({ toasts: [...state.toasts.slice(-3), { id, tone, text }] });
  announce(text);
  dismissLater(id, visibleMs[tone]);
}

const areHeld = (): boolean => document.querySelector('.toasts:is(:hover, :focus-within)') !== null;

function dismissLater(id: number, ms: number): void {
  setTimeout(() => (areHeld() ? dismissLater(id, heldMs) : dismiss(id)), ms);
}

/** Runs an action, and shows its failure. */
export async function toastFailure(action: () => Promise<unknown>): Promise<void> {
  await action().catch((error: unknown) => toast(sentenceOf(error), 'bad'));
}

/** Announces a text to screen readers only. They hear changes: the same text again is taken away first. */
export function announce(text: string): void {
  said += 1;
  const number = said;
  set({ heard: nothing });
  requestAnimationFrame(() => number === said && set({ heard: { text, place: state.places.at(-1) } }));
}

function dismiss(id: number): void {
  set({ toasts: state.toasts.filter((one) => one.id !== id) });
}

/** The messages, in the page and in each dialog: what lies outside of a modal dialog can be neither heard nor pressed. */
export function Toasts() {
  const place = useId();
  const { toasts, heard, places } = useSyncExternalStore(subscribe, () => state);
  useLayoutEffect(() => {
    set({ places: [...state.places, place] });
    return () => leave(place);
  }, [place]);
  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">
        {heard.place === place && heard.text}
      </div>
      {places.at(-1) === place && toasts.length > 0 && <Shown toasts={toasts} />}
    </>
  );
}

/** A dialog that closes cuts its last message short: it is heard again where it is still shown. */
function leave(place: string): void {
  const { heard, toasts, places } = state;
  set({ places: places.filter((each) => each !== place) });
  if (heard.place === place && toasts.some(({ text }) => text === heard.text)) announce(heard.text);
}

function Shown({ toasts }: Pick<State, 'toasts'>) {
  return (
    <section className="toasts" aria-label="Messages">
      {toasts.map(({ id, tone, text }) => (
        <div key={id} className={`toast ${tone}`}>
          {tone === 'good' ? <CircleCheck size={17} aria-hidden="true" /> : <CircleAlert size={17} aria-hidden="true" />}
          <span className="wrap-anywhere">{text}</span>
          <button type="button" className="linkish" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <X size={15} aria-hidden="true" />
          </button>
        </div>
      ))}
    </section>
  );
}

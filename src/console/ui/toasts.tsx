/** Short messages at the edge of the page, and a live region for screen readers. */
import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { endOfPage } from '../api/session.ts';

interface Toast {
  id: number;
  tone: 'good' | 'bad';
  text: string;
}

interface State {
  toasts: readonly Toast[];
  heard: string;
}

let state: State = { toasts: [], heard: '' };
let nextId = 1;
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

/** Leaves nothing to the next user, not even in the live region. */
function clear(): void {
  set({ toasts: [], heard: '' });
}

export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = nextId++;
  endOfPage().addEventListener('abort', clear, { once: true });
  set({ toasts: [...state.toasts.slice(-3), { id, tone, text }], heard: text });
  setTimeout(() => dismiss(id), visibleMs[tone]);
}

/** Announces a text to screen readers only. */
export function announce(text: string): void {
  set({ heard: '' });
  requestAnimationFrame(() => set({ heard: text }));
}

function dismiss(id: number): void {
  set({ toasts: state.toasts.filter((one) => one.id !== id) });
}

export function Toasts() {
  const { toasts, heard } = useSyncExternalStore(subscribe, () => state);
  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">
        {heard}
      </div>
      {toasts.length > 0 && <Shown toasts={toasts} />}
    </>
  );
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

/** Shows a new secret. It is never shown again. */
import { createContext, Fragment, type ReactNode, useCallback, useContext, useState } from 'react';
import { Button } from './button.tsx';
import { Secret } from './code.tsx';
import { Dialog } from './dialog.tsx';
import { Notice } from './feedback.tsx';

/** Draws a `ShownOnce`. */
type Draw = (onClose: () => void) => ReactNode;

const Show = createContext<(draw: Draw) => void>(() => {});

/** Returns the function that shows a new secret, also after the page that asked for it was left: the secret has been made, and is not told again. */
export const useShowOnce = (): ((draw: Draw) => void) => useContext(Show);

/** Shows the secrets of the pages inside, one after the other. */
export function ShownSecrets({ children }: { children: ReactNode }) {
  const [{ shown, waiting }, setQueue] = useState<{ shown: number; waiting: readonly Draw[] }>({ shown: 0, waiting: [] });
  const show = useCallback((draw: Draw) => setQueue((old) => ({ ...old, waiting: [...old.waiting, draw] })), []);
  const close = () => setQueue((old) => ({ shown: old.shown + 1, waiting: old.waiting.slice(1) }));
  return (
    <Show value={show}>
      {children}
      <Fragment key={shown}>{waiting[0]?.(close)}</Fragment>
    </Show>
  );
}

interface Props {
  title: string;
  /** what the secret is, for the label of its copy button */
  label: string;
  secret: string;
  note: string;
  onClose: () => void;
  children?: ReactNode;
}

export function ShownOnce({ title, label, secret, note, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose} sticky wide>
      <Notice tone="warn" title="Copy it now.">
        {note}
      </Notice>
      <Secret value={secret} label={label} />
      {children}
      <div className="dialog-foot">
        <Button tone="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}

/** Dialogs on the browser's own element: modal, focus kept inside and given back, Escape closes. */
import { X } from 'lucide-react';
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { ErrorNotice } from './feedback.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** Escape does not close, such as while a secret is shown that nobody will show again */
  sticky?: boolean;
}

/** Open as long as it is rendered. */
export function Dialog({ title, onClose, children, wide = false, sticky = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect: closed while it is still in the page, the browser gives the focus back to where it was.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!sticky) onClose();
      }}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        {!sticky && (
          <IconButton label="Close" tone="quiet" size="small" onClick={onClose}>
            <X size={16} aria-hidden="true" />
          </IconButton>
        )}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  /** may throw; what it throws is shown and the dialog stays */
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before something that cannot be undone. Closes itself when the action succeeded. */
export function ConfirmDialog({ title, children, action, danger = false, onConfirm, onClose }: ConfirmProps) {
  const { run, busy, error } = useAction(onConfirm, onClose);
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack-s muted">{children}</div>
      {error !== null && <ErrorNotice error={error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button tone={danger ? 'danger' : 'primary'} busy={busy} onClick={run}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

/** Runs one action at a time and keeps what it threw. */
export function useAction(action: () => Promise<unknown>, onDone: () => void = () => {}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    action()
      .then(onDone, (cause: unknown) => setError(cause))
      .finally(() => setBusy(false));
  };
  return { run, busy, error };
}

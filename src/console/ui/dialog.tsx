/** Modal dialogs with the browser's own `<dialog>`, which traps and restores the focus. Escape closes them. */
import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { isSessionEnd, sentenceOf } from '../api/client.ts';
import { endOfPage } from '../api/session.ts';
import { isolate } from '../app/format.ts';
import { Button, IconButton } from './button.tsx';
import { ErrorNotice } from './feedback.tsx';
import { toast, Toasts } from './toasts.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** Escape does not close it, for example while it shows a secret that is shown only once */
  sticky?: boolean;
}

/** The dialog is open while it is rendered. */
export function Dialog({ title, onClose, children, wide = false, sticky = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isShown = useRef(false);
  // A layout effect: the browser restores the focus only if the dialog closes before it leaves the page.
  useLayoutEffect(() => {
    const dialog = ref.current;
    isShown.current = true;
    if (dialog !== null && !dialog.open) {
      focusMenuButton();
      dialog.showModal();
      // The browser begins at the button that closes it.
      dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus();
    }
    return () => {
      isShown.current = false;
      dialog?.close();
    };
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
      // Chromium closes it without `cancel` where the page has prevented one since the last action of the user.
      onClose={({ currentTarget }) => {
        // Nor does a dialog end with the session: it is shown again with its page.
        if (currentTarget.open || !isShown.current) return;
        if (sticky) currentTarget.showModal();
        else onClose();
      }}
    >
      <div className="dialog-head">
        <h2 id={id} className="wrap-anywhere">
          {title}
        </h2>
        {!sticky && (
          <IconButton label="Close" tone="quiet" size="small" onClick={onClose}>
            <X size={16} aria-hidden="true" />
          </IconButton>
        )}
      </div>
      <div className="dialog-body">{children}</div>
      <Toasts />
    </dialog>
  );
}

/** The browser returns the focus to what has it now. A menu is gone by then, its button is not. */
function focusMenuButton(): void {
  const menu = document.activeElement?.closest('[role=menu]');
  document.getElementById(menu?.getAttribute('aria-labelledby') ?? '')?.focus({ preventScroll: true });
}

interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  /** if it throws, the dialog stays open and shows the error */
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks for confirmation. Closes when the action has succeeded. */
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

/** Runs an action, one call at a time, and keeps its error. An error that comes after its dialog or page was left is a message. */
export function useAction(action: () => Promise<unknown>, onDone: () => void = () => {}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isShown = useRef(false);
  /** how an action ended on a page that waits until its user has signed in again */
  const whenShown = useRef(() => {});
  useEffect(() => {
    isShown.current = true;
    whenShown.current();
    whenShown.current = () => {};
    return () => {
      isShown.current = false;
      // The user has signed in again when the page is shown again.
      setError((old: unknown) => (isSessionEnd(old) ? null : old));
    };
  }, []);
  const settle = (outcome: () => void) => {
    if (isShown.current) outcome();
    else whenShown.current = outcome;
  };
  const run = () => {
    if (busy) return;
    const place = currentPlace();
    const pageEnd = endOfPage();
    setBusy(true);
    setError(null);
    action()
      .then(
        () => settle(onDone),
        (cause: unknown) => {
          if (!isShown.current && !pageEnd.aborted) toast(`${place}: ${sentenceOf(cause)}`, 'bad');
          if (isShown.current || !isSessionEnd(cause)) settle(() => setError(cause));
        },
      )
      .finally(() => setBusy(false));
  };
  return { run, busy, error, forgetError: () => setError(null) };
}

/** The title of the open dialog, or of the page. */
function currentPlace(): string {
  const dialog = document.querySelector('dialog[open] h2');
  if (dialog !== null) return dialog.textContent.replace(/\?$/, '');
  // That of a page may be a file name.
  return isolate(document.querySelector('h1')?.textContent ?? '');
}

/** Dialogs whose action sends a form. */
import type { ReactNode } from 'react';
import { problemOf } from '../api/client.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './feedback.tsx';
import { Form } from './form.tsx';

interface FormProps {
  /** label of the button that sends the form */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** `run`, `busy` and `error`: of useAction */
  run: () => void;
  busy: boolean;
  error: unknown;
  /** fields that show their own problems */
  fields?: readonly string[];
  onClose: () => void;
  children: ReactNode;
}

/** The form in a dialog: its fields, the error, and the buttons. */
export function DialogForm({ action, danger = false, disabled = false, run, busy, error, fields = [], onClose, children }: FormProps) {
  const isShown = fields.some((field) => problemOf(error, field) !== undefined);
  return (
    <Form onSubmit={run}>
      {children}
      {error !== null && !isShown && <ErrorNotice error={error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone={danger ? 'danger' : 'primary'} busy={busy} disabled={disabled}>
          {action}
        </Button>
      </div>
    </Form>
  );
}

export function FormDialog({ title, ...form }: FormProps & { title: string }) {
  return (
    <Dialog title={title} onClose={form.onClose}>
      <DialogForm {...form} />
    </Dialog>
  );
}

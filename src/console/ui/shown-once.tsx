/** Shows a new secret. It is never shown again. */
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Secret } from './code.tsx';
import { Dialog } from './dialog.tsx';
import { Notice } from './feedback.tsx';

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

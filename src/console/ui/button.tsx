/** Buttons, icon buttons, link buttons and copy buttons. */
import { Check, Copy } from 'lucide-react';
import { type ButtonHTMLAttributes, type ReactNode, type Ref, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { announce, toast } from './toasts.tsx';

interface Look {
  tone?: 'primary' | 'danger' | 'quiet' | undefined;
  size?: 'small' | undefined;
  wide?: boolean | undefined;
  icon?: boolean | undefined;
}

function buttonClass({ tone, size, wide, icon }: Look): string {
  return ['button', tone, size, wide && 'wide', icon && 'icon'].filter(Boolean).join(' ');
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  /** shows a spinner and ignores clicks; the button keeps the focus */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ tone, size, wide, icon, busy = false, children, onClick, type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={buttonClass({ tone, size, wide, icon })}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}

/** A button that shows only an icon; `label` is its accessible name and its tooltip. */
export function IconButton({ label, children, ...rest }: Omit<ButtonProps, 'icon'> & { label: string }) {
  return (
    <Button {...rest} icon aria-label={label} title={label}>
      {children}
    </Button>
  );
}

export function LinkButton({ href, tone, size, wide, children }: Look & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={buttonClass({ tone, size, wide })}>
      {children}
    </Link>
  );
}

/** Copies `text` and confirms it on screen and to screen readers. */
export function CopyButton({ text, label = 'Copy', bare = false }: { text: string; label?: string; bare?: boolean }) {
  const [copied, setCopied] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    if (!(await writeClipboard(text))) return toast('The browser does not let this page copy. Select the text and copy it.', 'bad');
    setCopied(true);
    announce('Copied.');
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setCopied(false), 2000);
  };
  const picture = copied ? <Check size={15} aria-hidden="true" /> : <Copy size={15} aria-hidden="true" />;
  if (bare) {
    return (
      <IconButton label={label} tone="quiet" size="small" onClick={() => void copy()}>
        {picture}
      </IconButton>
    );
  }
  return (
    <Button onClick={() => void copy()} aria-label={label}>
      {picture}
      {copied ? 'Copied' : 'Copy'}
    </Button>
  );
}

/** Returns whether the text was copied. Falls back to `execCommand`: browsers offer the clipboard API over https and on localhost only. */
async function writeClipboard(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (done) return true;
  }
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.readOnly = true;
  area.className = 'visually-hidden';
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  // To select a text moves the focus.
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

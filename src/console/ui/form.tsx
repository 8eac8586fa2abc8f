import { type FormEvent, type ReactNode, useEffect, useRef } from 'react';

interface FormProps {
  /** how its parts are laid out */
  className?: 'stack' | 'row' | 'split';
  onSubmit: () => void;
  children: ReactNode;
}

/** A form that calls `onSubmit` and stays on the page. The focus goes to the first field that the service refuses. */
export function Form({ className = 'stack', onSubmit, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  /** sent, and neither refused nor changed since */
  const isSent = useRef(false);
  // As browsers do with a field that they refuse: screen readers say which it is and what is wrong with it.
  useEffect(() => {
    const refused = isSent.current ? form.current?.querySelector<HTMLElement>('[aria-invalid=true]') : null;
    if (refused === null || refused === undefined) return;
    isSent.current = false;
    refused.focus();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    isSent.current = true;
    onSubmit();
  };
  return (
    <form ref={form} className={className} onSubmit={submit} onInput={() => void (isSent.current = false)}>
      {children}
    </form>
  );
}

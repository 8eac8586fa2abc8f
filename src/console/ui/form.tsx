import type { FormEvent, ReactNode } from 'react';

interface FormProps {
  /** how its parts are laid out */
  className?: 'stack' | 'row' | 'split';
  onSubmit: () => void;
  children: ReactNode;
}

/** A form that calls `onSubmit` and stays on the page. */
export function Form({ className = 'stack', onSubmit, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form className={className} onSubmit={submit}>
      {children}
    </form>
  );
}

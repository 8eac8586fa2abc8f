/** The chosen theme as React state. */
import { useSyncExternalStore } from 'react';
import { applyTheme, currentTheme, type Theme } from './theme-choice.ts';

const listeners = new Set<() => void>();

export function setTheme(theme: Theme): void {
  applyTheme(theme);
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentTheme);
}

/** Light or dark theme, or that of the system: one choice for the console and the documents. public/theme.js applies it before the first paint. */
export type Theme = 'system' | 'light' | 'dark';
const storageKey = 'reelmend.theme';

export function currentTheme(): Theme {
  const set = document.documentElement.dataset['theme'];
  return set === 'light' || set === 'dark' ? set : 'system';
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage the choice is lost when the page closes.
  }
}

/**
 * The theme (light, dark, or the system's), shared with the documents. public/theme.js applies it before the first paint.
 */
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

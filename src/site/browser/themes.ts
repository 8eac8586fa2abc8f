/** Light, dark, or that of the system; the same choice as in the console. theme.js applies it before the first paint. */
const storageKey = 'reelmend.theme';

function apply(theme: string): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage the choice is lost when the page closes.
  }
}

export function enableThemes(): void {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('[data-theme-value]')];
  const show = () => {
    const current = document.documentElement.dataset['theme'] ?? 'system';
    for (const button of buttons) button.ariaPressed = String(button.dataset['themeValue'] === current);
  };
  for (const button of buttons) {
    button.addEventListener('click', () => {
      apply(button.dataset['themeValue'] ?? 'system');
      show();
    });
  }
  show();
}

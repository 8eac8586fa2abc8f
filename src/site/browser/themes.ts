/** The buttons that choose the theme. */
import { applyTheme, currentTheme, type Theme } from '../../console/app/theme-choice.ts';

export function enableThemes(): void {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('[data-theme-value]')];
  const show = () => {
    for (const button of buttons) button.ariaPressed = String(button.dataset['themeValue'] === currentTheme());
  };
  for (const button of buttons) {
    button.addEventListener('click', () => {
      applyTheme(button.dataset['themeValue'] as Theme);
      show();
    });
  }
  show();
}

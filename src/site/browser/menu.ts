/** The navigation of narrow pages, behind a button. */
export function enableMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('.menu-button');
  const navigation = document.getElementById('navigation');
  if (button === null || navigation === null) return;
  const set = (isOpen: boolean) => {
    navigation.classList.toggle('open', isOpen);
    document.body.classList.toggle('menu-open', isOpen);
    button.ariaExpanded = String(isOpen);
  };
  button.addEventListener('click', () => set(!navigation.classList.contains('open')));
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !navigation.classList.contains('open')) return;
    set(false);
    button.focus();
  });
  // Scrolls a long list to the current page.
  navigation.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

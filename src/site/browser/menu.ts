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
  // In a long list the current page should be in sight.
  navigation.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

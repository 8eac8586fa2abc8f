/** Makes elements that are wider than the page and scroll by themselves accessible to the keyboard. */
export function letScrollersBeFocused(): void {
  const update = (element: HTMLElement) => {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute('tabindex');
  };
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => update(target as HTMLElement)));
  for (const element of document.querySelectorAll<HTMLElement>('.table, .code pre')) {
    // The observer calls only with the next frame, which may come late on a busy machine.
    update(element);
    observer.observe(element);
  }
}

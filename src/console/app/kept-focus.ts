/**
 * Focus that would be lost. What has it may leave the page: the row of a session that was ended, or the menu of a key that was revoked.
 * Browsers then return to the beginning of the page, and screen readers say nothing.
 */

/** what has the focus, and what is around it, innermost first */
let around: readonly Element[] = [];

/** ms; by then, menus and dialogs have returned the focus where they can */
const settleMs = 50;

/** From now on, lost focus goes to the heading of the dialog, panel or page where it was. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    around = ancestorsOf(target as Element);
  });
  document.addEventListener('focusout', ({ target }) => {
    // Some browsers also report it of what has just left the page. Otherwise it is the user's wish.
    queueMicrotask(() => {
      if (target === around[0] && (target as Element).isConnected) around = [];
    });
  });
  new MutationObserver(() => {
    if (around[0]?.isConnected === false) setTimeout(moveFocus, settleMs);
  }).observe(document.body, { childList: true, subtree: true });
}

function ancestorsOf(element: Element): Element[] {
  const found: Element[] = [];
  for (let each: Element | null = element; each !== null; each = each.parentElement) found.push(each);
  return found;
}

function moveFocus(): void {
  const place = around.find((each) => each.isConnected);
  around = [];
  if (document.activeElement !== document.body || place === undefined) return;
  // Its rows come and go with the scrolling.
  if (place.closest('.jobs-body') !== null) return;
  const heading = headingAt(place);
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** Nothing outside of an open dialog can have the focus. */
function headingAt(place: Element): HTMLElement | null {
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
  const scope = dialog ?? place.closest('.panel, .page') ?? document;
  // A list that fills a page has no heading but that of the page.
  return scope.querySelector<HTMLElement>('h1, h2') ?? document.querySelector<HTMLElement>('h1');
}

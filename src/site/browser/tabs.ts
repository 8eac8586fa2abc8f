/** Groups of samples: all groups of all pages show the same language. */
const storageKey = 'reelmend.language';

interface Group {
  tabs: HTMLButtonElement[];
  panels: HTMLElement[];
}

function remembered(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

function remember(label: string): void {
  try {
    localStorage.setItem(storageKey, label);
  } catch {
    // Without storage the choice is lost when the page closes.
  }
}

/** A group without the language does not change. */
function select({ tabs, panels }: Group, label: string): void {
  if (!tabs.some((tab) => tab.textContent === label)) return;
  for (const [i, tab] of tabs.entries()) {
    const isChosen = tab.textContent === label;
    tab.ariaSelected = String(isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    panels[i]!.classList.toggle('shown', isChosen);
  }
}

function build(element: Element, number: number): Group {
  const panels = [...element.querySelectorAll<HTMLElement>(':scope > .panel')];
  const list = document.createElement('div');
  list.role = 'tablist';
  list.ariaLabel = 'Language';
  const tabs = panels.map((panel, i) => {
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.role = 'tab';
    tab.id = `tab-${number}-${i}`;
    tab.textContent = panel.dataset['label'] ?? '';
    panel.id = `panel-${number}-${i}`;
    panel.role = 'tabpanel';
    panel.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', panel.id);
    return tab;
  });
  list.append(...tabs);
  element.prepend(list);
  return { tabs, panels };
}

/** Keeps the clicked tab under the pointer when groups above it change their height. */
function keepingPlace(element: Element, change: () => void): void {
  const before = element.getBoundingClientRect().top;
  change();
  window.scrollBy({ top: element.getBoundingClientRect().top - before, behavior: 'instant' });
}

function keyTarget(key: string, at: number, count: number): number | undefined {
  const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: count - 1 };
  const target = steps[key];
  return target === undefined ? undefined : (target + count) % count;
}

export function enableTabs(): void {
  const groups = [...document.querySelectorAll('.tabs')].map(build);
  const choose = (tab: HTMLButtonElement) => {
    const label = tab.textContent ?? '';
    keepingPlace(tab, () => groups.forEach((group) => select(group, label)));
    remember(label);
  };
  for (const group of groups) {
    select(group, group.tabs[0]?.textContent ?? '');
    for (const [i, tab] of group.tabs.entries()) {
      tab.addEventListener('click', () => choose(tab));
      tab.addEventListener('keydown', (event) => {
        const target = group.tabs[keyTarget(event.key, i, group.tabs.length) ?? -1];
        if (target === undefined) return;
        event.preventDefault();
        choose(target);
        target.focus();
      });
    }
  }
  const label = remembered();
  if (label !== null) groups.forEach((group) => select(group, label));
}

/** The search. Its index is built in the browser from data that the build collected; nothing is sent anywhere. */
import MiniSearch, { type SearchResult } from 'minisearch';
import type { Section } from '../search-sections.ts';

const shown = 12;
type Index = MiniSearch<Section>;

async function loadIndex(): Promise<Index> {
  const response = await fetch('/docs/search.json');
  if (!response.ok) throw new Error(`status ${response.status}`);
  const sections = (await response.json()) as Section[];
  const index: Index = new MiniSearch({
    idField: 'url',
    fields: ['title', 'page', 'text'],
    storeFields: ['title', 'page', 'text'],
    // Names such as job_not_done are found as a whole and by their words.
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word])).filter(Boolean),
    searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: (term) => (term.length > 5 ? 0.15 : false), combineWith: 'AND' },
  });
  index.addAll(sections);
  return index;
}

/** The text around the first hit. */
function excerptOf({ terms, text }: SearchResult): string {
  const whole = String(text);
  const lower = whole.toLowerCase();
  const at = Math.max(0, Math.min(...terms.map((term) => lower.indexOf(term)).filter((index) => index >= 0), whole.length) - 40);
  const from = at === 0 || at >= whole.length ? 0 : whole.indexOf(' ', at) + 1;
  return `${from > 0 ? '… ' : ''}${whole.slice(from, from + 130)}${whole.length > from + 130 ? ' …' : ''}`;
}

function resultItem(result: SearchResult): HTMLLIElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = String(result.id);
  const title = document.createElement('strong');
  title.textContent = String(result['title']);
  const page = document.createElement('span');
  page.className = 'search-page';
  page.textContent = result['page'] === result['title'] ? '' : String(result['page']);
  const excerpt = document.createElement('span');
  excerpt.textContent = excerptOf(result);
  link.append(title, page, excerpt);
  item.append(link);
  return item;
}

interface Parts {
  dialog: HTMLDialogElement;
  field: HTMLInputElement;
  list: HTMLElement;
  note: HTMLElement;
}

function show({ field, list, note }: Parts, index: Index): void {
  const results = field.value.trim() === '' ? [] : index.search(field.value);
  list.replaceChildren(...results.slice(0, shown).map(resultItem));
  note.textContent = field.value.trim() === '' ? '' : noteOn(results.length);
}

function noteOn(count: number): string {
  if (count === 0) return 'Nothing was found.';
  if (count > shown) return `The best ${shown} of ${count} results`;
  return count === 1 ? '1 result' : `${count} results`;
}

/** Arrow keys go from the field to the results and between them. */
function moveByKeys({ dialog, field, list }: Parts): void {
  dialog.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === 'Enter' && document.activeElement === field) links[0]?.click();
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const next = at + (event.key === 'ArrowDown' ? 1 : -1);
    if (next < 0) field.focus();
    else links[next]?.focus();
  });
}

export function enableSearch(): void {
  const dialog = document.querySelector<HTMLDialogElement>('dialog.search')!;
  const parts: Parts = {
    dialog,
    field: dialog.querySelector('input')!,
    list: dialog.querySelector('.search-results')!,
    note: dialog.querySelector('.search-note')!,
  };
  let index: Promise<Index> | undefined;
  const update = () => {
    index ??= loadIndex();
    index.then(
      (loaded) => show(parts, loaded),
      () => {
        index = undefined;
        parts.note.textContent = 'The search could not be loaded.';
      },
    );
  };
  const open = () => {
    if (!dialog.open) dialog.showModal();
    parts.field.select();
    update();
  };
  document.querySelector('.search-button')?.addEventListener('click', open);
  parts.field.addEventListener('input', update);
  moveByKeys(parts);
  dialog.addEventListener('click', (event) => {
    const isLink = event.target instanceof Element && event.target.closest('a') !== null;
    if (event.target === dialog || isLink) dialog.close();
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    const isShortcut = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
}

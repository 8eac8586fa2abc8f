/** The frame of every page: head, top bar, navigation, table of contents, links to the next pages. */
import { escapeHtml, textOf } from '../html.ts';
import type { NavigationGroup } from '../navigation.ts';

interface PageData {
  title: string;
  summary: string;
  /** the rendered page */
  content: string;
  page: { url: string };
  navigation: readonly NavigationGroup[];
  /** names of the built script and style sheet */
  assets: { script: string; style: string };
  version: string;
  /** shows no table of contents and no links to the next pages */
  isPlain?: boolean;
}

const logo = `<svg width="24" height="24" viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-linecap="round" aria-hidden="true"><path d="M4 11V7.5A3.5 3.5 0 0 1 7.5 4H11M21 4h3.5A3.5 3.5 0 0 1 28 7.5V11M28 21v3.5A3.5 3.5 0 0 1 24.5 28H21M11 28H7.5A3.5 3.5 0 0 1 4 24.5V21" stroke-width="2.4" stroke-opacity="0.5"/><path d="M16 23V9.5M9.5 15.5 16 9l6.5 6.5" stroke-width="3" stroke-linejoin="round"/></svg>`;
const icon = (path: string) =>
  `<svg width="16" height="16" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${path}</svg>`;
const icons = {
  search: icon('<circle cx="11" cy="11" r="7"/><path d="m20 20-3.8-3.8"/>'),
  menu: icon('<path d="M4 6h16M4 12h16M4 18h16"/>'),
  sun: icon('<circle cx="12" cy="12" r="4"/><path d="M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4"/>'),
  moon: icon('<path d="M20.5 14.5A8.5 8.5 0 0 1 9.5 3.5a8.5 8.5 0 1 0 11 11Z"/>'),
};

const href = (url: string) => (url === '/' ? '/docs' : `/docs${url}`);
/** The URL of the page in the navigation, without `.html`. */
const urlOf = ({ page }: PageData) => page.url.replace(/\.html$/, '');

function head({ title, summary, assets }: PageData): string {
  const name = title === 'Reelmend' ? 'Reelmend documentation' : `${title} · Reelmend`;
  return `<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(summary)}">
<title>${escapeHtml(name)}</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/assets/${assets.style}">
<script src="/docs/theme.js"></script>
<script type="module" src="/docs/assets/${assets.script}"></script>
</head>`;
}

const themes = [
  { value: 'system', label: 'Auto' },
  { value: 'light', label: icons.sun, name: 'Light' },
  { value: 'dark', label: icons.moon, name: 'Dark' },
];

function themeChoice(): string {
  const buttons = themes.map(({ value, label, name }) => {
    const named = name === undefined ? '' : ` aria-label="${name}"`;
    return `<button type="button" data-theme-value="${value}" aria-pressed="false"${named}>${label}</button>`;
  });
  return `<div class="segmented needs-script" role="group" aria-label="Theme">${buttons.join('')}</div>`;
}

function topBar(): string {
  return `<header class="topbar">
<button type="button" class="button menu-button needs-script" aria-expanded="false" aria-controls="navigation" aria-label="Menu">${icons.menu}</button>
<a class="brand" href="/docs">${logo}Reelmend<span class="brand-part">Docs</span></a>
<button type="button" class="button search-button needs-script" aria-haspopup="dialog" aria-label="Search">${icons.search}<span>Search</span><kbd>/</kbd></button>
<a class="button quiet console-link" href="/console/">Console</a>
${themeChoice()}
</header>`;
}

function navigationOf(data: PageData): string {
  const current = urlOf(data);
  const item = ({ url, title }: NavigationGroup['items'][number]) =>
    `<li><a href="${href(url)}"${url === current ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`;
  const groups = data.navigation.map(({ title, items }) => `<h2>${escapeHtml(title)}</h2>\n<ul>${items.map(item).join('')}</ul>`);
  return `<nav class="navigation" id="navigation" aria-label="Documentation">\n${groups.join('\n')}\n</nav>`;
}

/** Headings of the second and third level. */
function contentsOf({ content, isPlain }: PageData): string {
  const headings = isPlain === true ? [] : [...content.matchAll(/<h([23]) id="([^"]+)"[^>]*>(.*?)<\/h\1>/gs)];
  if (headings.length < 2) return '';
  const items = headings.map(([, level, id, html]) => {
    const text = textOf(html!.replace(/<a class="anchor".*/s, ''));
    return `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`;
  });
  return `<nav class="contents" aria-label="On this page">\n<h2>On this page</h2>\n<ul>${items.join('')}</ul>\n</nav>`;
}

function neighboursOf(data: PageData): string {
  const items = data.navigation.flatMap((group) => group.items);
  const at = items.findIndex(({ url }) => url === urlOf(data));
  if (at < 0 || data.isPlain === true) return '';
  const link = (item: (typeof items)[number] | undefined, rel: 'prev' | 'next', label: string) =>
    item === undefined ? '' : `<a rel="${rel}" href="${href(item.url)}"><span>${label}</span>${escapeHtml(item.title)}</a>`;
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(items[at - 1], 'prev', 'Previous')}${link(items[at + 1], 'next', 'Next')}</nav>`;
}

function searchDialog(): string {
  return `<dialog class="search" aria-label="Search">
<div class="search-field">${icons.search}<input type="search" aria-label="Search the documentation" placeholder="Search" autocomplete="off" spellcheck="false"></div>
<ul class="search-results" aria-label="Results"></ul>
<p class="search-note" role="status"></p>
</dialog>`;
}

export function render(data: PageData): string {
  const contents = contentsOf(data);
  return `<!doctype html>
<html lang="en">
${head(data)}
<body>
<a class="skip-link" href="#content">Skip to content</a>
${topBar()}
<div class="frame${contents === '' ? ' without-contents' : ''}">
${navigationOf(data)}
<main id="content" tabindex="-1">
<article class="prose">
${data.content}
</article>
${neighboursOf(data)}
<footer>Reelmend ${escapeHtml(data.version)}</footer>
</main>
${contents}
</div>
${searchDialog()}
</body>
</html>
`;
}

/** Shown for pages below /docs that do not exist. */
export const data = {
  title: 'Not found',
  summary: 'There is no such page.',
  permalink: '/404.html',
  isPlain: true,
};

export const render = (): string => `<h1>This page does not exist</h1>
<p>It may have moved. Search, or go to the <a href="/docs">overview</a>.</p>`;

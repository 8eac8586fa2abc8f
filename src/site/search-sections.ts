/** The units of search: each heading of a page with the text below it. */
import { textOf } from './html.ts';

export interface Section {
  url: string;
  /** of the page */
  page: string;
  /** the heading */
  title: string;
  text: string;
}

const without = [/<a class="anchor".*?<\/a>/gs, /<button.*?<\/button>/gs, /<nav.*?<\/nav>/gs, /<footer.*?<\/footer>/gs];

/** `path`: of the written file, such as `/quick-start.html`. Returns nothing for pages that only lead to others. */
export function searchSections(path: string, html: string): Section[] {
  const [, article = ''] = /<article class="prose">(.*)<\/article>/s.exec(html) ?? [];
  if (path === '/index.html' || path === '/404.html') return [];
  const url = `/docs${path.replace(/(\/index)?\.html$/, '')}`;
  const clean = without.reduce((text, pattern) => text.replaceAll(pattern, ''), article);
  const parts = clean.split(/(?=<(?:h[1-4]|tr) id=)/);
  const page = textOf(/<h1.*?<\/h1>/s.exec(clean)?.[0] ?? '');
  return parts.flatMap((part) => {
    const [heading, id] = /^<h[1-4] id="([^"]+)".*?<\/h[1-4]>/s.exec(part) ?? /^<tr id="([^"]+)".*?<\/td>/s.exec(part) ?? [];
    if (heading === undefined) return [];
    const isTop = heading.startsWith('<h1');
    return [{ url: isTop ? url : `${url}#${id}`, page, title: textOf(heading), text: textOf(part.slice(heading.length)) }];
  });
}

/** Converts Markdown to the HTML of a page: anchors, links of the site, tables that fit phones, code with tabs. */
import MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';
import { codeBlock, escapeHtml, type Panel, tabs } from './html.ts';
import { anchorOf, parseInfo } from './info.ts';
import { hrefOf, pictureOf, type Pictures } from './links.ts';

export interface Environment {
  /** the file, relative to the root of the repository */
  source: string;
  /** gets the pictures that the text shows */
  pictures: Pictures;
  /** ids of the page */
  anchors?: Set<string>;
  /** makes the code at the start of a row its id */
  rowsHaveIds?: boolean;
}

/** Diagrams are only for readers of the repository; the text below them says the same. */
const leftOut = new Set(['mermaid']);

function fenceHtml({ info, content }: Token): string {
  const { language, markers } = parseInfo(info);
  if (leftOut.has(language)) return '';
  const isOutput = markers['output'] !== undefined || markers['log'] !== undefined;
  return codeBlock({ language, text: content, caption: isOutput ? 'Output' : markers['file'], isOutput });
}

const tabOf = (token: Token | undefined) => (token?.type === 'fence' ? parseInfo(token.info).markers['tab'] : undefined);

/** Joins neighbouring blocks with a `tab` into one group of tabs; blocks with the same tab share a panel. */
function groupTabs(tokens: Token[], html: (content: string) => Token): Token[] {
  const grouped: Token[] = [];
  let panels: Panel[] = [];
  for (const [index, token] of tokens.entries()) {
    const label = tabOf(token);
    if (label === undefined) {
      grouped.push(token);
      continue;
    }
    const open = panels.find((panel) => panel.label === label);
    if (open === undefined) panels.push({ label, html: fenceHtml(token) });
    else open.html += fenceHtml(token);
    if (tabOf(tokens[index + 1]) !== undefined) continue;
    grouped.push(html(tabs(panels)));
    panels = [];
  }
  return grouped;
}

function addAnchors(tokens: Token[], anchors: Set<string>): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') token.attrSet('id', anchorOf(tokens[index + 1]!.content, anchors));
  }
}

/** On phones a row becomes a list of cells, each with the name of its column. */
function labelCells(tokens: Token[]): void {
  let heads: string[] = [];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') heads = [];
    if (token.type === 'th_open') {
      heads.push(tokens[index + 1]!.content.replaceAll('`', ''));
      // Headings need text, so an empty corner becomes an ordinary cell.
      if (heads.at(-1) === '') token.tag = tokens[index + 2]!.tag = 'td';
    }
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'td_open') token.attrSet('data-label', heads[column++] ?? '');
  }
}

/** Prefixes the second id of a code that is in two tables with `failed-`: only the table of failed jobs repeats codes. */
function addRowIds(tokens: Token[], anchors: Set<string>): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'tr_open' || tokens[index + 1]?.type !== 'td_open') continue;
    const [, code] = /^`([a-z_]+)`$/.exec(tokens[index + 2]!.content) ?? [];
    if (code === undefined) continue;
    const id = anchors.has(code) ? `failed-${code}` : code;
    anchors.add(id);
    token.attrSet('id', id);
  }
}

function rewriteLinks(children: Token[], { source, pictures }: Environment): Token[] {
  const kept: Token[] = [];
  let isDropped = false;
  for (const token of children) {
    if (token.type === 'link_open') {
      const href = hrefOf(token.attrGet('href')!, source);
      isDropped = href === null;
      if (href !== null) token.attrSet('href', href);
      if (href !== null && /^https?:/.test(href)) token.attrSet('rel', 'noreferrer');
    }
    if (token.type === 'image') token.attrSet('src', pictureOf(token.attrGet('src')!, source, pictures));
    const isLink = token.type === 'link_open' || token.type === 'link_close';
    if (!(isLink && isDropped)) kept.push(token);
    if (token.type === 'link_close') isDropped = false;
  }
  return kept;
}

/** Renders with an `Environment`. */
export function createMarkdown(): MarkdownIt {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  markdown.core.ruler.push('site', (state) => {
    const env = state.env as Environment;
    const anchors = (env.anchors ??= new Set());
    addAnchors(state.tokens, anchors);
    labelCells(state.tokens);
    if (env.rowsHaveIds === true) addRowIds(state.tokens, anchors);
    for (const token of state.tokens) if (token.children !== null) token.children = rewriteLinks(token.children, env);
    state.tokens = groupTabs(state.tokens, (content) => Object.assign(new state.Token('html_block', '', 0), { content }));
  });
  markdown.renderer.rules.fence = (tokens, index) => fenceHtml(tokens[index]!);
  markdown.renderer.rules.table_open = () => '<div class="table"><table>\n';
  markdown.renderer.rules.table_close = () => '</table></div>\n';
  markdown.renderer.rules.heading_close = (tokens, index) => {
    const id = tokens[index - 2]?.attrGet('id');
    const link = id === undefined || id === null ? '' : `<a class="anchor" href="#${escapeHtml(id)}" aria-hidden="true" tabindex="-1">#</a>`;
    return `${link}</${tokens[index]!.tag}>\n`;
  };
  return markdown;
}

/** What the tests of the documents read of a Markdown file: fenced blocks with their markers, headings, links. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

/** Followed in this order, block by block, with one service (guides.test.ts). */
export const guides = [
  'docs/quick-start.md',
  'README.md',
  'docs/errors.md',
  'docs/webhooks.md',
  'docs/secure.md',
  'docs/models.md',
] as const;
/** Followed on a machine of its own (operating.test.ts). */
export const operatorsGuide = 'docs/operating.md';
/** Without anything to follow. */
export const toBeRead = ['CONTRIBUTING.md', 'SECURITY.md', 'docs/architecture.md'] as const;

/** Relative to the root of the repository. */
export const documents: readonly string[] = [...guides, operatorsGuide, ...toBeRead];

export interface Block {
  /** first word of the info string; '' where there is none */
  language: string;
  /** what follows it: `run`, `output`, `file=x.ts`, `background=api until="listening"`, `skip="why"`; flags are 'true' */
  markers: Record<string, string>;
  text: string;
  /** of the opening fence, from 1 */
  line: number;
}

export interface Markdown {
  path: string;
  blocks: Block[];
  /** fragments that a link may name, as GitHub makes them */
  anchors: Set<string>;
  /** targets of links and pictures outside of code */
  links: { target: string; line: number }[];
  /** cells of every table row outside of code, trimmed; header and ruler rows included */
  rows: string[][];
}

const fence = /^(`{3,})\s*(.*)$/;

export function readMarkdown(path: string): Markdown {
  return parseMarkdown(path, readFileSync(join(root, path), 'utf8'));
}

export function parseMarkdown(path: string, text: string): Markdown {
  const found: Markdown = { path, blocks: [], anchors: new Set(), links: [], rows: [] };
  let open: (Block & { ticks: string }) | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const mark = fence.exec(line);
    if (open !== null) {
      if (mark !== null && mark[2] === '' && mark[1]!.length >= open.ticks.length) {
        const { ticks: _, ...block } = open;
        found.blocks.push(block);
        open = null;
      } else open.text += `${line}\n`;
    } else if (mark !== null) {
      open = { ...parseInfo(mark[2]!), text: '', line: index + 1, ticks: mark[1]! };
    } else readLine(found, line, index + 1);
  }
  if (open !== null) throw new Error(`${path}:${open.line}: the block is not closed`);
  return found;
}

function parseInfo(info: string): Pick<Block, 'language' | 'markers'> {
  const [language = '', ...rest] = [...info.matchAll(/([\w-]+=)?"[^"]*"|\S+/g)].map(([word]) => word);
  const markers = rest.map((word) => {
    const at = word.indexOf('=');
    return at < 0 ? [word, 'true'] : [word.slice(0, at), word.slice(at + 1).replace(/^"|"$/g, '')];
  });
  return { language, markers: Object.fromEntries(markers) as Record<string, string> };
}

function readLine(found: Markdown, line: string, number: number): void {
  const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) addAnchor(found.anchors, heading[1]!);
  for (const [, name] of line.matchAll(/<a (?:id|name)="([^"]+)">/g)) found.anchors.add(name!);
  if (/^\s*\|.*\|\s*$/.test(line)) {
    found.rows.push(line.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim()));
  }
  const prose = line.replaceAll(/`[^`]*`/g, (code) => ' '.repeat(code.length));
  for (const [, target] of prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)) found.links.push({ target: target!, line: number });
  for (const [, target] of prose.matchAll(/<(https?:[^\s>]+)>/g)) found.links.push({ target: target!, line: number });
  for (const [, target] of prose.matchAll(/<img [^>]*src="([^"]+)"/g)) found.links.push({ target: target!, line: number });
}

/** GitHub's rule: lower case, no punctuation, hyphens for spaces, a number for a repetition. */
function addAnchor(anchors: Set<string>, heading: string): void {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  const slug = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').trim().replaceAll(/\s/g, '-');
  let name = slug;
  for (let count = 1; anchors.has(name); count += 1) name = `${slug}-${count}`;
  anchors.add(name);
}

/** Text within backticks of a table's cell; null where the cell is something else. */
export function codeOf(cell: string | undefined): string | null {
  return /^`([^`]+)`$/.exec(cell ?? '')?.[1] ?? null;
}

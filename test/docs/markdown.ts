/** What the tests of the documents read of a Markdown file: fenced blocks with their markers, headings, links. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchorOf, type Info, parseInfo } from '../../src/site/info.ts';

export const root = join(import.meta.dirname, '../..');

/** Followed in this order, block by block, with one service (guides.test.ts). */
export const guides = [
  'docs/quick-start.md',
  'README.md',
  'docs/errors.md',
  'docs/webhooks.md',
  'docs/secure.md',
  'docs/models.md',
  'docs/add-networks.md',
] as const;
/**
 * Followed in this order, block by block, on a machine of its own (operating.test.ts). docs/fleet.md starts the processes and
 * creates the account of the others. docs/backup.md is last, because its backup removes the data.
 */
export const operatorsGuides = [
  'docs/fleet.md',
  'docs/gpu.md',
  'docs/accounts.md',
  'docs/install.md',
  'docs/performance.md',
  'docs/monitoring.md',
  'docs/database-and-storage.md',
  'docs/secrets.md',
  'docs/move.md',
  'docs/backup.md',
] as const;
/** Without anything to follow. */
export const toBeRead = [
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/architecture.md',
  'docs/commands.md',
  'docs/configuration.md',
  'docs/network-training.md',
  'docs/operating.md',
  'docs/retention.md',
  'docs/scaling.md',
  'docs/troubleshooting.md',
  'docs/upgrade.md',
  'test/README.md',
  'test/docs/README.md',
] as const;

/** Relative to the root of the repository. */
export const documents: readonly string[] = [...guides, ...operatorsGuides, ...toBeRead];

export interface Block extends Info {
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

function readLine(found: Markdown, line: string, number: number): void {
  const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) anchorOf(heading[1]!, found.anchors);
  for (const [, name] of line.matchAll(/<a (?:id|name)="([^"]+)">/g)) found.anchors.add(name!);
  if (/^\s*\|.*\|\s*$/.test(line)) {
    found.rows.push(line.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim()));
  }
  const prose = line.replaceAll(/`[^`]*`/g, (code) => ' '.repeat(code.length));
  for (const [, target] of prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)) found.links.push({ target: target!, line: number });
  for (const [, target] of prose.matchAll(/<(https?:[^\s>]+)>/g)) found.links.push({ target: target!, line: number });
  for (const [, target] of prose.matchAll(/<img [^>]*src="([^"]+)"/g)) found.links.push({ target: target!, line: number });
}

/** Text within backticks of a table's cell; null where the cell is something else. */
export function codeOf(cell: string | undefined): string | null {
  return /^`([^`]+)`$/.exec(cell ?? '')?.[1] ?? null;
}

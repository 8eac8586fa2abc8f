/** Output for people on a terminal (tables, and facts of one thing), or JSON for programs. */
import Table from 'cli-table3';
import { plain, print, say, terminal } from './terminal.ts';

/** No lines: the columns are easy to read, and to cut with other programs. */
const chars = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'].map((part) => [part, '']),
);

export function table(head: string[], rows: string[][]): string {
  const made = new Table({ head, chars, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 } });
  made.push(...rows);
  return made.toString().split('\n').map((line) => line.trimEnd()).join('\n');
}

type Facts = Record<string, unknown>;

const none = 'There are none.';

/** Prints a list as a table, or `empty`, and an object as lines of facts; as JSON for programs and with `--json`. */
export function show(value: object, empty = none): void {
  const { isTerminal, json } = terminal();
  if (!isTerminal || json) return print(value);
  sayFacts(value, empty);
}

/** Prints a list as a table, or `empty`, and an object as lines of facts. */
export function sayFacts(value: object, empty = none): void {
  for (const part of Array.isArray(value) ? [listText(value, empty)] : factsText(value as Facts)) say(part);
}

/** The columns of all rows together; missing cells are empty. */
function listText(rows: object[], empty = none): string {
  if (rows.length === 0) return empty;
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return table(keys.map(words), rows.map((row) => keys.map((key) => cell((row as Facts)[key]))));
}

/** Lists inside it follow as tables of their own. */
function factsText(facts: Facts): string[] {
  const isList = (value: unknown): value is object[] => Array.isArray(value) && value.some((item) => isThing(item));
  const own = Object.entries(facts).filter(([, value]) => !isList(value));
  const lists = Object.entries(facts).filter((entry): entry is [string, object[]] => isList(entry[1]));
  const width = Math.max(0, ...own.map(([key]) => words(key).length));
  const lines = own.map(([key, value]) => `${words(key).padEnd(width)}  ${cell(value)}`.trimEnd());
  return [...(lines.length === 0 ? [] : [lines.join('\n')]), ...lists.map(([key, rows]) => `\n${words(key)}\n${listText(rows)}`)];
}

/** `createdAt` → `created at` */
const words = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');

const isThing = (value: unknown): value is object => typeof value === 'object' && value !== null && !(value instanceof Date);

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString().slice(0, 19).replace('T', ' ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value) && !value.some(isThing)) return value.map(cell).join(', ');
  if (Array.isArray(value)) return String(value.length);
  // Names come from anyone who signs up.
  return plain(isThing(value) ? JSON.stringify(value) : String(value));
}

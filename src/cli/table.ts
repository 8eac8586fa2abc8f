/** Tables on a terminal. */
import Table from 'cli-table3';

/** Without lines: columns that are easy to read, and to cut with other programs. */
const chars = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'].map((part) => [part, '']),
);

export function table(head: string[], rows: string[][]): string {
  const made = new Table({ head, chars, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 } });
  made.push(...rows);
  return made.toString().split('\n').map((line) => line.trimEnd()).join('\n');
}

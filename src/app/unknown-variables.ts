/** Misspelt variables: one that nobody reads would otherwise be passed over in silence. */
import { configVariables } from './config.ts';

const ours = /^(REELMEND|S3)_/;
/** Letters to change; more, and the name is rather somebody else's. */
const farthest = 2;

/** One sentence for each variable of the environment that looks like one of ours and is none. */
export function misspelt(env: Record<string, string | undefined> = process.env): string[] {
  const strangers = Object.keys(env).filter((name) => ours.test(name) && !configVariables.includes(name));
  return strangers.flatMap((name) => {
    const meant = configVariables.find((known) => distance(name, known) <= farthest);
    return meant === undefined ? [] : [`${name} is read by nobody: is ${meant} meant?`];
  });
}

/** Levenshtein's distance: letters to insert, drop or replace. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(before[j]! + 1, row[j - 1]! + 1, replaced));
    }
    before = row;
  }
  return before[b.length]!;
}

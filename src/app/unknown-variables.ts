/** Finds misspelt environment variables, which would otherwise be ignored silently. */
import { configVariables } from './config.ts';

const ownPrefix = /^(REELMEND|S3)_/;
/** edits between an unknown name and a known one that still count as a misspelling */
const maxDistance = 2;

/** Returns one warning for each variable that has our prefix and nearly the name of a known variable, or its whole name behind the prefix. */
export function unknownVariables(env: Record<string, string | undefined> = process.env): string[] {
  const unknown = Object.keys(env).filter((name) => ownPrefix.test(name) && !configVariables.includes(name));
  return unknown.flatMap((name) => {
    const meant = configVariables.find((known) => name.replace(ownPrefix, '') === known || levenshtein(name, known) <= maxDistance);
    return meant === undefined ? [] : [`Unknown variable ${name}; did you mean ${meant}?`];
  });
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function levenshtein(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, replaced));
    }
    previous = row;
  }
  return previous[b.length]!;
}

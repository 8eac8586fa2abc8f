/**
 * Parses JSON more strictly than `JSON.parse`, which keeps the last of two equal names, has no depth limit, and accepts
 * U+0000 and lone surrogates, which the database cannot store.
 */
import { ReelmendError } from '../domain/errors.ts';

const maxDepth = 32;

function refuse(message: string, cause?: unknown): ReelmendError {
  return new ReelmendError('invalid_json', message, cause === undefined ? {} : { cause });
}

/** Throws ReelmendError `invalid_json`. Takes linear time. */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse('The request body is not valid JSON.', cause);
  }
  checkTokens(text);
  return value;
}

/** The index after the string that starts at `start`. `text` must be valid JSON. */
function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

function checkString(value: string): void {
  if (value.includes('\u0000')) throw refuse('The request body contains the character U+0000.');
  if (!value.isWellFormed()) throw refuse('The request body contains a lone surrogate.');
}

function checkName(names: Set<string>, name: string): void {
  if (name === '__proto__') throw refuse('The name "__proto__" is not allowed.');
  if (names.has(name)) throw refuse(`The name ${JSON.stringify(name)} occurs twice in one object.`);
  names.add(name);
}

/** Checks the names of each object, the depth, and the characters of strings. `text` must be valid JSON. */
function checkTokens(text: string): void {
  /** one entry per open bracket: the names of an object so far, null for an array */
  const open: (Set<string> | null)[] = [];
  /** whether the next string is a name of the innermost object */
  let nameNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      const value = JSON.parse(text.slice(at, end)) as string;
      checkString(value);
      const names = open.at(-1);
      if (nameNext && names) checkName(names, value);
      nameNext = false;
      at = end - 1;
    } else if (character === '{' || character === '[') {
      if (open.length === maxDepth) throw refuse(`The request body is nested more than ${maxDepth} levels deep.`);
      open.push(character === '{' ? new Set() : null);
      nameNext = character === '{';
    } else if (character === '}' || character === ']') {
      open.pop();
      nameNext = false;
    } else if (character === ',') {
      nameNext = open.at(-1) instanceof Set;
    }
  }
}

import type { Block } from './markdown.ts';

/** Of the test that follows a block. */
export function title({ line, language, markers, text }: Block): string {
  const [kind] = Object.keys(markers);
  return `line ${line}: ${language} ${kind ?? ''} ${text.trim().split('\n')[0]!.slice(0, 70)}`;
}

/**
 * The info string of a fenced block and the anchors of headings. The site and the tests of the documents share these rules.
 */

export interface Info {
  /** first word; '' if there is none */
  language: string;
  /** the other words: `run`, `output`, `tab=curl`, `file=x.ts`, `skip="why"`; words without a value are 'true' */
  markers: Record<string, string>;
}

export function parseInfo(info: string): Info {
  const [language = '', ...rest] = [...info.matchAll(/([\w-]+=)?"[^"]*"|\S+/g)].map(([word]) => word);
  const markers = rest.map((word) => {
    const at = word.indexOf('=');
    return at < 0 ? [word, 'true'] : [word.slice(0, at), word.slice(at + 1).replace(/^"|"$/g, '')];
  });
  return { language, markers: Object.fromEntries(markers) as Record<string, string> };
}

/**
 * The anchor of a heading by GitHub's rule: lower case, no punctuation, hyphens for spaces, a number for repetitions. Adds
 * it to `taken`.
 */
export function anchorOf(heading: string, taken: Set<string>): string {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  const slug = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').trim().replaceAll(/\s/g, '-');
  let name = slug;
  for (let count = 1; taken.has(name); count += 1) name = `${slug}-${count}`;
  taken.add(name);
  return name;
}

/** Links between the documents lead somewhere, down to the heading; every block says how it is tested. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documents, parseMarkdown, readMarkdown, root, toBeRead } from './markdown.ts';
import { matches } from './reader.ts';

/** What a marked block may be; exactly one of them. */
const kinds = ['run', 'background', 'output', 'log', 'file', 'started', 'skip'];
const more = ['status', 'until', 'stops', 'needs', 'tab'];

function problemOf(path: string, target: string): string | null {
  if (/^(https?:|mailto:)/.test(target)) return null;
  const [file = '', fragment] = target.split('#');
  const other = file === '' ? path : normalize(join(dirname(path), file));
  if (!existsSync(join(root, other))) return `there is no ${other}`;
  if (fragment === undefined) return null;
  if (!other.endsWith('.md')) return 'a fragment of what is no Markdown';
  return readMarkdown(other).anchors.has(fragment) ? null : `${other} has no heading #${fragment}`;
}

describe.each(documents)('%s', (path) => {
  const { links, blocks } = readMarkdown(path);

  it('has no broken link', () => {
    const broken = links.flatMap(({ target, line }) => {
      const problem = problemOf(path, target);
      return problem === null ? [] : [`line ${line}: ${target}: ${problem}`];
    });
    expect(broken).toEqual([]);
  });

  it('says of every block how it is tested', () => {
    for (const { language, markers, line } of blocks) {
      const names = Object.keys(markers);
      expect(names.filter((name) => kinds.includes(name)), `${path}:${line} (${language})`).toHaveLength(1);
      expect(names.filter((name) => ![...kinds, ...more].includes(name)), `${path}:${line}`).toEqual([]);
      if (markers['skip'] !== undefined) expect(markers['skip'].length, `${path}:${line}: why skipped`).toBeGreaterThan(10);
      else expect(toBeRead, `${path}:${line}`).not.toContain(path);
    }
  });
});

it('no document is left out', () => {
  const found = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  expect(documents.filter((path) => path.startsWith('docs/')).toSorted()).toEqual(found.toSorted());
});

it('the picture of the result is small', () => {
  expect(statSync(join(root, 'docs/before-after.webp')).size).toBeLessThan(200_000);
});

describe('the reading of Markdown', () => {
  const text = '# A `b` C!\n## A\n## A\n[x](#a-1) `[no](link)`\n```bash run status=1 until="a b"\n[no](link)\n```\n| `X` | a\\|b |\n';
  const read = parseMarkdown('x.md', text);

  it('finds headings, links, markers and cells', () => {
    expect([...read.anchors]).toEqual(['a-b-c', 'a', 'a-1']);
    expect(read.links).toEqual([{ target: '#a-1', line: 4 }]);
    expect(read.blocks).toEqual([
      { language: 'bash', markers: { run: 'true', status: '1', until: 'a b' }, text: '[no](link)\n', line: 5 },
    ]);
    expect(read.rows).toEqual([['`X`', 'a\\|b']]);
  });

  it('refuses a block that does not end', () => {
    expect(() => parseMarkdown('x.md', '```bash\n')).toThrow('x.md:1: the block is not closed');
  });

  it.each([
    ['a b', 'a\n  b', true],
    ['{"id":"job_1","x":2}', '{"id":"job_…",…}', true],
    ['done 12 fps on cpu, model fast', 'done … fps on cpu…', true],
    ['a b c', 'a b', false],
    ['a.c', 'abc', false],
    ['error', 'ok', false],
  ])('compares %j with %j', (printed, shown, same) => {
    expect(matches(printed, shown)).toBe(same);
  });
});

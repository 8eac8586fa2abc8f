/** The reader of the guides itself: it must notice a document that is wrong. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMarkdown } from './markdown.ts';
import { createReader, type Reader } from './reader.ts';

let dir: string;
let reader: Reader;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-reader-test-'));
  reader = await createReader({ cwd: dir, words: { 'example.com': 'localhost' } });
});
afterEach(async () => {
  await reader.leave();
  await rm(dir, { recursive: true, force: true });
});

async function follow(text: string): Promise<void> {
  for (const block of parseMarkdown('x.md', text.replaceAll("'''", '```')).blocks) await reader.follow(block);
}

describe('a reader', () => {
  it.each([
    ['keeps variables, functions’ results and the folder', "'''bash run\nA=1; mkdir in; cd in\n'''\n'''bash run\necho $A ${PWD##*/}\n'''\n'''text output\n1 in\n'''\n"],
    ['reads its own words for the document’s', "'''bash run\necho http://example.com/\n'''\n'''text output\nhttp://localhost/\n'''\n"],
    ['expects a failure where the block names one', "'''bash run status=3\nexit 3\n'''\n"],
    ['shows the error where nothing else was printed', "'''bash run status=1\necho no >&2; false\n'''\n'''text output\nno\n'''\n"],
    ['sees other terminals', "'''bash background=b until=\"up\"\necho up; sleep 0.2; echo later; sleep 60\n'''\n'''text log=b\nlater\n'''\n"],
  ])('%s', async (_, text) => {
    await follow(text);
  });

  it.each([
    ['a command that fails', "'''bash run\nfalse\n'''\n", 'ended with status 1'],
    ['a command that fails in the middle', "'''bash run\nfalse\necho fine\n'''\n", 'ended with status 1'],
    ['a command that fails in a pipe', "'''bash run\nfalse | cat\n'''\n", 'ended with status 1'],
    ['a variable that was never set', "'''bash run\necho $NEVER_SET\n'''\n", 'ended with status'],
    ['a command that works where the block names a failure', "'''bash run status=1\ntrue\n'''\n", 'ended with status 0'],
    ['other output', "'''bash run\necho yes\n'''\n'''text output\nno\n'''\n", 'The document shows'],
    ['output that goes on', "'''bash run\necho yes; echo more\n'''\n'''text output\nyes\n'''\n", 'The document shows'],
    ['a terminal that does not come up', "'''bash background=b until=\"up\"\necho down\n'''\n", 'did not come up'],
  ])('notices %s', async (_, text, why) => {
    await expect(follow(text)).rejects.toThrow(why);
  });

  it('notices a command that does not end', async () => {
    const shortTimeout = await createReader({ cwd: dir, words: {}, timeoutMs: 1000 });
    const [block] = parseMarkdown('x.md', '```bash run\nsleep 600\n```\n').blocks;
    await expect(shortTimeout.follow(block!)).rejects.toThrow('took too long');
    await shortTimeout.leave();
  });

  it('writes files, with its own words', async () => {
    await follow("'''ts file=app/a.ts\nfetch('http://example.com');\n'''\n");
    expect(await readFile(join(dir, 'app/a.ts'), 'utf8')).toBe("fetch('http://localhost');\n");
  });

  it('`stops=` ends other terminals and the processes that they started', async () => {
    await follow("'''bash background=b until=\"up\"\n(trap 'touch ended; exit' TERM; echo up; while :; do sleep 0.05; done)\n'''\n'''bash run stops=b\ntrue\n'''\n");
    await expect.poll(() => existsSync(join(dir, 'ended'))).toBe(true);
  });
});

/** Every command of the guides, followed in order by a reader with a freshly started service. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Block, guides, readMarkdown } from './markdown.ts';
import { createReader, matches, type Reader } from './reader.ts';
import { type DemoService, startDemo } from './service.ts';
import { title } from './title.ts';

let demo: DemoService;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.stop());

describe.each(guides)('%s', (path) => {
  const { blocks, links } = readMarkdown(path);
  let reader: Reader;
  beforeAll(async () => {
    const keys = { [demo.words['svc_live_…']!]: demo.words['svc_test_…']! };
    reader = await createReader({ cwd: demo.checkout.dir, words: demo.words, keys });
  });
  afterAll(() => reader?.leave());

  it('points at pages that the service has', async () => {
    for (const { target } of links.filter((link) => link.target.startsWith('http://127.0.0.1'))) {
      expect((await fetch(inOurWords(target))).status, target).toBe(200);
    }
  });

  it.each(blocks.map((block) => ({ block, title: title(block) })))('$title', async ({ block }) => {
    if (block.markers['started'] !== undefined) expectStart(block);
    else if (block.markers['log'] === 'service') await expectServiceLog(block);
    else await reader.follow(block);
  });
});

/** The service runs since before: the document must say the same as what started it. */
function expectStart({ text }: Block): void {
  const [, variables, command] = /^((?:\w+=\S+ )*)(npm start)\n$/.exec(text) ?? [];
  expect(command).toBe('npm start');
  for (const [, name, value] of variables!.matchAll(/(\w+)=(\S+)/g)) {
    expect(inOurWords(value!), name).toBe(demo.env[name!]);
  }
}

function inOurWords(text: string): string {
  return Object.entries(demo.words).reduce((all, [word, real]) => all.replaceAll(word, real), text);
}

async function expectServiceLog({ text }: Block): Promise<void> {
  const shown = inOurWords(text);
  const printed = await readFile(demo.log, 'utf8');
  expect(matches(printed, `… ${shown} …`), printed).toBe(true);
}

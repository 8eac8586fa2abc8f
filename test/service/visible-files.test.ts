/** A test file is skipped while nothing that it can see has changed, so what it can see must not be too little. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repositoryFiles } from '../../scripts/passed-before.ts';
import { globalSetup } from '../../scripts/test-files.ts';
import { VisibleFiles } from '../../scripts/visible-files.ts';

const contents: Record<string, string> = {
  'test/helpers/start.ts': `const cli = fileURLToPath(new URL('../../scripts/serve', import.meta.url));`,
  'scripts/serve': '#!/usr/bin/env bash\nexec node "$root/src/main.ts"\n',
  'src/main.ts': `const { run } = await import('./run.ts');`,
  'src/run.ts': `import { a } from './a.ts';\nimport type { B } from './b.ts';\nexport const pageDir = new URL('../build/console', import.meta.url);`,
  'src/a.ts': 'export const a = 1;',
  'src/b.ts': 'export interface B {}',
  'scripts/build-console': '#!/usr/bin/env bash\nfind src/console src/a.ts CHANGELOG.md\n',
  'CHANGELOG.md': '# Changes',
  'src/console/page.tsx': 'export const page = <p>it is</p>;',
  'src/media/child.ts': `export { a } from '../a.ts';`,
  'src/media/isolation.ts': `export const root = fileURLToPath(new URL('../../', import.meta.url));\nconst child = 'media/child.ts';\nconst mount = \`\${root}src/media\`;`,
  'docs/guide.md': '# A guide',
};
const tests: Record<string, { code: string; sees: string[] | 'all' | 'elsewhere' }> = {
  'what it imports': { code: `import { a } from '../src/a.ts';`, sees: ['src/a.ts'] },
  'no file of which it imports only types': { code: `import type { B } from '../src/b.ts';\n// ../src/a.ts`, sees: [] },
  'a module that it replaces': { code: `replaceModule('../src/a.ts', () => ({}));`, sees: ['src/a.ts'] },
  'what the programs that it starts import and serve': {
    code: `import '../test/helpers/start.ts';`,
    sees: ['test/helpers/start.ts', 'scripts/serve', 'src/main.ts', 'src/run.ts', 'src/a.ts', 'scripts/build-console', 'CHANGELOG.md', 'src/console/page.tsx'],
  },
  'a folder that it names': { code: `const dir = 'src/media';`, sees: ['src/media/child.ts', 'src/media/isolation.ts', 'src/a.ts'] },
  'a folder that a template names': { code: 'const file = new URL(`../src/console/${name}`, import.meta.url);', sees: ['src/console/page.tsx'] },
  'a file beside it': { code: `readFileSync(join(import.meta.dirname, 'helpers', 'start.ts'));`, sees: ['test/helpers/start.ts', 'scripts/serve', 'src/main.ts', 'src/run.ts', 'src/a.ts', 'scripts/build-console', 'CHANGELOG.md', 'src/console/page.tsx'] },
  'the folders that product code joins to the root': { code: `import '../src/media/isolation.ts';`, sees: ['src/media/isolation.ts', 'src/media/child.ts', 'src/a.ts'] },
  'everything if it knows the root': { code: `const root = join(import.meta.dirname, '../');`, sees: 'all' },
  'more than the repository': { code: `const samples = new URL('../../beside/', import.meta.url);`, sees: 'elsewhere' },
};

const temporary = mkdtempSync(join(tmpdir(), 'reelmend-visible-'));
const root = join(temporary, 'repository');
const testFile = (name: string) => `test/${name.replaceAll(' ', '-')}.test.ts`;

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

beforeAll(() => {
  for (const [file, text] of Object.entries(contents)) write(file, text);
  for (const [name, { code }] of Object.entries(tests)) write(testFile(name), code);
  mkdirSync(join(temporary, 'beside'));
});
afterAll(() => rmSync(temporary, { recursive: true }));

describe('a test file sees', () => {
  const files = [...Object.keys(contents), ...Object.keys(tests).map(testFile)];

  it.each(Object.entries(tests))('%s', (name, { sees }) => {
    const file = testFile(name);
    const visible = new VisibleFiles(root, files).of(file);
    if (sees === 'elsewhere') return expect(visible).toBeUndefined();
    expect([...visible!].sort()).toEqual((sees === 'all' ? [...files] : [file, ...sees]).sort());
  });
});

describe('in this repository', () => {
  const files = repositoryFiles();
  const visibleFiles = new VisibleFiles(process.cwd(), files);
  const expected: Record<string, string[]> = {
    'test/api/auth.test.ts': ['src/http/app.ts', 'src/store/schema.ts', 'test/helpers/http-contract.ts'],
    'test/faults/worker-crash.test.ts': ['src/jobs/worker.ts', 'test/helpers/worker-process.ts', 'test/helpers/waiting-child.ts'],
    'test/media/warm-pool.test.ts': ['src/media/child.ts', 'test/media/warm-pool-keeper.ts', 'test/media/odd-warm-child.ts'],
    'test/service/remote-cli.test.ts': ['src/cli/main.ts', 'src/cli/remote-commands.ts', 'src/app/service.ts', 'src/jobs/worker.ts', 'src/console/main.tsx', 'src/media/child.ts', 'src/app/samples/sample.mp4'],
    'test/browser/pages.test.ts': ['scripts/build-console', 'src/console/main.tsx', 'src/console/vite.config.ts', 'src/sdk/index.ts', 'src/cli/main.ts', 'src/jobs/worker.ts', 'docs/webhooks.md'],
    'test/browser/docs.test.ts': ['scripts/build-docs', 'src/site/build.ts', 'src/console/app/theme-choice.ts', 'docs/webhooks.md', 'CHANGELOG.md'],
    'test/service/bench-fleet.test.ts': ['scripts/bench-fleet.ts', 'scripts/fleet/worker.ts'],
  };
  it.each(Object.entries(expected))('%s sees what it runs', (file, wanted) => {
    const visible = visibleFiles.of(file)!;
    expect(files).toEqual(expect.arrayContaining(wanted));
    expect(wanted.filter((name) => !visible.has(name))).toEqual([]);
  });

  it('every test sees what the set-up of all tests runs', () => {
    expect(readFileSync('vitest.config.ts', 'utf8')).toContain(`globalSetup: ['${globalSetup}'],`);
    const visible = visibleFiles.of(globalSetup)!;
    for (const file of ['src/postgres/embedded.ts', 'src/store/migrate.ts']) expect(visible.has(file), file).toBe(true);
    expect([...visible].filter((file) => /^(test|scripts)\//.test(file))).toEqual([globalSetup]);
  });

  it.each([
    ['test/docs/guides.test.ts', 'docs/quick-start.md'],
    ['test/deploy/image.test.ts', 'Dockerfile'],
    ['test/sdk/package.test.ts', 'src/sdk/index.ts'],
  ])('%s sees everything', (file, one) => {
    expect(files).toContain(one);
    expect(visibleFiles.of(file)).toEqual(new Set(files));
  });

  it.each([
    ['test/domain/rules.test.ts', 'src/http/'],
    ['test/net/download.test.ts', 'src/jobs/'],
    ['test/media/warm-pool.test.ts', 'src/http/'],
    ['test/jobs/worker.test.ts', 'src/console/'],
    ['test/api/auth.test.ts', 'src/console/'],
  ])('%s sees nothing of %s', (file, folder) => {
    expect([...visibleFiles.of(file)!].filter((name) => name.startsWith(folder))).toEqual([]);
  });
});

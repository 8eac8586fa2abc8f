/** `scripts/build-docs`: writes the site of the documents into the folder given as argument. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Eleventy, { type Config } from '@11ty/eleventy';
import { build } from 'esbuild';
import { compressCopies } from '../../scripts/compress-copies.ts';
import { guides } from './guides.ts';
import type { Pictures } from './links.ts';
import { createMarkdown, type Environment } from './markdown.ts';
import { navigation } from './navigation.ts';
import { referencePages } from './reference/pages.ts';
import { searchSections, type Section } from './search-sections.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The oldest versions with light-dark() and :has(), as for the console. */
const browsers = ['chrome123', 'firefox121', 'safari17.5'];

/** Bundles the script and the style sheet of the pages; returns their names, which have a hash of the content. */
async function buildAssets(out: string): Promise<{ script: string; style: string }> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { site: 'src/site/browser/main.ts', style: 'src/site/styles/site.css' },
    outdir: join(out, 'assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: browsers,
    metafile: true,
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((path) => basename(path));
  return { script: names.find((name) => name.endsWith('.js'))!, style: names.find((name) => name.endsWith('.css'))! };
}

function addGuides(config: Config): void {
  // Not rendered as Liquid templates first, because the texts contain braces.
  for (const { slug, source, title, summary } of guides) {
    config.addTemplate(`${slug}.md`, read(source), { title, summary, source, permalink: `/${slug}.html`, templateEngineOverride: 'md' });
  }
}

/** The codes that the page of the errors explains. */
function errorCodes(): Set<string> {
  return new Set([...read('docs/errors.md').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code!));
}

/** Pages and the data that search needs. */
async function writePages(out: string): Promise<void> {
  const assets = await buildAssets(out);
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const pictures: Pictures = new Map();
  const markdown = createMarkdown();
  const sections: Section[] = [];
  const reference = referencePages((text) => markdown.render(text, { source: 'openapi.yaml', pictures } satisfies Environment), errorCodes());
  const eleventy = new Eleventy(join(root, 'src/site/templates'), out, {
    configPath: null,
    quietMode: true,
    config(config) {
      config.setUseGitIgnore(false);
      config.setIncludesDirectory('../layouts');
      config.addExtension(['11ty.ts'], { key: '11ty.js' });
      config.setTemplateFormats(['md', '11ty.ts']);
      config.setLibrary('md', {
        render: (text, data) => {
          const { source } = data as { source: string };
          const env: Environment = { source, pictures, rowsHaveIds: source === 'docs/errors.md' };
          return markdown.render(text, env);
        },
      });
      config.addGlobalData('layout', 'frame.11ty.ts');
      config.addGlobalData('navigation', navigation);
      config.addGlobalData('referencePages', reference);
      config.addGlobalData('assets', assets);
      config.addGlobalData('version', version);
      addGuides(config);
      config.addTransform('search', function (content) {
        sections.push(...searchSections(this.page.outputPath.slice(out.length), content));
        return content;
      });
    },
  });
  await eleventy.write();
  writeFileSync(join(out, 'search.json'), JSON.stringify(sections));
  mkdirSync(join(out, 'pictures'), { recursive: true });
  for (const [name, path] of pictures) cpSync(join(root, path), join(out, 'pictures', name));
}

const out = process.argv[2];
if (out === undefined) throw new Error('usage: build.ts FOLDER');
await writePages(out);
for (const name of ['icon.svg', 'theme.js']) cpSync(join(root, 'src/console/public', name), join(out, name));
compressCopies(out);

/** What scripts/build-media-child does. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { builtChild, childSources, isChildBuilt } from '../src/media/child-program.ts';
import { projectRoot } from '../src/media/addon.ts';

const out = dirname(projectRoot + builtChild);
const built = childSources.map((source) => {
  const code = stripTypeScriptTypes(readFileSync(projectRoot + source, 'utf8')).replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'");
  return { file: basename(source).replace(/\.ts$/, '.js'), code };
});
// Of another version, sources may be older than what was built: tar, rsync and unzip keep the time of the release.
const isOfTheseSources = () => built.every(({ file, code }) => existsSync(join(out, file)) && readFileSync(join(out, file), 'utf8') === code);

if (!isChildBuilt() || !isOfTheseSources()) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(`${out}.new`, { recursive: true });
  for (const { file, code } of built) writeFileSync(join(`${out}.new`, file), code);
  renameSync(`${out}.new`, out);
}

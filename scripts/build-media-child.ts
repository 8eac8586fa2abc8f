/** What scripts/build-media-child does. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { builtChild, childSources, isChildBuilt } from '../src/media/child-program.ts';
import { projectRoot } from '../src/media/addon.ts';

if (!isChildBuilt()) {
  const out = dirname(projectRoot + builtChild);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(`${out}.new`, { recursive: true });
  for (const source of childSources) {
    const code = stripTypeScriptTypes(readFileSync(projectRoot + source, 'utf8')).replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'");
    writeFileSync(join(`${out}.new`, basename(source).replace(/\.ts$/, '.js')), code);
  }
  renameSync(`${out}.new`, out);
}

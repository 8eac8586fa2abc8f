/** `npm run generate [-- --check]`: see scripts/generate. */
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type UserConfig } from '@hey-api/openapi-ts';
import { generatedPatterns } from '../openapi-ts.config.ts';

const root = join(import.meta.dirname, '..');

/** Generated files below `base`, relative to it, sorted. */
function generatedFiles(base: string): string[] {
  return generatedPatterns.flatMap((pattern) => globSync(pattern, { cwd: base })).sort();
}

/**
 * Files of the client's runtime, which the generator copies and which do not compile with `exactOptionalPropertyTypes`. The
 * compiler does not check their function bodies; importing code still sees their types.
 */
const unchecked = [
  'client/client.gen.ts',
  'client/utils.gen.ts',
  'core/params.gen.ts',
  'core/pathSerializer.gen.ts',
  'core/serverSentEvents.gen.ts',
];

function relaxRuntime(base: string): void {
  for (const name of unchecked) {
    const path = join(base, 'src/sdk', name);
    writeFileSync(path, readFileSync(path, 'utf8').replace('\n', '\n// @ts-nocheck\n'));
  }
}

/** Removes a comment that advertises another package. */
function dropForeignAdvice(base: string): void {
  const path = join(base, 'src/sdk/client/types.gen.ts');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(/^ +\/\*\*\n(?: +\*.*\n)*? +\* Install \{@link.*\n +\*\/\n/m, ''));
}

function differences(fresh: string): string[] {
  const wanted = generatedFiles(fresh);
  const present = new Set(generatedFiles(root));
  const differing = wanted.filter((path) => {
    if (!present.has(path)) return true;
    return readFileSync(join(fresh, path), 'utf8') !== readFileSync(join(root, path), 'utf8');
  });
  return [...differing, ...[...present].filter((path) => !wanted.includes(path))].sort();
}

async function main(): Promise<number> {
  const check = process.argv.includes('--check');
  const fresh = mkdtempSync(join(tmpdir(), 'reelmend-generate-'));
  try {
    process.env['REELMEND_GENERATE_INTO'] = fresh;
    // The generator finds the configuration file by its name.
    await createClient({} as UserConfig);
    relaxRuntime(fresh);
    dropForeignAdvice(fresh);
    const changed = differences(fresh);
    if (check) {
      for (const path of changed)
        console.error(`${path} differs from what openapi.yaml generates; run npm run generate`);
      if (changed.length === 0) console.log(`${generatedFiles(fresh).length} generated files are up to date`);
      return changed.length === 0 ? 0 : 1;
    }
    const wanted = new Set(generatedFiles(fresh));
    for (const path of generatedFiles(root)) if (!wanted.has(path)) rmSync(join(root, path));
    for (const path of wanted) cpSync(join(fresh, path), join(root, path));
    console.log(`${wanted.size} files generated, ${changed.length} changed`);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

process.exitCode = await main();

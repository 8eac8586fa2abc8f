/** What `npm run generate` makes of openapi.yaml: the service's contract, and the client. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UserConfig } from '@hey-api/openapi-ts';
import { parse } from 'yaml';
import { withoutTag } from './src/contract/plugin/audience.ts';
import { carryDroppedKeywords } from './src/contract/plugin/keywords.ts';
import { routesPlugin } from './src/contract/plugin/routes.ts';
import { zodResolvers } from './src/contract/plugin/zod.ts';

const root = import.meta.dirname;
const banner = '// Generated from openapi.yaml by `npm run generate`; do not edit.';

/** Patterns of the generated files, relative to the root; everything else is written by hand. */
export const generatedPatterns = [
  'src/contract/*.gen.ts',
  'src/sdk/*.gen.ts',
  'src/sdk/{client,core}/**/*.ts',
] as const;

/** One configuration per folder; `base` is the root to write under (the repository, or a temporary folder). */
function generatorConfigs(base: string): UserConfig[] {
  const document = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8')) as unknown;
  const common = (described: unknown) => ({
    // An object is parsed as it is; the carried keywords are for the zod resolvers.
    input: carryDroppedKeywords(described) as Record<string, unknown>,
    logs: { level: 'error' as const, file: false },
  });
  const output = (folder: string) => ({
    path: join(base, folder),
    clean: false,
    entryFile: false,
    header: banner,
    module: { extension: '.ts' },
  });
  return [
    {
      ...common(document),
      output: output('src/contract'),
      plugins: [
        '@hey-api/typescript',
        { name: 'zod', compatibilityVersion: 4, responses: false, dates: { offset: true }, $resolvers: zodResolvers },
        routesPlugin(),
      ],
    },
    {
      // The console's operations are the page's own: no client of a customer's may rely on them.
      ...common(withoutTag(document, 'Console')),
      output: output('src/sdk'),
      plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk'],
    },
  ];
}

// scripts/generate writes into a temporary folder first, to compare or to copy.
export default generatorConfigs(process.env['REELMEND_GENERATE_INTO'] ?? root);

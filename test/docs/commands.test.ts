/** docs/commands.md has all commands as they are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { program } from '../../src/cli/program.ts';
import { commandReference } from '../../src/cli/reference.ts';
import { root } from './markdown.ts';

it('docs/commands.md is what npm run generate writes', () => {
  expect(readFileSync(join(root, 'docs/commands.md'), 'utf8')).toBe(commandReference(program()));
});

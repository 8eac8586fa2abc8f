/** Writes docs/commands.md from the command line; part of `npm run generate`. test/docs/commands.test.ts checks that it is current. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program } from '../src/cli/program.ts';
import { commandReference } from '../src/cli/reference.ts';

writeFileSync(join(import.meta.dirname, '../docs/commands.md'), commandReference(program()));

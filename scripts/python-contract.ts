/** Prints the part of openapi.yaml that scripts/build-python-client builds a client from, as JSON. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { withoutTag } from '../src/contract/plugin/audience.ts';

/** The console's own operations, the API description, and the targets of signed links: httpx suffices for these. */
const leftOut = ['Console', 'Description', 'Downloads'];

const contract = parse(readFileSync(join(import.meta.dirname, '../openapi.yaml'), 'utf8')) as unknown;
const document = leftOut.reduce(withoutTag, contract);
process.stdout.write(JSON.stringify(document));

/** Prints the part of openapi.yaml that scripts/build-python-client builds a client from, as JSON. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { withoutTag } from '../src/contract/plugin/audience.ts';

type Schema = Record<string, unknown>;
interface Document {
  components: { schemas: Record<string, Schema> };
}

/** The console's own operations, the API description, and the targets of signed links: httpx suffices for these. */
const leftOut = ['Console', 'Description', 'Downloads'];

/** "Exactly one of these is required": the generator does not know this rule and would make the whole schema `Any`. */
const isRule = (branch: Schema) => Object.keys(branch).every((key) => key === 'required');

function withoutRules(schema: Schema): Schema {
  const branches = schema['oneOf'];
  if (!Array.isArray(branches) || !branches.every((branch) => isRule(branch as Schema))) return schema;
  const { oneOf: _rule, ...rest } = schema;
  return rest;
}

const contract = parse(readFileSync(join(import.meta.dirname, '../openapi.yaml'), 'utf8')) as unknown;
const document = leftOut.reduce(withoutTag, contract) as Document;
const schemas = Object.fromEntries(Object.entries(document.components.schemas).map(([name, schema]) => [name, withoutRules(schema)]));
process.stdout.write(JSON.stringify({ ...document, components: { ...document.components, schemas } }));

/**
 * Makes JSON schemas for kubeconform: one file for each kind, with everything that it refers to. Unknown fields are errors.
 *
 *   scripts/kubernetes-schemas.ts DIR SWAGGER.json [CRD.yaml …]
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Schema {
  [keyword: string]: unknown;
  properties?: Record<string, Schema>;
}

interface Swagger {
  definitions: Record<string, Schema & { 'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[] }>;
}

interface CustomResource {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** File names as kubeconform expects them: deployment-apps-v1.json, service-v1.json. */
const fileName = (group: string, version: string, kind: string) =>
  `${[kind, group.split('.')[0], version].filter(Boolean).join('-').toLowerCase()}.json`;

/** Definitions that allow more than their type says. */
const lenient: Record<string, Schema> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['integer', 'string'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['number', 'string'] },
};

const mapValues = <T, U>(record: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** Restricts objects to the fields that they name. */
function strict(schema: Schema): Schema {
  if (schema['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === 'object' && value !== null ? strict(value as Schema) : value;
  };
  const changed: Schema = mapValues(schema, inner);
  if (schema.properties === undefined) return changed;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || schema['additionalProperties'] !== undefined;
  return { ...changed, properties: mapValues(schema.properties, strict), ...(isOpen ? {} : { additionalProperties: false }) };
}

/** The names of the definitions that a schema refers to, directly and indirectly. */
function referred(definitions: Swagger['definitions'], node: unknown, found = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(node).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
    if (found.has(name!)) continue;
    found.add(name!);
    referred(definitions, definitions[name!], found);
  }
  return found;
}

function write(folder: string, name: string, schema: unknown): void {
  writeFileSync(join(folder, name), JSON.stringify(schema));
}

const [folder, swaggerFile, ...resourceFiles] = process.argv.slice(2) as [string, string, ...string[]];
mkdirSync(folder, { recursive: true });
const { definitions } = JSON.parse(readFileSync(swaggerFile, 'utf8')) as Swagger;
for (const definition of Object.values(definitions)) {
  for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
    const names = [...referred(definitions, definition)];
    const closed = Object.fromEntries(names.map((name) => [name, lenient[name] ?? strict(definitions[name]!)]));
    write(folder, fileName(group, version, kind), { ...strict(definition), definitions: closed });
  }
}
for (const file of resourceFiles) {
  const { spec } = parse(readFileSync(file, 'utf8')) as CustomResource;
  for (const { name, schema } of spec.versions) {
    const { openAPIV3Schema } = schema;
    // The API server adds the type of the metadata.
    const properties = { ...openAPIV3Schema.properties, metadata: { type: 'object' } };
    write(folder, fileName(spec.group, name, spec.names.kind), strict({ ...openAPIV3Schema, properties }));
  }
}

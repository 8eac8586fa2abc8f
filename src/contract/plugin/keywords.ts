/**
 * Keywords of JSON Schema that the generator's intermediate model drops. They travel through it as extensions, which
 * it keeps, and the zod resolvers (zod.ts) read them back.
 */
const carried: Readonly<Record<string, string>> = {
  maxProperties: 'x-keep-max-properties',
  minProperties: 'x-keep-min-properties',
  uniqueItems: 'x-keep-unique-items',
};

/** A deep copy of the document in which each dropped keyword stands beside its extension. */
export function carryDroppedKeywords(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(carryDroppedKeywords);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    copy[key] = carryDroppedKeywords(value);
    const extension = carried[key];
    // Only keyword positions hold plain values; a property that happens to be named like a keyword holds a schema.
    if (extension !== undefined && typeof value !== 'object') copy[extension] = value;
  }
  return copy;
}

/** What `carryDroppedKeywords` kept of one schema of the intermediate model. */
export function keptKeywords(schema: object): {
  maxProperties?: number;
  minProperties?: number;
  uniqueItems?: boolean;
} {
  const kept: { maxProperties?: number; minProperties?: number; uniqueItems?: boolean } = {};
  const max: unknown = Reflect.get(schema, 'x-keep-max-properties');
  const min: unknown = Reflect.get(schema, 'x-keep-min-properties');
  if (typeof max === 'number') kept.maxProperties = max;
  if (typeof min === 'number') kept.minProperties = min;
  if (Reflect.get(schema, 'x-keep-unique-items') === true) kept.uniqueItems = true;
  return kept;
}

/**
 * Keywords of JSON Schema that the generator's intermediate model drops. They pass through it as extensions, which it keeps,
 * and the zod resolvers (zod.ts) read them back.
 */
const carried: Readonly<Record<string, string>> = {
  maxProperties: 'x-keep-max-properties',
  minProperties: 'x-keep-min-properties',
  uniqueItems: 'x-keep-unique-items',
};

/** A deep copy of the document, with each dropped keyword beside its extension. */
export function carryDroppedKeywords(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(carryDroppedKeywords);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    const alternatives = key === 'oneOf' ? requiredAlternatives(value) : undefined;
    if (alternatives !== undefined) {
      copy[exactlyOneExtension] = alternatives;
      continue;
    }
    copy[key] = carryDroppedKeywords(value);
    const extension = carried[key];
    // Only keyword positions hold plain values: the value of a property that is named like a keyword is a schema.
    if (extension !== undefined && typeof value !== 'object') copy[extension] = value;
  }
  return copy;
}

/**
 * `oneOf` of `required` lists with one name each: exactly one of these properties is required. The generator would turn it
 * into an intersection of types, which cannot be strict.
 */
const exactlyOneExtension = 'x-keep-exactly-one';

function requiredAlternatives(oneOf: unknown): string[] | undefined {
  if (!Array.isArray(oneOf)) return undefined;
  const names = oneOf.map((alternative: unknown) => {
    if (typeof alternative !== 'object' || alternative === null || Object.keys(alternative).join() !== 'required') return [];
    const { required } = alternative as { required: unknown };
    return Array.isArray(required) && required.length === 1 ? required : [];
  });
  return names.length > 0 && names.every(([name]) => typeof name === 'string') ? names.map(([name]) => String(name)) : undefined;
}

export interface KeptKeywords {
  maxProperties?: number;
  minProperties?: number;
  uniqueItems?: boolean;
  /** names of properties; exactly one of them is required */
  exactlyOne?: string[];
}

/** The keywords that `carryDroppedKeywords` kept of one schema of the intermediate model. */
export function keptKeywords(schema: object): KeptKeywords {
  const kept: KeptKeywords = {};
  const max: unknown = Reflect.get(schema, 'x-keep-max-properties');
  const min: unknown = Reflect.get(schema, 'x-keep-min-properties');
  if (typeof max === 'number') kept.maxProperties = max;
  if (typeof min === 'number') kept.minProperties = min;
  if (Reflect.get(schema, 'x-keep-unique-items') === true) kept.uniqueItems = true;
  const names: unknown = Reflect.get(schema, exactlyOneExtension);
  if (Array.isArray(names)) kept.exactlyOne = names.map(String);
  return kept;
}

/**
 * Keywords of JSON Schema that the generator's intermediate model drops. They pass through it as extensions, which it keeps,
 * and the zod resolvers (zod.ts) read them back.
 */
const carried: Readonly<Record<string, string>> = {
  maxProperties: 'x-keep-max-properties',
  minProperties: 'x-keep-min-properties',
  uniqueItems: 'x-keep-unique-items',
};

/** A deep copy of the document, with each dropped keyword beside its extension, and integers without their size. */
export function carryDroppedKeywords(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(carryDroppedKeywords);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Record<string, unknown> = {};
  const alternatives = exactlyOne(node);
  if (alternatives !== undefined) copy[exactlyOneExtension] = alternatives;
  for (const [key, value] of Object.entries(node)) {
    if (alternatives !== undefined && conditional.has(key)) continue;
    if (key === 'not' && isAlwaysTrue(node)) {
      copy['const'] = true;
      continue;
    }
    const affirmed = key === 'not' ? doubleNegation(node) : undefined;
    if (affirmed !== undefined) {
      Object.assign(copy, carryDroppedKeywords(affirmed));
      continue;
    }
    // The generator makes a bigint of it. JSON.parse returns numbers, and no integer of the API is larger than they can hold.
    if (key === 'format' && value === 'int64') continue;
    copy[key] = carryDroppedKeywords(value);
    const extension = carried[key];
    // Only keyword positions hold plain values: the value of a property that is named like a keyword is a schema.
    if (extension !== undefined && typeof value !== 'object') copy[extension] = value;
  }
  return copy;
}

/** `if`, `then` and `else` that require exactly one of two properties; the generator does not know these keywords. */
const exactlyOneExtension = 'x-keep-exactly-one';
const conditional: ReadonlySet<string> = new Set(['if', 'then', 'else']);

/** The names of two properties if the schema says: if the first one is present, not the second one, else the second one. */
export function exactlyOne(schema: object): string[] | undefined {
  const { if: condition, then, else: otherwise } = schema as Conditional;
  const [first, second] = [condition, otherwise].map((part) => part?.required?.[0]);
  if (first === undefined || second === undefined || then?.not?.required?.[0] !== second) return undefined;
  return [first, second];
}

/** Whether the schema is a boolean that is not false; the generator does not know `not`. */
export function isAlwaysTrue(schema: object): boolean {
  const { type, not } = schema as { type?: unknown; not?: { const?: unknown } };
  return type === 'boolean' && not?.const === false;
}

/** What a schema says by `not: { not: … }`: the same as without both. Generators ignore it there. */
export function doubleNegation(schema: object): object | undefined {
  return (schema as { not?: { not?: object } }).not?.not;
}

interface Conditional {
  if?: Requirement;
  then?: { not?: Requirement };
  else?: Requirement;
}

interface Requirement {
  required?: string[];
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

/** What a text must be that does not match the schema's `pattern`: the second half of a sentence for people (`must be …`). */
export function patternMessage(schema: object): string | undefined {
  const message: unknown = Reflect.get(schema, 'x-pattern-message');
  return typeof message === 'string' ? message : undefined;
}

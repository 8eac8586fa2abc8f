/** A schema as a list of its fields. */
import { escapeHtml } from '../html.ts';
import { resolve, type Schema } from './contract.ts';

type Render = (markdown: string) => string;

const code = (value: unknown) => `<code>${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value))}</code>`;

/** The variants of a value: of `anyOf`, `oneOf`, or a list of types. A format beside such a list is not that of `null`. */
function variantsOf(schema: Schema): Schema[] {
  const { anyOf, oneOf, type } = schema;
  const variants = anyOf ?? oneOf;
  if (variants !== undefined) return variants.map(resolve);
  if (!Array.isArray(type)) return [schema];
  return type.map((one) => (one === 'null' ? { type: one } : { ...schema, type: one }));
}

function typeName(schema: Schema): string {
  const names = variantsOf(schema).map((variant) => {
    if (variant.type === 'array') return `array of ${typeName(resolve(variant.items ?? {}))}`;
    if (variant.const !== undefined) return JSON.stringify(variant.const);
    return `${String(variant.type ?? (variant.properties === undefined ? 'any' : 'object'))}${variant.format === undefined ? '' : ` (${variant.format})`}`;
  });
  return [...new Set(names)].join(' or ');
}

function limitsOf(schema: Schema): string[] {
  const limits: string[] = [];
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, maxProperties } = schema;
  if (minimum !== undefined) limits.push(`at least ${minimum}`);
  if (exclusiveMinimum !== undefined) limits.push(`more than ${exclusiveMinimum}`);
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) limits.push(`at most ${maximum}`);
  if ((minLength ?? 0) > 1) limits.push(`at least ${minLength} characters`);
  if (maxLength !== undefined) limits.push(`at most ${maxLength} characters`);
  if ((minItems ?? 0) > 0) limits.push(`at least ${minItems} ${minItems === 1 ? 'item' : 'items'}`);
  if (maxItems !== undefined) limits.push(`at most ${maxItems} items`);
  if (maxProperties !== undefined) limits.push(`at most ${maxProperties} names`);
  return limits;
}

/** Values, limits, and the default or else the example, in one line. */
function rulesOf(schema: Schema, example: unknown): string {
  const variants = variantsOf(schema);
  const values = variants.flatMap((variant) => variant.enum ?? resolve(variant.items ?? {}).enum ?? []).filter((value) => value !== null);
  const limits = [...new Set(variants.flatMap(limitsOf))];
  const parts = [
    ...(values.length > 0 ? [`One of ${values.map(code).join(', ')}.`] : []),
    ...(limits.length > 0 ? [`${limits.join(', ').replace(/^./, (letter) => letter.toUpperCase())}.`] : []),
    ...(schema.default === undefined ? [] : [`Default: ${code(schema.default)}.`]),
    ...(example === undefined || values.length > 0 || schema.default !== undefined ? [] : [`Example: ${code(example)}.`]),
  ];
  return parts.length === 0 ? '' : `<p class="rules">${parts.join(' ')}</p>`;
}

/** The part of a value that has fields. */
function objectOf(schema: Schema): Schema | undefined {
  for (const variant of variantsOf(schema)) {
    if (variant.properties !== undefined) return variant;
    const items = variant.items === undefined ? undefined : objectOf(resolve(variant.items));
    if (items !== undefined) return items;
  }
  return undefined;
}

interface Field {
  name: string;
  schema: Schema;
  note?: string;
  /** where the parameter is sent */
  location?: string;
  /** of a parameter; bodies have whole examples */
  example?: unknown;
}

function field({ name, schema: unresolved, note, location, example }: Field, render: Render, depth: number): string {
  const schema = resolve(unresolved);
  const inner = objectOf(schema);
  // No schema of the contract contains itself; the limit is a safeguard.
  const fields = inner === undefined || depth > 6 ? '' : `<details><summary>Fields of ${code(name)}</summary>${fieldList(inner, render, depth + 1)}</details>`;
  const mark = note === undefined ? '' : ` <span class="note">${note}</span>`;
  const text = schema.description === undefined ? '' : render(schema.description);
  return `<div><dt>${code(name)} <span class="type">${escapeHtml(typeName(schema))}${location === undefined ? '' : `, ${location}`}</span>${mark}</dt><dd>${text}${rulesOf(schema, example)}${fields}</dd></div>`;
}

function fieldList(schema: Schema, render: Render, depth = 0): string {
  const { properties = {}, required = [] } = schema;
  // The contract uses conditions only for "exactly one of two".
  const choice = [schema.if, schema.else].flatMap((part) => part?.required ?? []);
  const noteOf = (name: string) => (required.includes(name) ? 'required' : choice.includes(name) ? 'one of these is required' : undefined);
  const fields = Object.entries(properties).map(([name, property]) => {
    const note = noteOf(name);
    return field({ name, schema: property, ...(note === undefined ? {} : { note }) }, render, depth);
  });
  return `<dl class="fields">${fields.join('')}</dl>`;
}

/** Describes a body: its fields, or its type if it has none. */
export function schemaHtml(unresolved: Schema, render: Render): string {
  const schema = resolve(unresolved);
  const inner = objectOf(schema);
  return inner === undefined ? `<p class="rules">${escapeHtml(typeName(schema))}</p>` : fieldList(inner, render);
}

export function parameterList(parameters: readonly (Field & { description?: string | undefined })[], render: Render): string {
  const fields = parameters.map(({ description, schema, ...rest }) => {
    const described = description === undefined ? schema : { ...schema, description };
    return field({ ...rest, schema: described }, render, 0);
  });
  return `<dl class="fields">${fields.join('')}</dl>`;
}

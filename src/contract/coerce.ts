/** Converts the text of query parameters to numbers and booleans by their schema, before validation. */
import { z } from 'zod';

export type QueryKind = 'number' | 'boolean' | 'array';

// Texts that JSON would read as the same number; "1e400", "0x10", " 5" and "" stay text and are refused.
const numberText = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/;

function coerce(value: unknown, kind: QueryKind): unknown {
  if (kind === 'array') return Array.isArray(value) ? value : [value];
  if (typeof value !== 'string') return value;
  if (kind === 'number') return numberText.test(value) ? Number(value) : value;
  return value === 'true' ? true : value === 'false' ? false : value;
}

type CoercedQuery<Shape extends z.ZodRawShape> = z.ZodPipe<
  z.ZodTransform<unknown, unknown>,
  z.ZodObject<Shape, z.core.$strict>
>;

function coerceAll(query: unknown, kinds: Readonly<Record<string, QueryKind>>): unknown {
  if (typeof query !== 'object' || query === null) return query;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
      return [name, kind === undefined ? value : coerce(value, kind)];
    }),
  );
}

/**
 * `schema` with each parameter named in `kinds` coerced first; parameters that the schema does not name are refused.
 * A repeated parameter arrives as an array and is refused unless the schema wants one.
 */
export function coercedQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  kinds: Readonly<Record<string, QueryKind>>,
): CoercedQuery<Shape> {
  // A preprocess is a pipe after a transform; @hono/zod-openapi's types know it only as a pipe.
  return z.preprocess((query) => coerceAll(query, kinds), schema.strict()) as unknown as CoercedQuery<Shape>;
}

/** The sentence of each pattern of openapi.yaml that a caller can fail: `x-pattern-message`, and never the regular expression. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from '../../src/contract/routes.gen.ts';
import { pathError, validationError } from '../../src/http/validation.ts';
import { errorOf, makeApi } from '../helpers/http.ts';
import { operations } from '../helpers/http-contract.ts';

interface Texts {
  name: string;
  schema: z.core.$ZodType;
}

const hasPattern = (schema: z.core.$ZodType) =>
  (schema._zod.def.checks ?? []).some(({ _zod: { def } }) => 'format' in def && def.format === 'regex');

/** The texts with a pattern inside a schema, names of properties included. */
function patternsIn(schema: z.core.$ZodType, name: string): Texts[] {
  const def: object = schema._zod.def;
  const part = (key: string): unknown => Reflect.get(def, key);
  const own = hasPattern(schema) ? [{ name, schema }] : [];
  const inner = ['innerType', 'element', 'keyType', 'valueType', 'in', 'out'].map((key) => [`${name}.${key}`, part(key)] as const);
  const options = ((part('options') ?? []) as unknown[]).map((option) => [name, option] as const);
  const fields = Object.entries((part('shape') ?? {}) as object).map(([key, field]) => [`${name}.${key}`, field as unknown] as const);
  const parts = [...inner, ...options, ...fields].filter(([, found]) => found instanceof z.core.$ZodType);
  return [...own, ...parts.flatMap(([at, found]) => patternsIn(found as z.core.$ZodType, at))];
}

type Request = Partial<Record<'query' | 'headers', z.core.$ZodType>> & { body?: { content: Record<string, { schema: z.core.$ZodType }> } };

/** What a caller sends, apart from the parts of a path: a path with an invalid one leads nowhere, and no sentence says more. */
const sent = operations.flatMap(({ id, path }) => {
  const { query, headers, body }: Request = (routes[id as keyof typeof routes] as { request?: Request }).request ?? {};
  const json = Object.values(body?.content ?? {}).map(({ schema }) => ['json', schema] as const);
  const parts = [['query', query] as const, ['header', headers] as const, ...json];
  return parts.flatMap(([target, schema]) => {
    if (schema === undefined || pathError(path, target) !== undefined) return [];
    return patternsIn(schema, `${id} ${target}`).map((text) => ({ ...text, target }));
  });
});

describe('a pattern of a request', () => {
  it('is found in queries, headers, bodies, lists and names', () => {
    const names = sent.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'listJobs query.out.metadata.innerType',
        'createJob header.Idempotency-Key.innerType',
        'createJob json.metadata.innerType.keyType',
        'createPreview json.settings.element.model.innerType',
      ]),
    );
    expect(names.length).toBeGreaterThan(80);
  });

  it.each(sent)('$name has a plain sentence', ({ schema, target }) => {
    // Of a length that every bound allows.
    const data = { field: '\0'.repeat(20) };
    const { error } = z.object({ field: schema as z.ZodType }).safeParse(data);
    const { message } = validationError({ target, data, error: error! });
    expect(message).toMatch(/ "field" must .+[a-zA-Z0-9"]\.$/);
    expect(message).not.toMatch(/\/\^|\\|\0/);
    expect(message.length).toBeLessThan(200);
  });
});

describe('a refusal says what a value must be', () => {
  it.each([
    ['/v1/jobs?metadata=a', 'The query parameter "metadata" must be a name of 1 to 40 letters, digits, "_", "." and "-", then "=" and a value without NUL characters, such as order=A-1001.'],
    ['/v1/jobs?starting_after=7', 'The query parameter "starting_after" must be the id of a job, such as job_01jdq4s9xkf5v8t2m6w0c3rhbz.'],
    ['/v1/jobs?created_after=2026-11-21T07:59Z', 'The query parameter "created_after" must be a time, such as 2026-11-21T07:59:55Z.'],
    ['/v1/usage?from=0001-01-01', 'The query parameter "from" must be a day, such as 2026-11-21.'],
    ['/v1/request-log?status=40', 'The query parameter "status" must be a status such as 404, or a class of statuses such as 4xx.'],
  ])('%s', async (path, message) => {
    const api = makeApi();
    const response = await api.request(path);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toBe(message);
  });
});

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as zod from '../../src/contract/zod.gen.ts';
import { coercedQuery } from '../../src/contract/coerce.ts';
import { carryDroppedKeywords } from '../../src/contract/plugin/keywords.ts';
import { routes } from '../../src/contract/routes.gen.ts';
import { statusByCode, typeByStatus } from '../../src/http/problem.ts';
import { testModeScenarios } from '../../src/domain/test-mode.ts';
import { jobErrorCodes, requestErrorCodes } from '../../src/domain/errors.ts';
import { maxUrlLength } from '../../src/domain/urls.ts';
import { document, operations, validatorOf } from '../helpers/http-contract.ts';
import { hangMs } from '../helpers/wait.ts';

const root = join(import.meta.dirname, '../..');
const schemas = document['components']!['schemas']!;
/** A part of the document as a value. */
const plain = (value: unknown): unknown => value;

describe('generated code', () => {
  it('is what openapi.yaml generates', () => {
    const output = execFileSync(join(root, 'scripts/generate'), ['--check'], { encoding: 'utf8', timeout: hangMs });
    expect(output).toMatch(/generated files are up to date/);
  });

  it('carries a banner', () => {
    for (const path of [
      'src/contract/routes.gen.ts',
      'src/contract/zod.gen.ts',
      'src/sdk/sdk.gen.ts',
      'src/sdk/client/client.gen.ts',
    ]) {
      expect(readFileSync(join(root, path), 'utf8')).toMatch(/^\/\/ Generated from openapi\.yaml/);
    }
    expect(readFileSync(join(root, 'src/contract/routes.gen.ts'), 'utf8')).not.toContain('@ts-nocheck');
  });

  it('has one route per operation, with its method, and secures what the document secures', () => {
    expect(Object.keys(routes).sort()).toEqual(operations.map(({ id }) => id).sort());
    for (const { id, method, path, statuses } of operations) {
      const route = routes[id as keyof typeof routes];
      expect(route.method).toBe(method);
      expect(Object.keys(route.responses).sort()).toEqual([...statuses].sort());
      const own = plain(document['paths']![path]![method]!['security']);
      expect(route.security).toEqual(own ?? [{ apiKey: [] }]);
    }
  });
});

describe('every operation', () => {
  const byId = operations.map((operation) => [operation.id, operation] as const);

  it.each(byId)('%s has a summary, a description, and codes in each refusal', (_id, { method, path, statuses }) => {
    const operation = document['paths']![path]![method]!;
    for (const field of ['summary', 'description', 'tags']) expect(operation[field], field).toBeDefined();
    for (const status of statuses.filter((code) => Number(code) >= 400)) {
      const response = operation['responses']![status]!;
      const reference = plain(response['$ref']);
      const resolved =
        typeof reference === 'string' ? document['components']!['responses']![reference.split('/').at(-1)!]! : response;
      expect(String(resolved['description']), status).toMatch(/Codes?: `/);
    }
  });
});

/** A response, parameter or example, wherever it stands. */
function resolved(node: typeof document): typeof document {
  const reference = plain(node['$ref']);
  if (typeof reference !== 'string') return node;
  return reference.slice(2).split('/').reduce((at, step) => at[step]!, document);
}

describe('examples', () => {
  const byId = operations.map((operation) => [operation.id, operation] as const);
  const shown = ['application/json', 'application/yaml', 'text/event-stream', 'text/html'];

  it.each(byId)('%s has one in its body and in every response, files apart', (_id, { method, path }) => {
    const operation = document['paths']![path]![method]!;
    const bodies = operation['requestBody'] === undefined ? {} : { body: operation['requestBody'] };
    for (const [name, part] of Object.entries({ ...bodies, ...operation['responses']! })) {
      for (const [type, media] of Object.entries(resolved(part)['content'] ?? {})) {
        if (!shown.includes(type)) continue;
        expect(Object.keys(media['examples'] ?? {}).length, `${name} ${type}`).toBeGreaterThan(0);
      }
    }
  });

  it.each(byId)('%s shows no code that its description does not name, and none of another status', (_id, operation) => {
    const { method, path, statuses } = operation;
    for (const status of statuses.filter((code) => Number(code) >= 400)) {
      const response = resolved(document['paths']![path]![method]!['responses']![status]!);
      for (const example of Object.values(response['content']!['application/json']!['examples']!)) {
        const { error } = plain(resolved(example)['value']) as { error: { code: string; type: string } };
        expect(String(response['description'])).toContain(`\`${error.code}\``);
        expect(statusByCode[error.code as keyof typeof statusByCode], error.code).toBe(Number(status));
        expect(error.type, error.code).toBe(typeByStatus[Number(status)]);
      }
      const named = [...String(response['description']).matchAll(/`([a-z_]+)`/g)].map(([, code]) => code!);
      const codes = named.filter((code) => Object.hasOwn(statusByCode, code));
      for (const code of codes) expect(statusByCode[code as keyof typeof statusByCode], code).toBe(Number(status));
    }
  });
});

describe('the document and the code name the same things', () => {
  it('error codes', () => {
    const detail = schemas['ErrorDetail']!['properties']!;
    expect(plain(detail['code']!['enum'])).toEqual(expect.arrayContaining([...requestErrorCodes]));
    expect(plain(detail['code']!['enum'])).toHaveLength(requestErrorCodes.length);
    expect(plain(schemas['JobError']!['properties']!['code']!['enum'])).toEqual(
      expect.arrayContaining([...jobErrorCodes]),
    );
  });

  it('the scenarios of test mode', () => {
    const described = String((document as unknown as { info: { description: string } }).info.description);
    const named = [...described.matchAll(/`(\w+)\.\*`/g)].map(([, name]) => name!);
    expect(named.sort()).toEqual([...testModeScenarios].sort());
  });

  it('the length of a URL', () => {
    expect(plain(schemas['PublicUrl']!['maxLength'])).toBe(maxUrlLength);
  });

  it('examples that fit their schemas', () => {
    let examples = 0;
    const walk = (node: unknown): void => {
      if (Array.isArray(node)) node.forEach(walk);
      if (typeof node !== 'object' || node === null) return;
      const media = node as typeof document;
      if (media['schema'] !== undefined && media['examples'] !== undefined) {
        for (const example of Object.values(media['examples'])) {
          const reference = plain(example['$ref']);
          const value =
            typeof reference === 'string'
              ? document['components']!['examples']![reference.split('/').at(-1)!]!
              : example;
          const result = validatorOf(media['schema']).safeParse(plain(value['value']));
          expect(result.success ? '' : z.prettifyError(result.error)).toBe('');
          examples += 1;
        }
      }
      Object.values(node).forEach(walk);
    };
    walk(document);
    expect(examples).toBeGreaterThan(20);
  });

  it('webhooks without references to parameters, and with a tag of their own: openapi-generator cannot read them otherwise', () => {
    const tagsOf = (part: string) => Object.values(document[part]!).flatMap((item) => Object.values(item).flatMap((node) => plain(node['tags']) ?? []));
    const ofPaths = new Set(tagsOf('paths'));
    for (const tag of tagsOf('webhooks')) expect(ofPaths).not.toContain(tag);
    for (const item of Object.values(document['webhooks']!)) {
      for (const parameter of Object.values(item['post']!['parameters']!)) expect(parameter).not.toHaveProperty('$ref');
    }
  });

  it('integers that may need more than 32 bits with their size: Go, Java, C# and Rust take 32 otherwise', () => {
    const tooSmall: string[] = [];
    const walk = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { type, maximum, format, const: only } = node as { type?: unknown; maximum?: number; format?: string; const?: number };
      if ([type].flat().includes('integer') && format !== 'int64' && !((maximum ?? only ?? Infinity) < 2 ** 31)) tooSmall.push(path);
      for (const [key, part] of Object.entries(node)) walk(part, `${path}/${key}`);
    };
    walk(document, '');
    expect(tooSmall).toEqual([]);
  });

  it('no pattern of times and days, which clients in PHP and C# compare with the parsed value', () => {
    const compared: string[] = [];
    const walk = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { format, pattern } = node as { format?: string; pattern?: unknown };
      if (['date', 'date-time'].includes(String(format)) && pattern !== undefined) compared.push(path);
      for (const [key, part] of Object.entries(node)) walk(part, `${path}/${key}`);
    };
    walk(document, '');
    expect(compared).toEqual([]);
  });

  it('no schema that openapi-generator also calls the test of another one, which does not compile in Java and Kotlin', () => {
    for (const name of Object.keys(schemas)) expect(schemas).not.toHaveProperty(`${name}Test`);
  });

  it('no integer that the service or the SDK reads as a big one', () => {
    for (const path of ['src/contract/types.gen.ts', 'src/contract/zod.gen.ts', 'src/sdk/types.gen.ts']) {
      expect(readFileSync(join(root, path), 'utf8'), path).not.toMatch(/bigint/i);
    }
  });
});

describe('what generators usually drop', () => {
  it('additionalProperties: false is strict', () => {
    for (const [name, schema] of Object.entries(schemas)) {
      if (plain(schema['additionalProperties']) !== false) continue;
      const generated = Reflect.get(zod, `z${name}`) as z.ZodType;
      const issues = generated.safeParse({ 'no such field': 1 }).error?.issues ?? [];
      expect(
        issues.map(({ code }) => code),
        name,
      ).toContain('unrecognized_keys');
    }
  });

  it('maxProperties and propertyNames hold', () => {
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
    expect(zod.zMetadataInput.safeParse(pairs(20)).success).toBe(true);
    expect(zod.zMetadataInput.safeParse(pairs(21)).success).toBe(false);
    expect(zod.zMetadataInput.safeParse({ 'no spaces': 'v' }).success).toBe(false);
  });

  it('minLength and maxLength count characters, not units of UTF-16', () => {
    const password = (text: string) => zod.zConsoleSignUpInput.safeParse({ email: 'a@example.com', password: text });
    const lengths = [
      [1, false],
      [6, false],
      [11, false],
      [12, true],
      [101, true],
      [200, true],
      [201, false],
    ] as const;
    for (const [length, fits] of lengths) {
      for (const character of ['x', 'ß', '語', '😀']) {
        expect(password(character.repeat(length)).success, `${length} × ${character}`).toBe(fits);
      }
    }
    expect(password('😀'.repeat(11)).error?.issues).toMatchObject([
      { code: 'too_small', minimum: 12, origin: 'string', path: ['password'] },
    ]);
  });

  it.each(['JobInput', 'PreviewInput'] as const)('%s has exactly one of video_url and upload_id', (name) => {
    const fields = { video_url: 'https://media.example.com/a.mp4', upload_id: 'upl_01jdq4s9xkf5v8t2m6w0c3rhbz' };
    const rest = { JobInput: { resolution: '1080p' }, PreviewInput: { settings: [{ resolution: '1080p' }] } }[name];
    const { video_url, upload_id } = fields;
    for (const schema of [zod[`z${name}`], validatorOf(schemas[name]!)]) {
      expect(schema.safeParse({ ...rest, video_url }).success).toBe(true);
      expect(schema.safeParse({ ...rest, upload_id }).success).toBe(true);
      expect(schema.safeParse({ ...rest, ...fields }).success).toBe(false);
      expect(schema.safeParse(rest).success).toBe(false);
    }
  });

  it.each(['UploadDeletion', 'WebhookEndpointDeletion', 'PreviewDeletion', 'JobDeletion', 'DeletedJob'] as const)('%s is never "deleted": false', (name) => {
    const { deleted } = schemas[name]!['properties']!;
    for (const schema of [zod[`z${name}`].shape.deleted, validatorOf(deleted!)]) {
      expect(schema.safeParse(true).success).toBe(true);
      expect(schema.safeParse(false).success).toBe(false);
    }
  });

  it.each([
    ['Timestamp', '2026-11-21T07:59:55.120Z', '2026-11-21T07:59:55Z'],
    ['Time', '2026-11-21T07:59:55+01:00', '2026-11-21T07:59Z'],
    ['Day', '2026-11-21', '0001-01-01'],
  ] as const)('%s has its pattern', (name, valid, invalid) => {
    for (const schema of [zod[`z${name}`], validatorOf(schemas[name]!)]) {
      expect(schema.safeParse(valid).success).toBe(true);
      expect(schema.safeParse(invalid).success).toBe(false);
    }
  });

  it('keywords are carried beside, and properties that are named like them are left alone', () => {
    expect(carryDroppedKeywords({ type: 'array', uniqueItems: true, items: [{ minProperties: 1 }] })).toEqual({
      type: 'array',
      uniqueItems: true,
      'x-keep-unique-items': true,
      items: [{ minProperties: 1, 'x-keep-min-properties': 1 }],
    });
    const properties = { maxProperties: { type: 'integer' } };
    expect(carryDroppedKeywords({ properties })).toEqual({ properties });
  });

  it('numbers, booleans and arrays are read out of query strings, and nothing else', () => {
    const schema = coercedQuery(
      z.object({
        n: z.number().optional(),
        b: z.boolean().optional(),
        a: z.array(z.string()).optional(),
        s: z.string().optional(),
      }),
      { n: 'number', b: 'boolean', a: 'array' },
    );
    const accepted = [
      [{ n: '5' }, { n: 5 }],
      [{ n: '-1.5' }, { n: -1.5 }],
      [{ b: 'true' }, { b: true }],
      [{ b: 'false' }, { b: false }],
      [{ a: 'x' }, { a: ['x'] }],
      [{ a: ['x', 'y'] }, { a: ['x', 'y'] }],
      [{ s: '5' }, { s: '5' }],
    ] as const;
    for (const [query, value] of accepted) expect(schema.parse(query)).toEqual(value);
    const refused = [
      { n: '' },
      { n: ' 5' },
      { n: '5 ' },
      { n: '0x5' },
      { n: '1e3' },
      { n: '05' },
      { n: 'NaN' },
      { b: '1' },
      { b: 'TRUE' },
      { s: ['a', 'b'] },
      { other: '1' },
    ];
    for (const query of refused) expect(schema.safeParse(query).success, JSON.stringify(query)).toBe(false);
  });
});

describe('the pattern of URLs', () => {
  it('does not check how a host is written; the guard does, after the URL parser', () => {
    const urls = [
      'https://media.example.com/holiday.mp4',
      'http://example.com',
      'HTTPS://EXAMPLE.COM/A?b=c#d',
      'http://my_bucket.s3.example.com:8080/x/y.mov?sig=%2F',
      'http://127.0.0.1:65535/a',
      'http://localhost/a',
      'https://xn--bcher-kva.example/v.mp4',
      'https://bücher.example/v.mp4',
      'https://example.com./v.mp4',
      'https://[2606:4700::1111]/v.mp4',
      'https://[2606:4700::1111]:8443/v.mp4',
      'https://example.com/Zürich/视频.mp4',
      'https://example.com?x',
    ];
    for (const url of urls) {
      expect(zod.zPublicUrl.safeParse(url).success, url).toBe(true);
      expect(() => new URL(url)).not.toThrow();
    }
    for (const url of ['ftp://example.com/', 'example.com/a.mp4', 'http://a b/c', 'http://a.example/\n']) {
      expect(zod.zPublicUrl.safeParse(url).success, url).toBe(false);
    }
  });
});

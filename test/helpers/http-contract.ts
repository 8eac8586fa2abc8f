/**
 * Checks responses against openapi.yaml itself, not against generated code: status, content type, required headers and body.
 * The body must not contain undocumented fields.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { doubleNegation, exactlyOne, isAlwaysTrue } from '../../src/contract/plugin/keywords.ts';
import { recordStatus } from './seen-statuses.ts';

type Json = Record<string, unknown>;
/** Any part of the document; leaves are read through `unknown`. */
interface Node {
  [key: string]: Node;
}

export const descriptionText = readFileSync(join(import.meta.dirname, '../../openapi.yaml'), 'utf8');
export const document = parse(descriptionText) as Node;

const httpMethods = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']);

export interface Operation {
  id: string;
  method: string;
  path: string;
  statuses: string[];
}

export const operations: Operation[] = Object.entries(document['paths']!).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => httpMethods.has(method))
    .map(([method, operation]) => ({
      id: String(operation['operationId']),
      method,
      path,
      statuses: Object.keys(operation['responses']!),
    })),
);

function resolve(node: Node): Node {
  const reference: unknown = node['$ref'];
  if (typeof reference !== 'string') return node;
  const steps = reference.slice(2).split('/');
  return resolve(steps.reduce((at, step) => at[step]!, document));
}

/** JSON Schema with the document's components as `$defs`. Objects without `additionalProperties` allow no other fields. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  // zod's converter reads `required` only together with `properties`.
  if (Object.keys(node).join() === 'required') {
    const names = (node as { required: string[] }).required;
    return { type: 'object', ...node, properties: Object.fromEntries(names.map((name) => [name, {}])), additionalProperties: true };
  }
  // zod's converter knows no `not` and no `if`.
  if (isAlwaysTrue(node)) return { type: 'boolean', const: true };
  const affirmed = doubleNegation(node);
  if (affirmed !== undefined) {
    const { not: _not, ...rest } = node as Json;
    return closed({ ...rest, ...affirmed });
  }
  const alternatives = exactlyOne(node);
  if (alternatives !== undefined) {
    const { if: _condition, then: _then, else: _else, ...rest } = node as Json;
    return closed({ ...rest, oneOf: alternatives.map((name) => ({ required: [name] })) });
  }
  const copy: Json = {};
  for (const [key, value] of Object.entries(node)) {
    copy[key] =
      key === '$ref'
        ? String(value).replace('#/components/schemas/', '#/$defs/')
        : key === 'examples'
          ? []
          : closed(value);
  }
  if (copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined) {
    copy['additionalProperties'] = false;
  }
  return copy;
}

const definitions = closed(document['components']!['schemas']) as Json;
const compiled = new Map<object, z.ZodType>();

/** The validator of a schema of the document. */
export function validatorOf(schema: Node): z.ZodType {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validator = z.fromJSONSchema({ ...(closed(schema) as Json), $defs: definitions } as never);
  compiled.set(schema, validator);
  return validator;
}

function operationOf(method: string, path: string): { template: string; operation: Node | undefined } | undefined {
  for (const [template, item] of Object.entries(document['paths']!)) {
    const pattern = template
      .replace('/{key}', '/.+')
      .replace(/\{[^}]+\}/g, '[^/]+')
      .replaceAll('.json', '\\.json');
    if (new RegExp(`^${pattern}$`).test(path)) {
      return { template, operation: item[method === 'head' ? 'get' : method] };
    }
  }
  return undefined;
}

function expectedResponse(method: string, path: string, status: number): Node {
  const found = operationOf(method, path);
  const own = found?.operation?.['responses']?.[String(status)];
  if (own !== undefined) {
    // HEAD has the same statuses, but only tests of GET count.
    if (method !== 'head') recordStatus(String(found!.operation!['operationId']), status);
    return resolve(own);
  }
  // No operation has this path, or none has this method for it.
  const outside = found === undefined ? status === 404 : found.operation === undefined && status === 405;
  if (outside) {
    const description = '`not_found` or `method_not_allowed`' as unknown as Node;
    return { ...document['components']!['responses']!['InternalError']!, description };
  }
  throw new Error(`${method.toUpperCase()} ${path} answered ${status}, which openapi.yaml does not document`);
}

function checkHeaders(response: Response, headers: Node): void {
  for (const [name, reference] of Object.entries(headers)) {
    const header = resolve(reference);
    const value = response.headers.get(name);
    if (value === null) {
      if ((header['required'] as unknown) === true) throw new Error(`the response lacks the header ${name}`);
      continue;
    }
    const schema = resolve(header['schema']!);
    const typed = (schema['type'] as unknown) === 'integer' ? Number(value) : value;
    validatorOf(schema).parse(typed);
  }
}

/** Checks that an error links to the documentation of its code, and that openapi.yaml names the code for this response. */
function checkCode(expected: Node, body: unknown, where: string): void {
  const { error } = body as { error?: { code?: string; doc_url?: string } | null };
  if (typeof error?.code !== 'string') return;
  if (error.doc_url?.endsWith(`/docs/errors#${error.code}`) !== true) throw new Error(`${where} answered "${error.code}" with the doc_url ${error.doc_url}`);
  if (String(expected['description']).includes(`\`${error.code}\``)) return;
  throw new Error(`${where} answered "${error.code}", which openapi.yaml does not name there`);
}

/** Throws unless the response is one that openapi.yaml documents for the request. Reads a copy of the body. */
export async function checkResponse(method: string, path: string, response: Response): Promise<void> {
  const lower = method.toLowerCase();
  if (lower === 'options') return;
  const expected = expectedResponse(lower, path, response.status);
  checkHeaders(response, expected['headers'] ?? {});
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
  if (expected['content'] === undefined) {
    if (type !== '' || (await response.clone().text()) !== '') throw new Error(`${response.status} has content, which openapi.yaml does not document`);
    return;
  }
  const media = expected['content'][type];
  if (media === undefined) throw new Error(`${response.status} has the undocumented content type "${type}"`);
  if (lower === 'head' || type !== 'application/json') return;
  const body: unknown = await response.clone().json();
  if (response.status >= 400) checkCode(expected, body, `${method} ${path} ${response.status}`);
  const result = validatorOf(media['schema']!).safeParse(body);
  if (!result.success) {
    throw new Error(`${method} ${path} ${response.status} breaks openapi.yaml: ${z.prettifyError(result.error)}`);
  }
}

/** Like `fetch`, but throws unless openapi.yaml documents the response. For tests against a real service. */
export async function checkedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  await checkResponse(init.method ?? 'GET', new URL(url).pathname, response);
  return response;
}

/** openapi.yaml for the reference: without the console's operations, with references resolved. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { withoutTag } from '../../contract/plugin/audience.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  if?: Schema;
  else?: Schema;
  additionalProperties?: boolean | Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

export interface Example {
  summary?: string;
  value: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface Content {
  schema?: Schema;
  examples?: Record<string, Example>;
}

export interface Response {
  description: string;
  headers?: Record<string, { description?: string }>;
  content?: Record<string, Content>;
}

export interface Operation {
  id: string;
  tag: string;
  summary: string;
  description: string;
  method: string;
  /** or the name of the event, for webhooks */
  path: string;
  isWebhook: boolean;
  needsKey: boolean;
  parameters: Parameter[];
  body: { description?: string; content: Record<string, Content> } | undefined;
  responses: [status: string, response: Response][];
}

export interface Tag {
  name: string;
  description: string;
  operations: Operation[];
}

type Node = Record<string, unknown>;

interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Node>>;
  webhooks: Record<string, Record<string, Node>>;
  components: Record<string, Record<string, unknown>>;
}

const text = readFileSync(join(import.meta.dirname, '../../../openapi.yaml'), 'utf8');
const document = withoutTag(parse(text), 'Console') as Document;

export const { info } = document;

/** The referenced component; fields beside the reference override those of the component. */
export function resolve<T extends object>(node: T): T {
  const { $ref: reference, ...own } = node as { $ref?: string };
  if (reference === undefined) return node;
  const [, , kind, name] = reference.split('/');
  return { ...resolve(document.components[kind!]![name!] as T), ...own };
}

/** Examples of the events of a stream, as they are sent. */
export function streamOf(examples: readonly Example[]): string {
  const events = examples.map(({ value }) => value as { event: string; data: string });
  return events.map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`).join('');
}

/** The name of a referenced schema, which is also its type in the clients. */
export const nameOf = (schema: Schema | undefined): string | undefined => schema?.$ref?.split('/').at(-1);

const methods = new Set(['get', 'post', 'put', 'patch', 'delete']);

function resolvedContent(content: Record<string, Content> | undefined): Record<string, Content> {
  const entries = Object.entries(content ?? {}).map(([type, { examples = {}, ...rest }]) => {
    const resolved = Object.entries(examples).map(([name, example]) => [name, resolve(example)] as const);
    return [type, { ...rest, examples: Object.fromEntries(resolved) }] as const;
  });
  return Object.fromEntries(entries);
}

function operationOf(path: string, method: string, shared: unknown, isWebhook: boolean, node: Node): Operation {
  const own = (node['parameters'] ?? []) as Parameter[];
  const body = node['requestBody'] as Operation['body'];
  const responses = Object.entries(node['responses'] as Record<string, Response>).map(([status, response]): [string, Response] => {
    const resolved = resolve(response);
    return [status, { ...resolved, content: resolvedContent(resolved.content) }];
  });
  return {
    id: String(node['operationId']),
    tag: (node['tags'] as string[])[0]!,
    summary: String(node['summary']),
    description: String(node['description'] ?? ''),
    method: method.toUpperCase(),
    path,
    isWebhook,
    needsKey: !isWebhook && node['security'] === undefined,
    parameters: [...((shared ?? []) as Parameter[]), ...own].map(resolve),
    body: body === undefined ? undefined : { ...body, content: resolvedContent(body.content) },
    responses,
  };
}

function operationsOf(paths: Document['paths'], isWebhook: boolean): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, node]) => (methods.has(method) ? [operationOf(path, method, item['parameters'], isWebhook, node)] : [])),
  );
}

export const operations: readonly Operation[] = [...operationsOf(document.paths, false), ...operationsOf(document.webhooks, true)];

export const tags: readonly Tag[] = document.tags
  .map(({ name, description }) => ({ name, description, operations: operations.filter(({ tag }) => tag === name) }))
  .filter((tag) => tag.operations.length > 0);

/** Converts validation errors to an error with a code, a sentence and a JSON Pointer. */
import type { z } from 'zod';
import { ReelmendError, type RequestErrorCode } from '../domain/errors.ts';
import { problemOfText, urlNotAllowed } from '../domain/urls.ts';

type Target = 'json' | 'query' | 'param' | 'header' | 'cookie' | 'form';
type Issue = z.core.$ZodIssue;

export interface Refused {
  target: Target;
  /** returns the validated input unchanged */
  data: unknown;
  error: { issues: Issue[] };
}

const nouns: Readonly<Partial<Record<Target, string>>> = { query: 'query parameter', header: 'header' };

/** A path as JSON Pointer (RFC 6901). */
function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

/** The path of the issue. For an unknown field it includes the field's name. */
function pathOf(issue: Issue): readonly PropertyKey[] {
  if (issue.code === 'unrecognized_keys') return [...issue.path, ...issue.keys.slice(0, 1)];
  return issue.path;
}

/** `a`, `a or b`, `a, b or c` */
function either(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

/** The unit of a bound, by type. Numbers have none. */
const counted: Readonly<Record<string, string>> = { string: ' characters', array: ' items', set: ' items', file: ' bytes' };

function bound(issue: Extract<Issue, { code: 'too_big' | 'too_small' }>): string {
  const unit = counted[issue.origin] ?? '';
  const verb = unit === '' ? 'be' : 'have';
  const over = issue.inclusive === false ? 'more than' : 'at least';
  const [most, limit] = issue.code === 'too_big' ? ['at most', issue.maximum] : [over, issue.minimum];
  return `must ${verb} ${most} ${limit}${unit}`;
}

const oneOf = (values: readonly unknown[]) => `must be ${either(values.map((value) => JSON.stringify(value) ?? String(value)))}`;

/** Of the issues of all alternatives. The constants among these are listed together. */
function unionReason(issues: readonly Issue[]): string {
  const constants = issues.flatMap((issue) => (issue.code === 'invalid_value' ? issue.values : []));
  const reasons = issues.map((issue) => (issue.code === 'invalid_value' ? oneOf(constants) : reasonOf(issue)));
  return [...new Set(reasons)].join(', or ') || 'is not valid';
}

/** The contract's own words for a pattern (`x-pattern-message`). A regular expression is never shown. */
function formatReason(issue: Extract<Issue, { code: 'invalid_format' }>): string {
  if (issue.format === 'datetime') return 'must be a time, such as 2026-11-21T07:59:55Z';
  if (issue.format === 'date') return 'must be a day, such as 2026-11-21';
  if (issue.format === 'regex') return issue.message.startsWith('must ') ? issue.message : 'is not valid';
  return `must be a valid ${issue.format}`;
}

/** The second half of the sentence: what the field must be. */
function reasonOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'too_big':
    case 'too_small':
      return bound(issue);
    case 'invalid_format':
      return formatReason(issue);
    case 'invalid_union':
      return unionReason(issue.errors.flat());
    case 'invalid_key':
      return `has a name that is not allowed: it ${issue.issues.map(reasonOf)[0] ?? 'is not valid'}`;
    default:
      // Messages of the contract's own checks, without zod's prefix.
      return issue.message.replace(/^Invalid \w+: expected /, 'must have ');
  }
}

/** The names of properties, exactly one of them required, from the issue of that check (../contract/exactly-one.ts). */
function exactlyOneOf(issue: Issue): string[] | undefined {
  const names: unknown = issue.code === 'custom' ? issue.params?.['exactlyOne'] : undefined;
  return Array.isArray(names) ? names.map(String) : undefined;
}

function sentence(target: Target, name: string, issue: Issue, value: unknown): string {
  const noun = nouns[target] ?? 'field';
  const fields = exactlyOneOf(issue);
  if (fields !== undefined) return `Exactly one of the fields ${fields.map((field) => `"${field}"`).join(' and ')} is required.`;
  if (issue.code === 'unrecognized_keys') return `There is no ${noun} "${name}".`;
  if (value === undefined) return `The ${noun} "${name}" is required.`;
  // Of several values each may be valid.
  if (target === 'query' && Array.isArray(value)) return `The ${noun} "${name}" may occur only once.`;
  return `The ${noun} "${name}" ${reasonOf(issue)}.`;
}

const urlFields: ReadonlySet<string> = new Set(['/video_url', '/webhook_url', '/url']);

/** A malformed URL gets the same code as a private one: neither can be fetched. Nothing is said of the URL in a field that does not exist. */
function specialCase(issue: Issue, value: unknown, param: string): ReelmendError | undefined {
  if (exactlyOneOf(issue) !== undefined || issue.code === 'unrecognized_keys') return undefined;
  // The console sends the body of a job in the field `request`.
  const field = param.replace(/^\/request(?=\/)/, '');
  if (urlFields.has(field) && typeof value === 'string') {
    return urlNotAllowed(problemOfText(value), { param });
  }
  return undefined;
}

/** The error for the first issue of a body, a query or headers. */
export function validationError({ target, data, error }: Refused): ReelmendError {
  const issue = error.issues[0];
  if (issue === undefined) return new ReelmendError('invalid_request', 'The request is not valid.');
  const path = pathOf(issue);
  const param = jsonPointer(path);
  if (path.length === 0) {
    return new ReelmendError('invalid_request', `The request body ${reasonOf(issue)}.`);
  }
  const value = valueAt(data, path);
  const special = target === 'json' ? specialCase(issue, value, param) : undefined;
  if (special !== undefined) return special;
  const name = target === 'json' ? param.slice(1).replaceAll('/', '.') : String(path[0]);
  return new ReelmendError('invalid_request', sentence(target, name, issue, value), { param });
}

/** An invalid path parameter means an unknown resource (404), and an invalid signed query an invalid link (403). */
export function pathError(path: string, target: Target): ReelmendError | undefined {
  const refusal = (code: RequestErrorCode, message: string) => new ReelmendError(code, message);
  if (/^\/v1\/(?:downloads|upload-parts)\//.test(path) && target === 'query') return refusal('link_invalid', 'The link is not valid.');
  if (target !== 'param') return undefined;
  if (/^\/(?:v1|console\/api)\/jobs\//.test(path)) return jobNotFound();
  if (/^\/(?:v1|console\/api)\/previews\//.test(path)) return previewNotFound();
  if (/^\/(?:v1|console\/api)\/uploads\//.test(path)) return uploadNotFound();
  if (/^\/(?:v1|console\/api)\/webhook-endpoints\//.test(path)) return webhookEndpointNotFound();
  return refusal('not_found', 'There is nothing at this path.');
}

export function uploadNotFound(param?: string): ReelmendError {
  return new ReelmendError('upload_not_found', 'There is no such upload.', param === undefined ? {} : { param });
}

export function webhookEndpointNotFound(): ReelmendError {
  return new ReelmendError('webhook_endpoint_not_found', 'There is no such webhook endpoint.');
}

export function previewNotFound(): ReelmendError {
  return new ReelmendError('preview_not_found', 'There is no such preview.');
}

export function jobNotFound(): ReelmendError {
  return new ReelmendError('job_not_found', 'There is no such job.');
}

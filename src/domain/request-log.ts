/** The log of an account's requests: what is kept of a request, and for how long. */
import type { Mode } from './job.ts';

export const keptLogDays = 30;
/** newest entries that an account keeps at most */
export const keptLogEntries = 10_000;

export interface LoggedError {
  code: string;
  message: string;
  /** JSON Pointer of the bad field */
  param: string | null;
}

export interface LoggedRequest {
  /** `log_…` */
  id: string;
  accountId: string;
  keyId: string;
  mode: Mode;
  requestId: string;
  at: Date;
  method: string;
  /** the template of the route, such as `/v1/jobs/{id}` */
  path: string;
  /** the job, preview, upload or webhook endpoint that the request named or created */
  resourceId: string | null;
  status: number;
  durationMs: number;
  error: LoggedError | null;
  /** see `redact` */
  requestBody: Record<string, unknown> | null;
}

/** Replaces a removed value. */
const removed = '…';
/** Words of the contract. Every other text may be a secret, a URL, or a person's name. */
const words = new Set(['1080p', '4k', 'auto', 'off', 'none', 'standard', 'high', 'job.completed', 'job.failed']);
/** Fields whose texts are names that the service assigned. No API key or secret has this form: they contain capitals. */
const names: ReadonlyMap<string, RegExp> = new Map([
  ['model', /^[a-z0-9][a-z0-9._-]{0,63}$/],
  ['upload_id', /^upl_[0-9a-hjkmnp-tv-z]{26}$/],
]);
const fieldName = /^[A-Za-z0-9_.-]{1,40}$/;
const longestList = 20;
const deepest = 4;

/**
 * A body without secrets: numbers, booleans and words of the contract stay; URLs, file names, descriptions and metadata
 * become `…`. They must not outlive the job that they belong to.
 */
export function redact(body: unknown): Record<string, unknown> | null {
  return isObject(body) ? redactObject(body, 1) : null;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function redactObject(value: Record<string, unknown>, depth: number): Record<string, unknown> {
  const fields = Object.entries(value)
    .slice(0, longestList)
    .filter(([name]) => fieldName.test(name) && name !== '__proto__');
  return Object.fromEntries(fields.map(([name, field]) => [name, name === 'metadata' ? removed : redactValue(name, field, depth)]));
}

function redactValue(name: string, value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string') return words.has(value) || names.get(name)?.test(value) === true ? value : removed;
  if (depth >= deepest) return removed;
  if (Array.isArray(value)) return value.slice(0, longestList).map((item) => redactValue(name, item, depth + 1));
  return isObject(value) ? redactObject(value, depth + 1) : removed;
}

const longestText = 300;

/**
 * Removes the URLs that the message of an error may quote, and the characters that PostgreSQL refuses. Cut first: a message may quote a name
 * that is as long as a body, and the search for URLs takes time that grows with the square of the length.
 */
export function redactError({ code, message, param }: LoggedError): LoggedError {
  return { code, message: plain(message).replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, removed), param: param === null ? null : plain(param) };
}

const plain = (text: string): string => text.slice(0, longestText).replaceAll(/\p{Cc}/gu, '\uFFFD').toWellFormed();

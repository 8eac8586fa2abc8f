/** Calls to the service: same origin, the session in a cookie, the CSRF token in a header. */

/** The shape of an operation in the types generated from openapi.yaml. */
export interface Operation {
  url: string;
  path?: unknown;
  query?: unknown;
  body?: unknown;
}

/** The parameters and body of an operation; only those that openapi.yaml names. */
export type Inputs<O extends Operation> = Pick<O, Extract<keyof O, 'path' | 'query' | 'body'>>;

/** An error response of the service, or status 0 if there was no response. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  /** seconds to wait before another attempt, if the service asked for them */
  readonly retryAfterS: number | undefined;

  constructor(facts: { status: number; code: string; message: string; param?: string; requestId?: string; retryAfterS?: number }) {
    super(facts.message);
    this.status = facts.status;
    this.code = facts.code;
    this.param = facts.param;
    this.requestId = facts.requestId;
    this.retryAfterS = facts.retryAfterS;
  }
}

/** A sentence to show for any thrown value. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return 'Something went wrong on this page.';
}

/** The message of a validation error if it is about this form field (`/email` → `email`). */
export function problemOf(error: unknown, field: string): string | undefined {
  return error instanceof ApiError && error.param === `/${field}` ? error.message : undefined;
}

/** Whether what was asked for does not exist, for example because another window has deleted it. It will not appear again. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** Whether a call was refused because nobody is signed in any more. */
export const isSessionEnd = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

let csrfToken: string | null = null;
let onSessionDoubted: () => void = () => {};
let renewSession: () => Promise<boolean> = async () => false;

export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/**
 * Called when a response says that there is no session, or that its user lacks a role, which may have been taken away. It may be
 * late: another window may have signed in since.
 */
export function whenSessionDoubted(listener: () => void): void {
  onSessionDoubted = listener;
}

/** Called when the CSRF token belongs to another session, since another window signed in. Resolves with whether its user is the same. */
export function whenSessionReplaced(renew: () => Promise<boolean>): void {
  renewSession = renew;
}

interface Extra {
  signal?: AbortSignal;
  /** makes retries of the call safe */
  idempotencyKey?: string;
  /** one of many calls that belong together: waits for the rate limit as often as it takes */
  waitsForRateLimit?: boolean;
  /** the call goes on when the page is closed */
  keepalive?: boolean;
  /** a 401 is a normal response here, for example to a wrong password */
  ownRefusals?: boolean;
}

/** Query parameters of the page of a list behind a cursor; none for the first page. */
export const startingAfter = <C>(cursor: C | undefined) => (cursor === undefined ? {} : { starting_after: cursor });

/** `call<GetThingData, GetThingResponse>('GET', '/console/api/things/{id}', { path: { id } })`. Throws ApiError. */
export async function call<O extends Operation, R>(method: Method, url: O['url'], inputs: Inputs<O>, extra: Extra = {}): Promise<R> {
  const send = () => repeated(() => attempt<O, R>(method, url, inputs, extra), extra);
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if ((error.status === 401 && extra.ownRefusals !== true) || lackOfRole.has(error.code)) onSessionDoubted();
    if (error.code !== 'csrf_token_invalid') throw error;
    // Nothing was done.
    if (await renewSession()) return send();
    throw new ApiError({ status: 403, code: error.code, message: 'Another window has signed in as somebody else, or signed out. Nothing was changed.' });
  }
}

const lackOfRole: ReadonlySet<string> = new Set(['admin_required', 'operator_required']);

const mostRepeats = 2;
/** seconds; a user would rather hear of a longer wait */
const longestWaitS = 15;

/** Waits as long as the service asks, if that is short, and tries again. After 429 and 503, nothing was done. */
async function repeated<R>(send: () => Promise<R>, { signal, ownRefusals = false, waitsForRateLimit = false }: Extra): Promise<R> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || ownRefusals || ![429, 503].includes(error.status)) throw error;
      const { retryAfterS } = error;
      if (retryAfterS === undefined) throw error;
      const isPatient = waitsForRateLimit && error.status === 429;
      if (!isPatient && (repeats === mostRepeats || retryAfterS > longestWaitS)) throw error;
      await pause(retryAfterS * 1000, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

async function attempt<O extends Operation, R>(
  method: Method,
  url: O['url'],
  inputs: Inputs<O>,
  { signal, idempotencyKey, keepalive = false }: Extra,
): Promise<R> {
  const { path, query, body } = inputs as { path?: object; query?: object; body?: unknown };
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET' && csrfToken !== null) headers['X-CSRF-Token'] = csrfToken;
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
  const lost = (cause: unknown): never => {
    if (signal?.aborted === true) throw cause;
    throw unreachable();
  };
  const response = await fetch(urlFor(url, path, query), {
    method,
    headers,
    credentials: 'same-origin',
    cache: 'no-store',
    keepalive,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch(lost);
  if (response.status === 204) return undefined as R;
  // Otherwise a connection that breaks in the body would be an empty answer: nobody is signed in, for example.
  if (response.ok) return (await response.json().catch(lost)) as R;
  throw errorOf(response, await response.json().catch(() => null));
}

function unreachable(): ApiError {
  return new ApiError({ status: 0, code: 'unreachable', message: 'The service cannot be reached. Is it running?' });
}

function urlFor(url: string, path: object = {}, query: object = {}): string {
  const params = path as Record<string, string>;
  const filled = url.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

function errorOf({ status, headers }: Response, answer: unknown): ApiError {
  const retryAfterS = Number.parseInt(headers.get('Retry-After') ?? '', 10);
  const detail = (answer as { error?: Record<string, string> } | null)?.error;
  return new ApiError({
    status,
    code: detail?.['code'] ?? 'unexpected',
    message: detail?.['message'] ?? `The service returned the status ${status}.`,
    ...(detail?.['param'] === undefined ? {} : { param: detail['param'] }),
    ...(detail?.['request_id'] === undefined ? {} : { requestId: detail['request_id'] }),
    ...(Number.isNaN(retryAfterS) ? {} : { retryAfterS }),
  });
}

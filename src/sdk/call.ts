/** Makes one call: a timeout for each attempt, retries, and typed errors. */
import type { Client } from './client/index.ts';
import { apiError, ReelmendApiError, ReelmendConnectionError, ReelmendTimeoutError } from './errors.ts';
import { pause, withTimeLimit } from './pause.ts';
import { type Answer, ApiPromise } from './promises.ts';

export interface CallOptions {
  /** Aborts the call and its retries. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Timeout of each attempt in ms, including the response body. */
  timeoutMs?: number | undefined;
  /** Retries after the first attempt; 0 for none. */
  maxRetries?: number | undefined;
}

export interface CallDefaults {
  client: Client;
  timeoutMs: number;
  maxRetries: number;
}

/** Options that every generated function receives in addition to its own parameters. */
export interface Base {
  client: Client;
  signal: AbortSignal;
  redirect: 'manual';
  /** Parsed here: the generated client would take an empty body for `{}`. */
  parseAs: 'text';
}

/** The generated functions resolve with these fields, even if the call failed. */
interface Outcome<Data> {
  data?: Data | undefined;
  error?: unknown;
  request?: Request | undefined;
  response?: Response | undefined;
}

/** Rejects with a ReelmendError, with the reason of `options.signal`, or with a TypeError for an invalid argument. */
export type Call = <Data>(operation: (base: Base) => Promise<Outcome<Data>>, options?: CallOptions) => ApiPromise<Data>;

const firstDelayMs = 500;
const longestDelayMs = 8_000;
/** No retry if the service asks for a longer wait than this. */
const longestRetryAfterS = 60;
/** Temporary failures of the service, or of a proxy in front of it. */
const retriedStatuses = new Set([429, 502, 503, 504]);

/** Whether a retry may succeed: no response, a temporary status, or a 409 with `Retry-After`. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ReelmendApiError) {
    return retriedStatuses.has(error.status) || (error.status === 409 && error.retryAfterS !== undefined);
  }
  return error instanceof ReelmendConnectionError && !(error.cause instanceof SyntaxError);
}

/**
 * The error for a response of a signed URL. With a status of `expiring`, a fresh URL may succeed. A 500 of a storage (InternalError of
 * S3) passes, unlike one of the service.
 */
export function signedUrlError(response: Response, body: unknown, expiring: readonly number[]): Error {
  const error = apiError(response, body, { attempts: 1 });
  const passes = expiring.includes(response.status) || (response.status >= 500 && !isTransient(error));
  return passes ? new ReelmendConnectionError(error.message, { cause: error }) : error;
}

/**
 * Delay before the next attempt in ms: exponential backoff with jitter, and at least what `Retry-After` asks for.
 * Undefined if the call must not be retried.
 */
export function retryDelayMs(error: unknown, attempt: number, random = Math.random): number | undefined {
  if (!isTransient(error)) return undefined;
  const backoff = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
  const retryAfterS = error instanceof ReelmendApiError ? (error.retryAfterS ?? 0) : 0;
  if (retryAfterS > longestRetryAfterS) return undefined;
  return Math.max(backoff / 2, retryAfterS * 1000) + (random() * backoff) / 2;
}

/** Throws for NaN, such as Number() of a variable that is not set. No count is greater than NaN, so the retries would never end. */
export function assertNumbers(options: Record<string, number | undefined>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && Number.isNaN(Number(value))) throw new TypeError(`${name} must be a number.`);
  }
}

/**
 * Retries every operation that may be repeated: all but a few are idempotent, creation of jobs, previews and uploads through its
 * Idempotency-Key.
 */
export function makeCall(defaults: CallDefaults): Call {
  return (operation, options = {}) => new ApiPromise(attempt(defaults, operation, options));
}

async function attempt<Data>(
  { client, timeoutMs, maxRetries }: CallDefaults,
  operation: (base: Base) => Promise<Outcome<Data>>,
  options: CallOptions,
): Promise<Answer<Data>> {
  const { signal } = options;
  assertNumbers({ maxRetries: options.maxRetries, timeoutMs: options.timeoutMs });
  const ms = options.timeoutMs ?? timeoutMs;
  for (let attempts = 1; ; attempts += 1) {
    const error = () => new ReelmendTimeoutError(`The service did not respond within ${ms} ms.`, { attempts });
    try {
      return await withTimeLimit({ ms, signal, error }, async (inner) => {
        return read(await operation({ client, signal: inner, redirect: 'manual', parseAs: 'text' }), attempts);
      });
    } catch (failure) {
      signal?.throwIfAborted();
      const isLast = attempts > (options.maxRetries ?? maxRetries);
      const delay = isLast ? undefined : retryDelayMs(failure, attempts);
      if (delay === undefined) throw failure;
      await pause(delay, signal);
    }
  }
}

function read<Data>({ data, error, request, response }: Outcome<Data>, attempts: number): Answer<Data> {
  // No request was made: a header or the URL is invalid.
  if (request === undefined) throw error;
  if (response === undefined) {
    throw new ReelmendConnectionError('The service did not respond.', { attempts, cause: error });
  }
  if (!response.ok) throw withHint(apiError(response, error, { attempts }));
  try {
    if (data === undefined) throw error;
    const parsed = parse(data, response.headers.get('Content-Type') ?? '') as Data;
    return { data: parsed, response, requestId: response.headers.get('X-Request-Id') ?? undefined };
  } catch (cause) {
    // Something else than the API may answer with any page.
    const hint = cause instanceof WrongType ? ' It does not come from the API: check baseUrl, the URL of the service.' : '';
    throw new ReelmendConnectionError(`The response with status ${response.status} could not be read.${hint}`, { attempts, cause });
  }
}

/** A missing job has a code of its own, so that these two mean a wrong URL of the service: /v1 at its end, or another server. */
function withHint(error: ReelmendApiError): ReelmendApiError {
  const isWrongPath = error.status === 404 && (error.code === 'not_found' || error.code === 'unknown');
  if (isWrongPath) error.message += ' Check the URL of the service (baseUrl): the client adds /v1 itself.';
  return error;
}

class WrongType extends SyntaxError {}

/** `body`: a text, or the stream of events. Throws a SyntaxError for what another attempt cannot mend. */
function parse(body: unknown, type: string): unknown {
  if (body instanceof ReadableStream) {
    if (/^text\/event-stream\b/.test(type)) return body;
    throw new WrongType('no event stream');
  }
  if (!/\bjson\b/.test(type)) throw new WrongType('not JSON');
  // No response of the API is empty: a proxy has lost the rest.
  if (body === '') throw new TypeError('no body');
  const data: unknown = JSON.parse(body as string);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw new SyntaxError('no JSON object');
  return data;
}

/** One call: tries with a time limit each, retries where a repetition is safe, and errors with a type. */
import type { Client } from './client/index.ts';
import { apiError, ReelmendApiError, ReelmendConnectionError, ReelmendTimeoutError } from './errors.ts';
import { pause, withTimeLimit } from './pause.ts';

export interface CallOptions {
  /** aborts the call, its retries and the pauses between them; the call rejects with the signal's reason */
  signal?: AbortSignal | undefined;
  /** ms for each try, the answer's body included */
  timeoutMs?: number | undefined;
  /** retries after the first try; 0 for none */
  maxRetries?: number | undefined;
}

export interface CallDefaults {
  client: Client;
  timeoutMs: number;
  maxRetries: number;
}

/** What every generated function is given beside its own parameters. */
export interface Base {
  client: Client;
  signal: AbortSignal;
  redirect: 'manual';
}

/** The generated functions resolve to fields, also when the call failed. */
interface Outcome<Data> {
  data?: Data | undefined;
  error?: unknown;
  request?: Request | undefined;
  response?: Response | undefined;
}

/** Rejects with a ReelmendError, with the reason of `options.signal`, or with a TypeError for a senseless argument. */
export type Call = <Data>(operation: (base: Base) => Promise<Outcome<Data>>, options?: CallOptions) => Promise<Data>;

const firstDelayMs = 500;
const longestDelayMs = 8_000;
/** A service that asks for more patience than this is not asked again. */
const longestRetryAfterS = 60;
/** Passing states of the service or of a proxy before it. */
const retriedStatuses = new Set([429, 502, 503, 504]);

/** Whether the same call may succeed later: no answer, or a passing state (a conflict only if it is said to pass). */
export function isTransient(error: unknown): boolean {
  if (error instanceof ReelmendApiError) {
    return retriedStatuses.has(error.status) || (error.status === 409 && error.retryAfterS !== undefined);
  }
  return error instanceof ReelmendConnectionError && !(error.cause instanceof SyntaxError);
}

/**
 * ms until the next try: what the service asks for, and at least exponential backoff. Jitter, up to half of it, keeps
 * many clients from coming back together. Undefined when another try makes no sense.
 */
export function retryDelayMs(error: unknown, attempt: number, random = Math.random): number | undefined {
  if (!isTransient(error)) return undefined;
  const backoff = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
  const asked = error instanceof ReelmendApiError ? (error.retryAfterS ?? 0) : 0;
  if (asked > longestRetryAfterS) return undefined;
  return Math.max(backoff / 2, asked * 1000) + (random() * backoff) / 2;
}

/** Every operation is repeated alike: those of the contract are idempotent, creation by its Idempotency-Key. */
export function makeCall(defaults: CallDefaults): Call {
  return async (operation, options = {}) => {
    const { client, timeoutMs, maxRetries } = defaults;
    const { signal } = options;
    const ms = options.timeoutMs ?? timeoutMs;
    for (let attempts = 1; ; attempts += 1) {
      const error = () => new ReelmendTimeoutError(`The service gave no answer within ${ms} ms.`, { attempts });
      try {
        return await withTimeLimit({ ms, signal, error }, async (inner) => {
          return read(await operation({ client, signal: inner, redirect: 'manual' }), attempts);
        });
      } catch (failure) {
        signal?.throwIfAborted();
        const delay = attempts > (options.maxRetries ?? maxRetries) ? undefined : retryDelayMs(failure, attempts);
        if (delay === undefined) throw failure;
        await pause(delay, signal);
      }
    }
  };
}

function read<Data>({ data, error, request, response }: Outcome<Data>, attempts: number): Data {
  // Not even a request: a header or an address that cannot be sent.
  if (request === undefined) throw error;
  if (response === undefined) {
    throw new ReelmendConnectionError('The service gave no answer.', { attempts, cause: error });
  }
  if (!response.ok) throw apiError(response, error, { attempts });
  const type = data instanceof ReadableStream ? /^text\/event-stream\b/ : /\bjson\b/;
  if (data === undefined || !type.test(response.headers.get('Content-Type') ?? '')) {
    // A SyntaxError as cause marks what a retry would not mend.
    const cause = data === undefined ? error : new SyntaxError('not JSON');
    throw new ReelmendConnectionError(`The answer with status ${response.status} could not be read.`, {
      attempts,
      cause,
    });
  }
  return data;
}

/** Turns errors into HTTP responses. No other file does. */
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorDetail } from '../contract/types.gen.ts';
import { ReelmendError, type ErrorCode, type RequestErrorCode } from '../domain/errors.ts';
import { isStorageFault } from '../storage/faults.ts';
import type { KeyPrincipal } from '../store/types.ts';
import type { HttpLogger } from './deps.ts';
import { docUrl } from './doc-url.ts';
import type { AppEnv } from './env.ts';

type ErrorType = ErrorDetail['type'];

/** The status of each error code. */
export const statusByCode: Readonly<Record<RequestErrorCode, ContentfulStatusCode>> = {
  invalid_request: 400,
  invalid_json: 400,
  unreadable_video: 400,
  video_too_long: 400,
  video_too_large: 400,
  video_unreachable: 400,
  url_not_allowed: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  missing_session: 401,
  invalid_session: 401,
  invalid_credentials: 401,
  second_factor_required: 401,
  insufficient_credits: 402,
  max_credits_exceeded: 402,
  account_pending_approval: 403,
  secure_tier_required: 403,
  key_access_denied: 403,
  csrf_token_invalid: 403,
  cross_site_request: 403,
  operator_required: 403,
  operator_protected: 403,
  admin_required: 403,
  sign_up_closed: 403,
  wrong_password: 403,
  one_time_link_invalid: 403,
  wrong_code: 403,
  link_expired: 403,
  link_invalid: 403,
  job_not_found: 404,
  preview_not_found: 404,
  upload_not_found: 404,
  webhook_endpoint_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  job_not_done: 409,
  job_failed: 409,
  job_not_deleted: 409,
  certificate_pending: 409,
  idempotency_key_reused: 409,
  upload_incomplete: 409,
  upload_not_ready: 409,
  upload_failed: 409,
  upload_quota_exceeded: 409,
  key_not_active: 409,
  key_limit_reached: 409,
  two_factor_enabled: 409,
  two_factor_not_enabled: 409,
  last_admin: 409,
  people_limit_reached: 409,
  delivery_not_resendable: 409,
  webhook_endpoint_limit_reached: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  rate_limit_exceeded: 429,
  internal_error: 500,
  service_unavailable: 503,
};

export const typeByStatus: Readonly<Record<number, ErrorType>> = {
  400: 'validation_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'method_not_allowed_error',
  409: 'conflict_error',
  413: 'validation_error',
  415: 'validation_error',
  416: 'validation_error',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'api_error',
};

/** Codes for errors that Hono itself throws, by status. */
const codeByFrameworkStatus: Readonly<Record<number, RequestErrorCode>> = {
  400: 'invalid_request',
  404: 'not_found',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
};

/** Codes of Node and PostgreSQL for a database that cannot be used at the moment. isStorageFault knows those of the storage. */
const unavailable =
  /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|CONNECT_TIMEOUT|CONNECTION_\w+|08\w{3}|28\w{3}|57P0[1-5]|53\w{3}|25006|3D000)$/;

function isRequestCode(code: ErrorCode): code is RequestErrorCode {
  return Object.hasOwn(statusByCode, code);
}

function isUnavailable(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    const code: unknown = Reflect.get(cause, 'code');
    if ((typeof code === 'string' && unavailable.test(code)) || isStorageFault(cause)) return true;
  }
  return false;
}

/** Converts any thrown value to a ReelmendError. The message for foreign errors reveals no details. */
function translate(error: unknown): ReelmendError {
  if (error instanceof ReelmendError && isRequestCode(error.code)) return error;
  if (error instanceof HTTPException) {
    const code = codeByFrameworkStatus[error.status];
    if (code !== undefined) return new ReelmendError(code, 'The request is not valid.', { cause: error });
  }
  if (isUnavailable(error)) {
    return new ReelmendError('service_unavailable', 'The service is not ready. Retry shortly.', {
      cause: error,
      retryAfterS: 2,
    });
  }
  return new ReelmendError('internal_error', 'The service failed. The failure was logged.', {
    cause: error,
  });
}

/** `Cookie` is no registered scheme, so browsers show no login prompt of their own for the console. */
function challengeOf(code: RequestErrorCode): string {
  const ofKey = code === 'missing_api_key' || code === 'invalid_api_key';
  return ofKey ? 'Bearer realm="reelmend"' : 'Cookie realm="reelmend console"';
}

export interface ProblemOptions {
  logger: HttpLogger;
  /** base URL of the service */
  publicUrl(): string;
}

/** What a key sees only in its own mode. */
const ofMode: ReadonlySet<RequestErrorCode> = new Set(['job_not_found', 'preview_not_found', 'upload_not_found', 'webhook_endpoint_not_found']);

/** For calls with a key, the mode in which there is no such thing: most look with a key of the other mode. */
function messageOf({ message }: ReelmendError, code: RequestErrorCode, principal: KeyPrincipal | undefined): string {
  return principal === undefined || !ofMode.has(code) ? message : message.replace(/\.$/, ` in ${principal.mode} mode, the mode of this key.`);
}

/** A failed media process is reported to the client as a fault of the video. It may be ours, so it is logged. */
const isMediaFailure = (cause: unknown): cause is ReelmendError => cause instanceof ReelmendError && cause.code === 'processing_failed';

/**
 * Writes the error envelope. Logs server errors with their cause; the response has only the code, the public message
 * and the request id.
 */
export function problemHandler({ logger, publicUrl }: ProblemOptions) {
  return (thrown: unknown, c: Context<AppEnv>): Response => {
    const error = translate(thrown);
    const code = isRequestCode(error.code) ? error.code : 'internal_error';
    const status = statusByCode[code];
    const requestId = c.get('requestId');
    if (status >= 500) logger.error({ err: error.cause ?? error, request_id: requestId, code }, 'request failed');
    else if (isMediaFailure(error.cause)) logger.warn({ err: error.cause.cause ?? error.cause, request_id: requestId, code }, 'a video could not be measured');
    if (status === 401) c.header('WWW-Authenticate', challengeOf(code));
    if (error.retryAfterS !== undefined) c.header('Retry-After', String(Math.ceil(error.retryAfterS)));
    // Other operations have no principal.
    const message = messageOf(error, code, c.get('principal') as KeyPrincipal | undefined);
    const detail: ErrorDetail = {
      code,
      message,
      type: typeByStatus[status] ?? 'api_error',
      ...(error.param === undefined ? {} : { param: error.param }),
      request_id: requestId,
      doc_url: docUrl(publicUrl(), code),
    };
    c.set('problem', { code, message, param: error.param ?? null });
    return c.json({ error: detail }, status);
  };
}

/** Wraps thrown values that are not Errors: Hono passes only `Error` objects to the error handler. */
export function onlyErrors() {
  return createMiddleware(async (_c, next) => {
    try {
      await next();
    } catch (thrown) {
      throw thrown instanceof Error ? thrown : new Error('A thrown value was not an Error.', { cause: thrown });
    }
  });
}

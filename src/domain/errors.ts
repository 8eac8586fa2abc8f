/**
 * The error type of the service: a stable public code, a sentence for the customer, and a cause for the logs only. HTTP
 * statuses are in src/http/problem.ts.
 */

/** Codes of refused requests (specification §7 and decisions). */
export const requestErrorCodes = [
  'invalid_request',
  'invalid_json',
  'unreadable_video',
  'video_too_long',
  'video_too_large',
  'video_unreachable',
  'url_not_allowed',
  'insufficient_credits',
  'max_credits_exceeded',
  'missing_api_key',
  'invalid_api_key',
  'missing_session',
  'invalid_session',
  'invalid_credentials',
  'csrf_token_invalid',
  'cross_site_request',
  'operator_required',
  'operator_protected',
  'admin_required',
  'sign_up_closed',
  'wrong_password',
  'one_time_link_invalid',
  'second_factor_required',
  'wrong_code',
  'two_factor_enabled',
  'two_factor_not_enabled',
  'last_admin',
  'people_limit_reached',
  'key_not_active',
  'key_limit_reached',
  'delivery_not_resendable',
  'webhook_endpoint_not_found',
  'webhook_endpoint_limit_reached',
  'account_pending_approval',
  'secure_tier_required',
  'key_access_denied',
  'job_not_found',
  'preview_not_found',
  'upload_not_found',
  'not_found',
  'method_not_allowed',
  'job_not_done',
  'job_failed',
  'job_not_deleted',
  'certificate_pending',
  'idempotency_key_reused',
  'upload_incomplete',
  'upload_not_ready',
  'upload_failed',
  'upload_quota_exceeded',
  'rate_limit_exceeded',
  'payload_too_large',
  'unsupported_media_type',
  'range_not_satisfiable',
  'link_expired',
  'link_invalid',
  'internal_error',
  'service_unavailable',
] as const;
export type RequestErrorCode = (typeof requestErrorCodes)[number];

/** Codes that only a failed job may have. */
export const jobErrorCodes = ['source_changed', 'processing_failed', 'processing_timeout'] as const;
/** Codes of refused requests that a failed job may have, too. */
export const videoErrorCodes = ['unreadable_video', 'video_too_long', 'video_too_large', 'video_unreachable', 'url_not_allowed'] as const;
export type JobErrorCode = (typeof jobErrorCodes)[number] | (typeof videoErrorCodes)[number];

export type ErrorCode = RequestErrorCode | JobErrorCode;

export interface ReelmendErrorOptions {
  /** JSON Pointer of the bad field. */
  param?: string;
  cause?: unknown;
  /** Seconds to wait before a retry may succeed (429, 503). */
  retryAfterS?: number;
}

export class ReelmendError extends Error {
  override readonly name = 'ReelmendError';
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options: ReelmendErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param;
    this.retryAfterS = options.retryAfterS;
  }

  /** The same error about another field. */
  withParam(param: string): ReelmendError {
    const { retryAfterS } = this;
    return new ReelmendError(this.code, this.message, { param, cause: this.cause, ...(retryAfterS === undefined ? {} : { retryAfterS }) });
  }
}

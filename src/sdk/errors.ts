/** Errors of the client. All are ReelmendErrors, except aborts, which reject with the signal's reason. */
import type { Error as ErrorEnvelope, ErrorDetail, Job, JobError, Preview, Upload, UploadError } from './types.gen.ts';

/** An error code of the API, or one that a later version added. */
export type ErrorCode = ErrorDetail['code'] | 'unknown' | (string & {});
export type ErrorType = ErrorDetail['type'] | 'unknown' | (string & {});

export class ReelmendError extends Error {
  override name = 'ReelmendError';
}

/** The attempts before an error. */
export interface CallHistory {
  /** Attempts of the call, including the failed one; at least 1. */
  attempts: number;
}

/** The service returned an error. `code` is stable, `message` is for people. */
export class ReelmendApiError extends ReelmendError {
  override name = 'ReelmendApiError';
  /** HTTP status; 0 for a redirect in a browser, which hides it. */
  readonly status: number;
  /** `unknown` if the response comes from a proxy and not from the service. */
  readonly code: ErrorCode;
  readonly type: ErrorType;
  /** JSON Pointer of the invalid field of the body, or `/name` of the invalid parameter or header. */
  readonly param: string | undefined;
  /** Id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** Seconds to wait before a retry may succeed (`Retry-After`). */
  readonly retryAfterS: number | undefined;
  /** URL of an explanation. */
  readonly docUrl: string | undefined;
  /** Attempts of the call. If there were several, an earlier one may have taken effect although its response was lost. */
  readonly attempts: number;

  constructor(response: Response, body: unknown, { attempts }: CallHistory = { attempts: 1 }) {
    const detail = detailOf(body);
    super(detail?.message ?? plainMessage(response));
    this.status = response.status;
    this.code = detail?.code ?? 'unknown';
    this.type = detail?.type ?? 'unknown';
    this.param = detail?.param;
    this.requestId = detail?.request_id ?? response.headers.get('X-Request-Id') ?? undefined;
    this.retryAfterS = retryAfterS(response.headers.get('Retry-After'));
    this.docUrl = detail?.doc_url;
    this.attempts = attempts;
  }
}

/** 400, 413, 415, 416: the request or the video is invalid. `param` names the field. */
export class ValidationError extends ReelmendApiError {
  override name = 'ValidationError';
}

/** 401: the API key is missing or invalid. */
export class AuthenticationError extends ReelmendApiError {
  override name = 'AuthenticationError';
}

/** 402: the balance does not cover the charge, or `max_credits` allows less. */
export class BillingError extends ReelmendApiError {
  override name = 'BillingError';
}

/** 403: the account is not approved, the key is restricted, or the call needs a key of the Secure tier. */
export class PermissionError extends ReelmendApiError {
  override name = 'PermissionError';
}

/** 404: the job or the upload does not exist. */
export class NotFoundError extends ReelmendApiError {
  override name = 'NotFoundError';
}

/** 409: the state of the job or the upload, or the idempotency key, does not allow this call. */
export class ConflictError extends ReelmendApiError {
  override name = 'ConflictError';
}

/** 429: too many requests, even after the retries. */
export class RateLimitError extends ReelmendApiError {
  override name = 'RateLimitError';
}

/** 500 and above: the service, or a proxy in front of it, failed. */
export class ServerError extends ReelmendApiError {
  override name = 'ServerError';
}

/** There was no response, or it could not be read. See `cause`. */
export class ReelmendConnectionError extends ReelmendError {
  override name = 'ReelmendConnectionError';
  /** Attempts of the call. One of them may have taken effect although its response was lost. */
  readonly attempts: number;
  /** Seconds to wait before another attempt, if a server in between asked for them. */
  readonly retryAfterS: number | undefined;

  constructor(message: string, { attempts = 1, cause, retryAfterS }: { attempts?: number; cause?: unknown; retryAfterS?: number | undefined } = {}) {
    super(message, { cause });
    this.attempts = attempts;
    this.retryAfterS = retryAfterS;
  }
}

/** There was no response within `timeoutMs`. */
export class ReelmendTimeoutError extends ReelmendConnectionError {
  override name = 'ReelmendTimeoutError';
}

/** The awaited job ended in `error`. Its charge was refunded. */
export class JobFailedError extends ReelmendError {
  override name = 'JobFailedError';
  readonly code: JobError['code'] | 'unknown' | (string & {});
  /** URL of an explanation. */
  readonly docUrl: string | undefined;

  readonly job: Job;

  constructor(job: Job) {
    super(job.error?.message ?? `The job ${job.id} ended in error.`);
    this.code = job.error?.code ?? 'unknown';
    this.docUrl = job.error?.doc_url;
    this.job = job;
  }
}

/** The awaited preview ended in `error`. Its charge was refunded. */
export class PreviewFailedError extends ReelmendError {
  override name = 'PreviewFailedError';
  readonly code: JobError['code'] | 'unknown' | (string & {});
  /** URL of an explanation. */
  readonly docUrl: string | undefined;

  readonly preview: Preview;

  constructor(preview: Preview) {
    super(preview.error?.message ?? `The preview ${preview.id} ended in error.`);
    this.code = preview.error?.code ?? 'unknown';
    this.docUrl = preview.error?.doc_url;
    this.preview = preview;
  }
}

/** The service received a file that differs from the one that was sent. */
export class UploadFailedError extends ReelmendError {
  override name = 'UploadFailedError';
  readonly code: UploadError['code'] | 'unknown' | (string & {});
  /** URL of an explanation. */
  readonly docUrl: string | undefined;

  readonly upload: Upload;

  constructor(upload: Upload) {
    super(upload.error?.message ?? `The upload ${upload.id} failed.`);
    this.code = upload.error?.code ?? 'unknown';
    this.docUrl = upload.error?.doc_url;
    this.upload = upload;
  }
}

/** The job or preview did not end within `timeoutMs`. It continues. */
export class WaitTimeoutError extends ReelmendError {
  override name = 'WaitTimeoutError';
  /** The job as last polled; undefined for a preview, and if no poll succeeded. */
  readonly job: Job | undefined;

  constructor(message: string, job: Job | undefined) {
    super(message);
    this.job = job;
  }
}

const byStatus: Record<number, typeof ReelmendApiError> = {
  400: ValidationError,
  401: AuthenticationError,
  402: BillingError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  413: ValidationError,
  415: ValidationError,
  416: ValidationError,
  429: RateLimitError,
};

/** Creates the error for a response: the class of its status, or ReelmendApiError. */
export function apiError(response: Response, body: unknown, history: CallHistory): ReelmendApiError {
  const family = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ReelmendApiError);
  return new family(response, body, history);
}

/** Parses `Retry-After`, a number of seconds or a date (RFC 9110), to seconds from now. */
export function retryAfterS(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header);
  const seconds = (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** Undefined for other bodies: a proxy in front of the service may return anything. */
function detailOf(body: unknown): ErrorDetail | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { error } = body as Partial<ErrorEnvelope>;
  return typeof error === 'object' && error !== null && typeof error.message === 'string' ? error : undefined;
}

function plainMessage(response: Response): string {
  const redirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  if (!redirect) return `The service returned the status ${response.status}.`;
  return 'The service returned a redirect. The client does not follow it with an API key. Correct baseUrl, the URL of the service.';
}

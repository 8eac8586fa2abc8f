/** What the client throws. Everything is a ReelmendError, but for an abort, which rejects with the signal's reason. */
import type { Error as ErrorEnvelope, ErrorDetail, Job, JobError } from './types.gen.ts';

/** A code of the contract, or one that was added to it later. */
export type ErrorCode = ErrorDetail['code'] | 'unknown' | (string & {});
export type ErrorType = ErrorDetail['type'] | 'unknown' | (string & {});

export class ReelmendError extends Error {
  override name = 'ReelmendError';
}

/** Of what went before an error of a call. */
export interface CallHistory {
  /** tries of the call, this one included; at least 1 */
  attempts: number;
}

/** The service answered with an error. `code` is stable; `message` is for people. */
export class ReelmendApiError extends ReelmendError {
  override name = 'ReelmendApiError';
  /** HTTP status; 0 for a redirect that a browser hides */
  readonly status: number;
  /** `unknown` when the answer is not the service's own, but that of a proxy before it */
  readonly code: ErrorCode;
  readonly type: ErrorType;
  /** JSON Pointer of the bad field of the body, or `/name` of the bad parameter or header */
  readonly param: string | undefined;
  /** what the service's log calls this request */
  readonly requestId: string | undefined;
  /** seconds after which a retry may succeed, from `Retry-After` */
  readonly retryAfterS: number | undefined;
  /** where the error is explained */
  readonly docUrl: string | undefined;
  /** tries of the call; with more than one, an earlier try may have had its effect and lost its answer */
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

/** 400, 413, 415, 416: the request or the video is refused; `param` points at the bad field. */
export class ValidationError extends ReelmendApiError {
  override name = 'ValidationError';
}

/** 401: the key is missing or not valid. */
export class AuthenticationError extends ReelmendApiError {
  override name = 'AuthenticationError';
}

/** 402: the balance does not cover the charge. */
export class BillingError extends ReelmendApiError {
  override name = 'BillingError';
}

/** 403: the account is not approved, the key's tier is too low, or a link is not valid. */
export class PermissionError extends ReelmendApiError {
  override name = 'PermissionError';
}

/** 404: there is no such job. */
export class NotFoundError extends ReelmendApiError {
  override name = 'NotFoundError';
}

/** 409: the state of the job, or of the idempotency key, does not allow this. */
export class ConflictError extends ReelmendApiError {
  override name = 'ConflictError';
}

/** 429: too many requests, also after the retries. */
export class RateLimitError extends ReelmendApiError {
  override name = 'RateLimitError';
}

/** 500 and above: the service, or a proxy before it, failed. */
export class ServerError extends ReelmendApiError {
  override name = 'ServerError';
}

/** No answer came, or it could not be read. See `cause`. */
export class ReelmendConnectionError extends ReelmendError {
  override name = 'ReelmendConnectionError';
  /** tries of the call; the last or an earlier one may have had its effect */
  readonly attempts: number;

  constructor(message: string, { attempts = 1, cause }: { attempts?: number; cause?: unknown } = {}) {
    super(message, { cause });
    this.attempts = attempts;
  }
}

/** No answer came within `timeoutMs`. */
export class ReelmendTimeoutError extends ReelmendConnectionError {
  override name = 'ReelmendTimeoutError';
}

/** The job that was waited for ended in `error`; what it cost was refunded. */
export class JobFailedError extends ReelmendError {
  override name = 'JobFailedError';
  readonly code: JobError['code'] | 'unknown' | (string & {});

  readonly job: Job;

  constructor(job: Job) {
    super(job.error?.message ?? `The job ${job.id} ended in error.`);
    this.code = job.error?.code ?? 'unknown';
    this.job = job;
  }
}

/** The job has not ended within `timeoutMs` of waiting; it goes on. */
export class WaitTimeoutError extends ReelmendError {
  override name = 'WaitTimeoutError';
  /** as last seen; undefined when not even the first poll was answered */
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

/** The error of an answer: of the class of its status, else ReelmendApiError itself. */
export function apiError(response: Response, body: unknown, history: CallHistory): ReelmendApiError {
  const family = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ReelmendApiError);
  return new family(response, body, history);
}

/** Seconds from now, of a `Retry-After` that is a number of seconds or a date (RFC 9110). */
export function retryAfterS(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header);
  const seconds = (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** A proxy before the service may answer with anything. */
function detailOf(body: unknown): ErrorDetail | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { error } = body as Partial<ErrorEnvelope>;
  return typeof error === 'object' && error !== null && typeof error.message === 'string' ? error : undefined;
}

function plainMessage(response: Response): string {
  const redirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  if (!redirect) return `The service answered ${response.status}.`;
  return 'The address answers with a redirect, which is not followed with a key; correct baseUrl.';
}

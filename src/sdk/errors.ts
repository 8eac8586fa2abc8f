/** What a call of the client throws: a refusal of the service, or a connection that failed. */
import type { Error as ErrorEnvelope, ErrorDetail } from './types.gen.ts';

/** The service answered with an error. `code` is stable; `message` is for people. */
export class FrameliftApiError extends Error {
  override readonly name = 'FrameliftApiError';
  readonly status: number;
  readonly code: ErrorDetail['code'] | 'unknown';
  readonly type: ErrorDetail['type'] | 'unknown';
  /** JSON Pointer of the bad field */
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  /** seconds after which a retry may succeed */
  readonly retryAfterS: number | undefined;

  constructor(response: Response, body: unknown) {
    const detail = detailOf(body);
    super(detail?.message ?? `The service answered ${response.status}.`);
    this.status = response.status;
    this.code = detail?.code ?? 'unknown';
    this.type = detail?.type ?? 'unknown';
    this.param = detail?.param;
    this.requestId = detail?.request_id ?? response.headers.get('X-Request-Id') ?? undefined;
    const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN);
    this.retryAfterS = Number.isFinite(retryAfter) ? retryAfter : undefined;
  }
}

/** No answer came: the address is wrong, the network failed, or the call was aborted. See `cause`. */
export class FrameliftConnectionError extends Error {
  override readonly name = 'FrameliftConnectionError';
}

/** A proxy before the service may answer with anything. */
function detailOf(body: unknown): ErrorDetail | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { error } = body as Partial<ErrorEnvelope>;
  return typeof error === 'object' && error !== null && typeof error.message === 'string' ? error : undefined;
}

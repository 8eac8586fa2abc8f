/** Failures of requests to customers' servers: a reason for code, a sentence for people. */
import { ReelmendError } from '../domain/errors.ts';

export type FailureReason =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'redirect'
  | 'status'
  | 'content'
  | 'changed'
  | 'length';

/** A failure of the customer's server. The message is public: half a sentence that starts with "the server". */
export class NetFailure extends Error {
  override readonly name = 'NetFailure';
  readonly reason: FailureReason;
  /** whether the same request may succeed a moment later */
  readonly retryable: boolean;

  constructor(reason: FailureReason, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.retryable = options.retryable ?? false;
  }
}

const refused = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'ENETDOWN',
]);
const unresolved = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME', 'EAI_FAIL', 'ENODATA', 'ESERVFAIL']);
const timedOut = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const garbled = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_INVALID_ARG',
]);

function codeOf(error: unknown): string {
  // Node attempts several IP addresses of a name at once; they fail together as an AggregateError. Its first error counts.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = (first ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Classifies an error of sockets, TLS or undici. NetFailure and ReelmendError come back unchanged. */
export function classifyFailure(error: unknown): NetFailure | ReelmendError {
  if (error instanceof NetFailure || error instanceof ReelmendError) return error;
  const code = codeOf(error);
  const cause = { cause: error };
  if (unresolved.has(code)) return new NetFailure('dns', "the server's name cannot be resolved", cause);
  if (refused.has(code)) {
    return new NetFailure('connect', 'the server does not accept connections', { ...cause, retryable: true });
  }
  if (timedOut.has(code)) {
    return new NetFailure('timeout', 'the server did not answer in time', { ...cause, retryable: true });
  }
  if (garbled.has(code) || code.startsWith('HPE_') || (error as Error).name === 'HTTPParserError') {
    return new NetFailure('protocol', 'the server did not answer in proper HTTP', cause);
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|EPROTO/.test(code)) {
    return new NetFailure('tls', "the server's TLS certificate or handshake is not valid", cause);
  }
  return new NetFailure('reset', 'the server broke the connection off', { ...cause, retryable: true });
}

/** The customer's view of a failure. Errors that are not the server's (a full disk, an aborted signal) come back unchanged. */
export function videoError(error: unknown, changedCode: 'source_changed' | 'video_unreachable'): unknown {
  if (!(error instanceof NetFailure)) return error;
  const code = error.reason === 'changed' ? changedCode : 'video_unreachable';
  return new ReelmendError(code, `The video cannot be read: ${error.message}.`, { cause: error });
}

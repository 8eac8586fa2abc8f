/** Distinguishes faults of a storage and its connection from other errors of its calls. */

/**
 * Codes of the operating system, of Node and of OpenSSL for a server that cannot be reached or trusted, for a connection that breaks, and
 * for an answer that is not HTTP.
 */
const network = /^(?:E(?:CONN\w+|PIPE|HOST\w+|NET\w+|TIMEDOUT|ADDRNOTAVAIL|PROTO|AI_\w+|NOTFOUND)|ERR_(?:SSL|TLS|STREAM_PREMATURE_CLOSE)\w*|HPE_\w+|CERT_\w+|\w+_CERT\w*|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/;

/** Codes of a file system that is broken, gone or read-only. A full one is not included: a video may be the reason. */
const fileSystem = new Set(['EIO', 'EROFS', 'ESTALE', 'ENOTCONN', 'ENODEV', 'ENXIO', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM']);

/** Codes of a full disk, or of a quota of the file system. */
const diskFull = new Set(['ENOSPC', 'EDQUOT']);

/** Names of errors of S3 servers and the AWS SDK for wrong credentials, clocks and buckets. Some come with status 400. */
const refusals = new Set([
  ...['CredentialsProviderError', 'ExpiredToken', 'ExpiredTokenException', 'InvalidToken', 'InvalidAccessKeyId', 'XAdminUserNotFound', 'NoSuchBucket', 'PermanentRedirect'],
  ...['AuthorizationHeaderMalformed', 'RequestTimeTooSkewed', 'RequestTimeout', 'SlowDown', 'TimeoutError'],
]);

/** Statuses of a storage that refuses all requests: missing rights, a wrong region, too many requests. */
const refusingStatuses = new Set([301, 307, 308, 401, 403, 408, 429]);

/**
 * Names of an error whose response had no body. A response to HEAD never has one, so S3 reports expired credentials there as a bare
 * 400. The requests of this service have a fixed form, and none of their keys is invalid: a bare 400 is not about the object.
 */
const namesWithoutBody = new Set(['Unknown', 'UnknownError', 'BadRequest', '400']);

interface ErrorFacts {
  name?: unknown;
  code?: unknown;
  $metadata?: { httpStatusCode?: number };
}

/**
 * Whether the SDK could not read the response, whatever its status: it was cut off, or a gateway sent a page of its own. The SDK adds the
 * response to each error, and `$fault` to those that S3 reports.
 */
const isUnreadableResponse = (error: Error): boolean => '$response' in error && !('$fault' in error);

/**
 * Whether the storage could not be reached or refused, independently of the request. A missing key, a wrong range, an
 * aborted call and a full disk are no such faults.
 */
export function isStorageFault(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'AbortError') return false;
  const { name, code, $metadata } = error as ErrorFacts;
  const status = $metadata?.httpStatusCode;
  if (isUnreadableResponse(error)) return true;
  if (refusals.has(String(name)) || refusals.has(String(code))) return true;
  if (status === 400) return namesWithoutBody.has(String(name));
  if (status !== undefined) return status >= 500 || refusingStatuses.has(status);
  return network.test(String(code)) || fileSystem.has(String(code));
}

/** Whether a file could not be written because its disk is full. */
export const isDiskFull = (error: unknown): boolean => error instanceof Error && diskFull.has(String((error as ErrorFacts).code));

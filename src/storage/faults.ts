/** Tells faults of a storage, and of the way to it, from other errors that its calls throw. */

/** Codes of the operating system and of Node for a server that cannot be reached or a connection that breaks. */
const network = /^(?:E(?:CONN\w+|PIPE|HOST\w+|NET\w+|TIMEDOUT|ADDRNOTAVAIL|PROTO|AI_\w+|NOTFOUND)|ERR_(?:SSL|TLS|STREAM_PREMATURE_CLOSE)\w*|CERT_\w+|\w+_CERT\w*)$/;

/** Codes of a file system that is broken, gone or read-only. A full one is not among them: a video may be the reason. */
const fileSystem = new Set(['EIO', 'EROFS', 'ESTALE', 'ENOTCONN', 'ENODEV', 'ENXIO', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM']);

/** Names that S3 servers and the AWS SDK give to credentials, clocks and buckets that are not right. Some come with a status of 400. */
const refusals = new Set([
  ...['CredentialsProviderError', 'ExpiredToken', 'ExpiredTokenException', 'InvalidToken', 'InvalidAccessKeyId', 'NoSuchBucket', 'PermanentRedirect'],
  ...['AuthorizationHeaderMalformed', 'RequestTimeTooSkewed', 'RequestTimeout', 'SlowDown', 'TimeoutError'],
]);

/** Statuses with which a storage refuses any request: no right, a wrong region, too many requests. */
const refusingStatuses = new Set([301, 307, 308, 401, 403, 408, 429]);

interface ErrorFacts {
  name?: unknown;
  code?: unknown;
  $metadata?: { httpStatusCode?: number };
}

/**
 * Whether the storage could not be reached or refused, whatever was asked for. A missing key, a wrong range, an aborted call
 * and a full disk are no such faults.
 */
export function isStorageFault(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'AbortError') return false;
  const { name, code, $metadata } = error as ErrorFacts;
  const status = $metadata?.httpStatusCode;
  if (refusals.has(String(name)) || refusals.has(String(code))) return true;
  if (status !== undefined) return status >= 500 || refusingStatuses.has(status);
  return network.test(String(code)) || fileSystem.has(String(code));
}

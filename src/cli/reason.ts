/** One line that says why a command failed. */
import { getSystemErrorMap } from 'node:util';
import { ReelmendError } from '../domain/errors.ts';
import { ReelmendConnectionError } from '../sdk/errors.ts';

/**
 * Codes of the engine (native/index.d.ts) and of the media child (internal), whose messages are about this machine.
 * Customers of a service get a general message, but the reader of a command's output operates the machine. The child is not
 * trusted, so control characters are removed.
 */
const ofMachine = /^(?:unavailable|no_engine|invalid_argument|io|internal): ([^\p{Cc}]{1,300})$/u;

/** How failures.ts reports a child that got SIGKILL, by itself or in bubblewrap. */
const killed = /^the media child ended with (?:signal SIGKILL|status 137)\b/;

/** How Node reports a failed write into an open file, whose path it does not know. */
const failedWrite = /^E[A-Z0-9]+: (.+), write$/;

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The database's message is more useful than the query.
  if (error.message.startsWith('Failed query') && error.cause !== undefined) return reasonOf(error.cause);
  if (error instanceof ReelmendError && error.cause instanceof Error) {
    const [, sentence] = ofMachine.exec(error.cause.message) ?? [];
    if (sentence !== undefined) return sentence;
    if (killed.test(error.cause.message)) return 'The system killed the process that works on the video, probably because it lacks memory.';
  }
  if (error instanceof ReelmendConnectionError) return withCause(error.message, error.cause);
  const { path, errno } = error as NodeJS.ErrnoException;
  if (path !== undefined && errno !== undefined) return `${path}: ${getSystemErrorMap().get(errno)?.[1] ?? `error ${errno}`}.`;
  return error.message.split('\n')[0]!.replace(failedWrite, 'Writing a file failed: $1.');
}

/** How OpenSSL reports an error: thread, number, library, function, reason, file and line, of which only the reason helps. */
const ofTls = /^.*?\berror:[0-9A-F]+:[^:]*:[^:]*:([^:]+):.*$/;

const tlsReason = (_whole: string, reason: string) =>
  reason === 'wrong version number' ? 'the server does not speak https; try http' : `TLS: ${reason}`;

/** `The service did not respond: getaddrinfo ENOTFOUND reelmend.example.com.` */
export function withCause(sentence: string, cause: unknown): string {
  const detail = detailOf(cause);
  return detail === undefined || sentence.includes(detail) ? sentence : `${sentence.replace(/\.$/, '')}: ${detail}.`;
}

/** What the innermost cause says, in one line. It may quote what a server sent, so control characters are removed. */
function detailOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause.cause instanceof Error) return detailOf(cause.cause);
  // An AggregateError, of a host name with several addresses, has a code only.
  const text = cause.message || ((cause as NodeJS.ErrnoException).code ?? '');
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim().replace(ofTls, tlsReason).slice(0, 200).replace(/\.$/, '') || undefined;
}

/** Reads the headers of a video server's response strictly: what is doubtful is a failure. */
import { NetFailure } from './failure.ts';
import type { HttpResponse } from './session.ts';

const passingStatuses = new Set([429, 500, 502, 503, 504]);

/** Throws NetFailure for a status other than the expected ones, a compressed body, or a web page. */
export function expectVideo(response: HttpResponse, statuses: readonly number[]): void {
  const { status } = response;
  if (!statuses.includes(status)) {
    const message = `the server answered with status ${status}`;
    throw new NetFailure('status', message, { retryable: passingStatuses.has(status) });
  }
  // Decompressing could fill the memory (a zip bomb), and ranges would count other bytes than lengths.
  const encoding = response.header('content-encoding');
  if (encoding !== null && encoding.trim().toLowerCase() !== 'identity' && encoding.trim() !== '') {
    throw new NetFailure('content', 'the server sends the file compressed (Content-Encoding), which is not accepted');
  }
  const type = (response.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (status !== 416 && (type === 'text/html' || type === 'application/xhtml+xml')) {
    throw new NetFailure('content', 'the server answered with a web page instead of a video file');
  }
}

function badRange(): NetFailure {
  return new NetFailure('protocol', 'the server answered a range request with a wrong Content-Range');
}

/** Content-Length in bytes, null when absent. */
export function declaredLength(response: HttpResponse): number | null {
  const text = response.header('content-length');
  if (text === null) return null;
  const length = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(length)) {
    throw new NetFailure('protocol', 'the server declared a length that is no number');
  }
  return length;
}

export interface Part {
  start: number;
  /** inclusive */
  end: number;
  total: number;
}

/** Content-Range of a 206, which must begin at `start` and name the total. */
export function partOf(response: HttpResponse, start: number): Part {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(response.header('content-range') ?? '');
  if (match === null) throw badRange();
  const part = { start: Number(match[1]), end: Number(match[2]), total: Number(match[3]) };
  const sane = part.start === start && part.end >= start && part.end < part.total && Number.isSafeInteger(part.total);
  const length = declaredLength(response);
  if (!sane || (length !== null && length !== part.end - part.start + 1)) throw badRange();
  return part;
}

/** The size of the file that a 416 states; null if it states none. */
export function sizeOfUnsatisfied(response: HttpResponse): number | null {
  const match = /^bytes \*\/(\d+)$/i.exec(response.header('content-range') ?? '');
  return match === null ? null : Number(match[1]);
}

/** Identify one version of a file. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

export function validatorsOf(response: HttpResponse): Validators {
  return { etag: response.header('etag'), lastModified: response.header('last-modified') };
}

/** Compares the kind of validator that both sides have, weak ETags as well. */
function compareSources(a: Validators, b: Validators): 'same' | 'different' | 'unknown' {
  const opaque = (tag: string) => tag.replace(/^W\//, '');
  const compare = (one: string, other: string) => (one === other ? 'same' : 'different');
  if (a.etag !== null && b.etag !== null) return compare(opaque(a.etag), opaque(b.etag));
  if (a.lastModified !== null && b.lastModified !== null) return compare(a.lastModified, b.lastModified);
  return 'unknown';
}

/** False only if both sides have the same kind of validator and it differs. */
export const sameSource = (a: Validators, b: Validators): boolean => compareSources(a, b) !== 'different';

/** True only if both sides have the same kind of validator and it is equal. */
export const provenSame = (a: Validators, b: Validators): boolean => compareSources(a, b) === 'same';

/** The ETag if it is strong: it changes with every byte. */
export function strongTag({ etag }: Validators): string | null {
  return etag === null || etag.startsWith('W/') ? null : etag;
}

const entityTag = /^(?:W\/)?"[^"]*"$/;
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Value for If-Range; null without a strong validator (RFC 9110 forbids weak ETags here). Some servers send ETags without quotes, or
 * dates of their own format, which they do not recognise in If-Range.
 */
export function ifRange(validators: Validators): string | null {
  const { etag, lastModified } = validators;
  if (etag !== null && entityTag.test(etag)) return strongTag(validators);
  return lastModified !== null && httpDate.test(lastModified) ? lastModified : null;
}

/** Headers of a range request, under If-Range if there is a condition; `end` inclusive, to the end of the file when absent. */
export function rangeHeaders(condition: string | null, start: number, end?: number): Record<string, string> {
  return { range: `bytes=${start}-${end ?? ''}`, ...(condition === null ? {} : { 'if-range': condition }) };
}

/** The response to a range request is the whole file, unchanged. */
export function wholeFile(): NetFailure {
  return new NetFailure('protocol', 'the server answered a range request with the whole file');
}

export function sourceChanged(): NetFailure {
  return new NetFailure('changed', 'the file changed on the server while it was being read');
}

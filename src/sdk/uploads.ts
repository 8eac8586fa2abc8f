/** Sends a file in parts, and continues after a broken connection. */
import { assertNumbers, isTransient, retryDelayMs, signedUrlError, type CallOptions } from './call.ts';
import { ReelmendConnectionError, ReelmendTimeoutError, UploadFailedError } from './errors.ts';
import { throughOutage } from './outage.ts';
import { pause, withTimeLimit } from './pause.ts';
import type { Upload, UploadCompletion, UploadInput, UploadPart } from './types.gen.ts';

export interface UploadProgress {
  /** Pass it to `uploads.resume` to continue in another process. */
  uploadId: string;
  /** Bytes that the service has, as far as known. */
  sentBytes: number;
  totalBytes: number;
}

export interface SendOptions extends CallOptions {
  /** Called at the start and after each part. If it throws, the upload ends with that error. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Parts that are sent at the same time; default 3, at most 8. Fewer while parts time out, because the line is slow. */
  parallelParts?: number | undefined;
}

export interface UploadOptions extends SendOptions {
  /** Name of the file; default: that of a `File`. Results are named after it. */
  name?: string | undefined;
  /**
   * Your own key for this file: after a restart of your process, the same call continues the upload. Otherwise one is generated. The service
   * keeps it as long as the upload.
   */
  idempotencyKey?: string | undefined;
}

/** The calls that continue an upload. A web page sends them to a server of yours, which has the API key. */
export interface UploadCalls {
  get(id: string, options?: CallOptions): Promise<Upload>;
  complete(id: string, body: UploadCompletion, options?: CallOptions): Promise<Upload>;
}

export interface SendDefaults {
  fetch: (request: Request) => Promise<Response>;
  maxRetries: number;
}

/** For `get` and `complete` of a web page: the sending goes on after this error, for up to a minute. It waits `retryAfterS`, if given. */
export { ReelmendConnectionError };

/** ms for one part; a slower line sends it again */
const partTimeoutMs = 290_000;
const mostParallelParts = 8;
/** characters of an idempotency key */
const longestKey = 255;
const firstPollMs = 250;
const longestPollMs = 3000;

/** Creates an upload, sends the file and resolves with the upload when it is `ready`. */
export async function sendFile(
  calls: UploadCalls & { begin(body: UploadInput, options?: CallOptions & Pick<UploadOptions, 'idempotencyKey'>): Promise<Upload> },
  defaults: SendDefaults,
  file: Blob,
  options: UploadOptions = {},
): Promise<Upload> {
  assertBlob(file);
  const { name = (file as Partial<File>).name, idempotencyKey, ...rest } = options;
  if (name === undefined || name === '') throw new TypeError('The file has no name: give one in the option `name`.');
  assertChecksums();
  const upload = await calls.begin({ file_name: baseName(name), size_bytes: file.size }, { ...callOptions(options), idempotencyKey });
  return send(calls, defaults, { upload, file, options: rest });
}

/** Sends the missing parts of an upload that was begun earlier, by this process or another. */
export async function resumeFile(
  calls: UploadCalls,
  defaults: SendDefaults,
  { id, file }: { id: string; file: Blob },
  options: SendOptions = {},
): Promise<Upload> {
  assertBlob(file);
  const upload = await calls.get(id, callOptions(options));
  if (upload.size_bytes !== file.size) {
    throw new TypeError(`The file has ${file.size} bytes; the upload was begun for ${upload.size_bytes}.`);
  }
  return send(calls, defaults, { upload, file, options });
}

export interface SendUploadOptions extends SendOptions {
  /** the upload as your server got it from `uploads.begin` */
  upload: Upload;
  file: Blob;
  /** Returns the upload with fresh URLs: `uploads.get` on your server. */
  get: UploadCalls['get'];
  /** `uploads.complete` on your server. */
  complete: UploadCalls['complete'];
}

/**
 * For web pages, which must not have an API key: sends the file of an upload that your server began, directly to the service
 * or its bucket. Resolves and rejects like `uploads.create`.
 */
export function sendUpload({ upload, file, get, complete, ...options }: SendUploadOptions): Promise<Upload> {
  const defaults = { fetch: (request: Request) => fetch(request), maxRetries: 3 };
  return send({ get, complete }, defaults, { upload, file, options });
}

interface Sending {
  upload: Upload;
  file: Blob;
  options: SendOptions;
}

async function send(calls: UploadCalls, defaults: SendDefaults, sending: Sending): Promise<Upload> {
  const { file, options } = sending;
  let { upload } = sending;
  assertNumbers({ maxRetries: options.maxRetries, timeoutMs: options.timeoutMs, parallelParts: options.parallelParts });
  if (upload.status === 'waiting') {
    assertChecksums();
    upload = await sendParts(calls, defaults, sending);
    const part_sha256 = await hashParts(file, upload.part_size_bytes, options.signal);
    const complete = () => calls.complete(upload.id, { part_sha256 }, callOptions(options));
    upload = await throughOutage(complete, options.signal);
  }
  report(options, upload);
  return untilVerified(calls, upload, options);
}

/**
 * Sends all missing parts. Rounds without any progress end with the last error after `maxRetries` of them. A round ends when the
 * service responds, which may be away for up to a minute.
 */
async function sendParts(calls: UploadCalls, defaults: SendDefaults, { upload: first, file, options }: Sending): Promise<Upload> {
  const maxRetries = options.maxRetries ?? defaults.maxRetries;
  const most = Math.min(mostParallelParts, Math.max(1, Math.floor(options.parallelParts ?? 3)));
  const line: Line = { parallelParts: most, most };
  let upload = first;
  for (let failures = 0; upload.parts.length > 0; ) {
    report(options, upload);
    const before = upload.received_bytes ?? 0;
    const sendError = await sendListed(defaults, { upload, file, options }, line);
    options.signal?.throwIfAborted();
    upload = await freshState(calls, upload, options);
    if (upload.status !== 'waiting') return upload;
    failures = (upload.received_bytes ?? 0) > before ? 0 : failures + 1;
    if (sendError === undefined && failures === 0) continue;
    const error = sendError ?? new ReelmendConnectionError('The parts were sent, but the service does not have them.');
    const delay = failures > maxRetries ? undefined : retryDelayMs(error, Math.max(1, failures));
    if (delay === undefined) throw error;
    await pause(delay, options.signal);
  }
  return upload;
}

interface Line {
  /** parts at the same time; fewer after a timeout, because they share the line, and more again after a fast part */
  parallelParts: number;
  readonly most: number;
}

/** Sends the listed parts, several at a time. Returns the first error, but sends the other parts nevertheless. */
async function sendListed(defaults: SendDefaults, { upload, file, options }: Sending, line: Line): Promise<Error | undefined> {
  const queue = [...upload.parts];
  let sentBytes = upload.received_bytes ?? 0;
  let error: Error | undefined;
  // One more at a time makes a part at most twice as slow.
  const fastMs = (options.timeoutMs ?? partTimeoutMs) / 4;
  const workers: Promise<void>[] = [];
  const worker = async () => {
    for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
      const began = Date.now();
      try {
        await sendPart(defaults, part, file, options);
        if (line.parallelParts < line.most && Date.now() - began < fastMs) {
          line.parallelParts += 1;
          workers.push(worker());
        }
        sentBytes += part.size_bytes;
        report(options, { ...upload, received_bytes: sentBytes });
      } catch (failure) {
        error ??= failure as Error;
        // A refused part means that all are refused; a lost connection may be back for the next one.
        if (!isTransient(failure)) queue.length = 0;
        if (failure instanceof ReelmendTimeoutError && line.parallelParts > 1) {
          line.parallelParts -= 1;
          return;
        }
      }
    }
  };
  for (let count = line.parallelParts; count > 0; count -= 1) workers.push(worker());
  // Also those that are added meanwhile.
  for (const each of workers) await each;
  return error;
}

/** One attempt. The URL is signed, so no API key is sent. */
async function sendPart({ fetch }: SendDefaults, part: UploadPart, file: Blob, { signal, timeoutMs }: SendOptions): Promise<void> {
  const bytes = await file.slice(part.offset, part.offset + part.size_bytes).arrayBuffer();
  const ms = timeoutMs ?? partTimeoutMs;
  const error = () => new ReelmendTimeoutError(`A part was not sent within ${ms} ms.`);
  const afterSleep = () => new ReelmendConnectionError('The machine slept while a part was sent.');
  await withTimeLimit({ ms, signal, error, afterSleep }, async (inner) => {
    const request = new Request(part.url, { method: 'PUT', body: bytes, signal: inner, redirect: 'manual' });
    const response = await fetch(request).catch((cause: unknown) => {
      inner.throwIfAborted();
      throw new ReelmendConnectionError('The connection broke while a part was sent.', { cause });
    });
    const text = await response.text().catch(() => '');
    // 400 and 403: the part arrived incomplete, or its URL has expired.
    if (!response.ok) throw signedUrlError(response, parsed(text), [400, 403]);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // S3 answers in XML
  }
}

/** SHA-256 of each part. The file is read again, so that a part that an earlier process sent is covered as well. */
async function hashParts(file: Blob, partSize: number, signal: AbortSignal | undefined): Promise<string[]> {
  const hashes: string[] = [];
  for (let offset = 0; offset < file.size; offset += partSize) {
    signal?.throwIfAborted();
    hashes.push(await sha256(await file.slice(offset, offset + partSize).arrayBuffer()));
  }
  return hashes;
}

/** For JavaScript: a path, a Buffer or a stream has no size. */
function assertBlob(file: Partial<Blob> | null | undefined): void {
  if (typeof file?.size === 'number' && typeof file.slice === 'function') return;
  throw new TypeError('The file must be a Blob: a File of a form, or `await openAsBlob(path)` of node:fs.');
}

/** lower-case hex */
async function sha256(bytes: BufferSource): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The key under which the file of a job is sent. Keys of uploads and jobs are of one kind, so it cannot be the job's. */
export async function keyOfFile(keyOfJob: string): Promise<string> {
  const key = `${keyOfJob}.file`;
  // The service refuses a key that is too long for the job as well, before the file is sent.
  if (key.length <= longestKey || keyOfJob.length > longestKey) return key;
  assertChecksums();
  return `${await sha256(new TextEncoder().encode(keyOfJob))}.file`;
}

/** For before anything is begun or sent: the checksums are computed at the end. */
export function assertChecksums(): void {
  const { subtle } = crypto as Partial<Crypto>;
  if (subtle === undefined) throw new TypeError('This page cannot compute checksums: browsers allow that over https and on localhost only.');
}

/** Polls until the service has verified the file. Rejects with UploadFailedError if it differs from its checksum. */
async function untilVerified(calls: UploadCalls, first: Upload, options: SendOptions): Promise<Upload> {
  let upload = first;
  for (let ms = firstPollMs; upload.status === 'verifying'; ms = Math.min(ms * 1.5, longestPollMs)) {
    await pause(ms, options.signal);
    upload = await freshState(calls, upload, options);
  }
  if (upload.status === 'failed') throw new UploadFailedError(upload);
  return upload;
}

const freshState = (calls: UploadCalls, { id }: Upload, options: SendOptions) =>
  throughOutage(() => calls.get(id, callOptions(options)), options.signal);

function report({ onProgress }: SendOptions, { id, received_bytes, size_bytes }: Upload): void {
  onProgress?.({ uploadId: id, sentBytes: received_bytes ?? 0, totalBytes: size_bytes });
}

/** Calls have their own time limit; `timeoutMs` of an upload is for its parts. */
const callOptions = ({ signal, maxRetries }: CallOptions): CallOptions => ({ signal, maxRetries });

/** A name that the service accepts for a file: without folders and control characters. */
export function baseName(name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  const clean = [...last.replace(/[\x00-\x1f\x7f]/g, '_')].slice(-255).join('');
  return clean === '' ? 'video' : clean;
}

/** Fetches results: into a file, or into memory. */
import { retryDelayMs, signedUrlError, type CallOptions } from './call.ts';
import { ReelmendConnectionError, ReelmendError, ReelmendTimeoutError } from './errors.ts';
import { throughOutage } from './outage.ts';
import { pause, withTimeLimit } from './pause.ts';
import { nodeModule } from './runtime.ts';
import type { Job, JobResult } from './types.gen.ts';

export interface DownloadProgress {
  receivedBytes: number;
  totalBytes: number;
}

export interface DownloadOptions extends CallOptions {
  /** Called at the start and with each piece that arrives. If it throws, the download ends with that error. */
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** A result that was written to a file. */
export interface DownloadedFile {
  path: string;
  sizeBytes: number;
  /** lower-case hex; equals `output.sha256` of the job */
  sha256: string;
}

export interface ResultCalls {
  get(id: string, options?: CallOptions): Promise<Job>;
  result(id: string, options?: CallOptions): Promise<JobResult>;
}

export interface DownloadDefaults {
  fetch: (request: Request) => Promise<Response>;
  maxRetries: number;
  timeoutMs: number;
}

/** Reconnects after this many ms without any byte. */
const silenceMs = 60_000;

/** Pieces of up to 64 KiB that are read ahead of the consumer. */
const readsAhead = 256;

/** The used part of `node:fs/promises`, `node:crypto` and `node:path`; the package is built without Node's types. */
interface FileSystem {
  open(path: string, flags: string): Promise<{ appendFile(bytes: Uint8Array): Promise<void>; close(): Promise<void> }>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
  stat(path: string): Promise<{ isFile(): boolean }>;
}
interface Paths {
  dirname(path: string): string;
  join(...parts: string[]): string;
}
interface Hashing {
  createHash(name: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string };
}

/** Writes the result into a file that appears under its name only when it is complete and its checksum is right. */
export async function downloadFile(
  calls: ResultCalls,
  defaults: DownloadDefaults,
  { id, path }: { id: string; path: string },
  options: DownloadOptions = {},
): Promise<DownloadedFile> {
  const { files, paths } = await checkedTarget(path);
  // Not the name with something appended: the name may have all the bytes that a file system allows.
  const draft = paths.join(paths.dirname(path), `reelmend-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}.part`);
  const { output, bytes } = await openResult(calls, defaults, id, options);
  try {
    const file = await files.open(draft, 'wx');
    try {
      for await (const chunk of bytes) await file.appendFile(chunk);
    } finally {
      await file.close();
    }
    await files.rename(draft, path);
    return { path, sizeBytes: output.size_bytes, sha256: output.sha256 };
  } finally {
    await files.rm(draft, { force: true });
  }
}

/** What writes files here. Rejects if this runtime has none of it, or if the path names no file or lies in no folder. */
export async function checkedTarget(path: string): Promise<{ files: FileSystem; paths: Paths }> {
  const files = nodeModule<FileSystem>('node:fs/promises');
  const paths = nodeModule<Paths>('node:path');
  if (files === undefined || paths === undefined) {
    throw new TypeError('This runtime cannot write files (Node can from 20.16 on). Use jobs.downloadBlob, or open download_url of jobs.result.');
  }
  // The result would take the place of a device, such as /dev/null, also for all other programs.
  const found = await files.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw new TypeError(`${path} is no file: name a file for the result.`);
  await files.stat(paths.dirname(path));
  return { files, paths };
}

/** Resolves with the whole result in memory. */
export async function downloadBlob(
  calls: ResultCalls,
  defaults: DownloadDefaults,
  id: string,
  options: DownloadOptions = {},
): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const { bytes } = await openResult(calls, defaults, id, options);
  for await (const chunk of bytes) chunks.push(chunk);
  return new Blob(chunks, { type: 'video/mp4' });
}

/** Resolves with a stream that reads no further than its consumer. */
export async function downloadStream(
  calls: ResultCalls,
  defaults: DownloadDefaults,
  id: string,
  options: DownloadOptions = {},
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { bytes } = await openResult(calls, defaults, id, options);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async (controller) => {
        const { done, value } = await bytes.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await bytes.return()),
    },
    { highWaterMark: 0 },
  );
}

interface OpenResult {
  output: NonNullable<Job['output']>;
  bytes: AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>;
}

/** Rejects with ConflictError if the job is not done. */
async function openResult(calls: ResultCalls, defaults: DownloadDefaults, id: string, options: DownloadOptions): Promise<OpenResult> {
  // The call for the link reports why there is no result: not done yet, failed, deleted.
  const { download_url } = await calls.result(id, callOptions(options));
  const { output } = await calls.get(id, callOptions(options));
  if (output === null) throw new ReelmendError(`The job ${id} has no result.`);
  const source = { url: download_url, totalBytes: output.size_bytes };
  const freshUrl = async () => (await calls.result(id, callOptions(options))).download_url;
  return { output, bytes: verified(resultBytes({ source, freshUrl, defaults }, options), id, output.sha256) };
}

/** Yields the bytes, and throws at their end if their checksum is wrong. Without `node:crypto`, nothing computes one piece by piece. */
async function* verified(bytes: AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>, id: string, sha256: string) {
  const hash = nodeModule<Hashing>('node:crypto')?.createHash('sha256');
  for await (const chunk of bytes) {
    hash?.update(chunk);
    yield chunk;
  }
  if (hash !== undefined && hash.digest('hex') !== sha256) throw new ReelmendError(`The result of ${id} does not have the checksum of the job.`);
}

interface Receiving {
  source: { url: string; totalBytes: number };
  freshUrl(): Promise<string>;
  defaults: DownloadDefaults;
}

/**
 * Yields the bytes in order. Continues after a broken connection, with a fresh link: `maxRetries` limits the connections without any
 * byte. The service may be away for up to a minute.
 */
async function* resultBytes({ source, freshUrl, defaults }: Receiving, options: DownloadOptions) {
  const { signal, onProgress } = options;
  const { totalBytes } = source;
  let { url } = source;
  let receivedBytes = 0;
  onProgress?.({ receivedBytes, totalBytes });
  for (let failures = 0; ; ) {
    try {
      for await (const chunk of receive(url, receivedBytes, defaults, options)) {
        failures = 0;
        receivedBytes += chunk.length;
        yield chunk;
        onProgress?.({ receivedBytes, totalBytes });
      }
      if (receivedBytes === totalBytes) return;
      throw new ReelmendConnectionError(`The result ended after ${receivedBytes} of ${totalBytes} bytes.`);
    } catch (failure) {
      signal?.throwIfAborted();
      // All bytes are here: how their connection ends does not matter.
      if (receivedBytes === totalBytes && failure instanceof ReelmendConnectionError) return;
      failures += 1;
      const delay = failures > (options.maxRetries ?? defaults.maxRetries) ? undefined : retryDelayMs(failure, failures);
      if (delay === undefined) throw failure;
      await pause(delay, signal);
    }
    url = await throughOutage(freshUrl, signal);
  }
}

/** Yields the bytes from `offset` on, from one connection. */
async function* receive(url: string, offset: number, { fetch, timeoutMs }: DownloadDefaults, { signal, timeoutMs: ms = timeoutMs }: DownloadOptions) {
  const headers: Record<string, string> = offset === 0 ? {} : { Range: `bytes=${offset}-` };
  const late = () => new ReelmendTimeoutError(`The result did not arrive within ${ms} ms.`);
  const connection = new AbortController();
  const response = await withTimeLimit({ ms, signal, error: late }, (inner) => {
    inner.addEventListener('abort', () => connection.abort(inner.reason), { once: true });
    return connect(fetch, new Request(url, { headers, signal: connection.signal }));
  });
  // A server without support for ranges sends the file from its start.
  let skipped = response.status === 206 ? 0 : offset;
  const reader = response.body!.getReader();
  const error = () => new ReelmendConnectionError('The result stopped arriving.');
  // The fetch of Node 24 ends the process if a server closes the connection while nobody reads from it (nodejs/undici#5360).
  const read = () => {
    const piece = reader.read();
    piece.catch(() => {}); // it is also awaited below, unless an earlier one fails
    return piece;
  };
  const pieces = Array.from({ length: readsAhead }, read);
  try {
    for (;;) {
      const { done, value } = await withTimeLimit({ ms: silenceMs, signal, error }, () => broken(next(pieces, read)));
      if (done) return;
      pieces.push(read());
      const fresh = value.subarray(Math.min(skipped, value.length));
      skipped -= value.length - fresh.length;
      if (fresh.length > 0) yield fresh as Uint8Array<ArrayBuffer>;
    }
  } finally {
    reader.cancel().catch(() => {});
    // In Firefox, the connection stays open if a stream is only cancelled while reads wait.
    connection.abort();
  }
}

/**
 * The next piece. Cloudflare Workers allow one pending read of a stream and reject all others: those are skipped, so that one read
 * at a time remains. Of a broken stream all reads fail, also the one that is made when none is left.
 */
async function next<Piece>(pieces: Promise<Piece>[], read: () => Promise<Piece>): Promise<Piece> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    try {
      return await piece;
    } catch {
      continue;
    }
  }
  return read();
}

async function connect(fetch: DownloadDefaults['fetch'], request: Request): Promise<Response> {
  const response = await broken(fetch(request));
  if (response.ok && response.body !== null) return response;
  // 403: the link has expired meanwhile.
  throw signedUrlError(response, await response.json().catch(() => undefined), [403]);
}

/** `fetch` rejects with a message that says how the connection failed. */
async function broken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new ReelmendConnectionError('The connection broke while the result was received.', { cause });
  }
}

/** Calls have their own time limit. */
const callOptions = ({ signal, maxRetries }: CallOptions): CallOptions => ({ signal, maxRetries });

/** Sends files in parts, as a customer's web page does, with the console's own calls. */
import type {
  ConsoleCompleteUploadData,
  ConsoleCompleteUploadResponse,
  ConsoleCreateUploadData,
  ConsoleCreateUploadResponse,
  ConsoleDeleteUploadData,
  ConsoleDeleteUploadResponse,
  ConsoleGetUploadData,
  ConsoleGetUploadResponse,
  Mode,
  Upload,
} from '../../contract/types.gen.ts';
import { assertChecksums, baseName, ReelmendConnectionError, sendUpload, type UploadProgress } from '../../sdk/uploads.ts';
import { sendOnce } from '../app/idempotency-keys.ts';
import { ApiError, call } from './client.ts';

/** The page may have been opened under another host name than the one in the URLs of the parts. */
function onThisHost(upload: Upload): Upload {
  const parts = upload.parts.map((part) => {
    const { pathname, search } = new URL(part.url);
    return pathname.startsWith('/v1/upload-parts/') ? { ...part, url: `${location.origin}${pathname}${search}` } : part;
  });
  return { ...upload, parts };
}

interface Abortable {
  signal?: AbortSignal | undefined;
}

const extraOf = ({ signal }: Abortable) => (signal === undefined ? {} : { signal });

const get = async (id: string, options: Abortable = {}): Promise<Upload> =>
  onThisHost(await call<ConsoleGetUploadData, ConsoleGetUploadResponse>('GET', '/console/api/uploads/{id}', { path: { id } }, extraOf(options)));

const complete = (id: string, body: ConsoleCompleteUploadData['body'], options: Abortable = {}): Promise<Upload> =>
  call<ConsoleCompleteUploadData, ConsoleCompleteUploadResponse>('POST', '/console/api/uploads/{id}/complete', { path: { id }, body }, extraOf(options));

const transientStatuses = [0, 429, 502, 503, 504];

/** `sendUpload` goes on through outages that it sees as such: as errors of the SDK. */
function withSdkErrors<A extends unknown[], T>(send: (...inputs: A) => Promise<T>): (...inputs: A) => Promise<T> {
  return (...inputs) =>
    send(...inputs).catch((error: unknown) => {
      const isTransient = error instanceof ApiError && transientStatuses.includes(error.status);
      throw isTransient ? new ReelmendConnectionError(error.message, { cause: error, retryAfterS: error.retryAfterS }) : error;
    });
}

export interface FileToSend {
  file: File;
  mode: Mode;
  /** of an upload of this file that was broken off; null: there is none */
  uploadId: string | null;
  /** `part`: 0…1 */
  onProgress: (part: number, uploadId: string) => void;
  signal: AbortSignal;
}

/** A file that cannot be sent, however often it is tried. */
export class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError';
}

/** Names of what browsers throw for a file that is not as it was when it was chosen. Their sentences say nothing of that. */
const readErrors: ReadonlySet<string> = new Set(['NotReadableError', 'NotFoundError']);

/** Sends a file, or what is missing of it, and resolves when its upload is ready for jobs. */
export async function sendFile({ file, mode, uploadId, onProgress, signal }: FileToSend): Promise<void> {
  assertChecksums();
  if (file.size === 0) throw new UnusableFileError('The file is empty.');
  const upload = (uploadId === null ? null : await unfinished(uploadId, signal)) ?? (await begin({ file, mode, signal }));
  const progress = ({ uploadId: id, sentBytes, totalBytes }: UploadProgress) => onProgress(sentBytes / totalBytes, id);
  try {
    await sendUpload({ upload, file, get: withSdkErrors(get), complete: withSdkErrors(complete), onProgress: progress, signal });
  } catch (cause) {
    if (!(cause instanceof DOMException && readErrors.has(cause.name))) throw cause;
    throw new UnusableFileError('The file was changed, moved or deleted after it was chosen. Remove it here and choose it again.', { cause });
  }
}

/** The upload to go on with; null where it has failed or is gone, so that the file is sent anew. */
async function unfinished(id: string, signal: AbortSignal): Promise<Upload | null> {
  try {
    const upload = await get(id, { signal });
    return upload.status === 'failed' ? null : upload;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

const numbers = new WeakMap<File, number>();
let lastNumber = 0;

/** Tells files apart that have the same name and size. */
function numberOf(file: File): number {
  const number = numbers.get(file) ?? (lastNumber += 1);
  numbers.set(file, number);
  return number;
}

/** Not aborted halfway: only the answer names the upload, which has to be deleted then. */
async function begin({ file, mode, signal }: Pick<FileToSend, 'file' | 'mode' | 'signal'>): Promise<Upload> {
  signal.throwIfAborted();
  const body = { mode, request: { file_name: baseName(file.name), size_bytes: file.size } };
  const create = (idempotencyKey: string) =>
    call<ConsoleCreateUploadData, ConsoleCreateUploadResponse>('POST', '/console/api/uploads', { body }, { idempotencyKey });
  const upload = onThisHost(await sendOnce({ upload: body, file: numberOf(file) }, create));
  if (signal.aborted) await deleteUpload(upload.id).catch(() => undefined);
  signal.throwIfAborted();
  return upload;
}

/** Uploads that jobs or previews are made of. */
const kept = new Set<string>();

export const isKept = (id: string): boolean => kept.has(id);

/** Keeps uploads when their list is left, while `create` makes something of them. `made`: those that it has used, though it may throw. */
export async function keepWhile<T>(ids: readonly string[], made: () => readonly string[], create: () => Promise<T>): Promise<T> {
  const added = ids.filter((id) => !kept.has(id));
  for (const id of added) kept.add(id);
  try {
    return await create();
  } catch (error) {
    for (const id of added) if (!made().includes(id)) kept.delete(id);
    throw error;
  }
}

/** Also while the page is being closed. */
export function deleteUpload(id: string): Promise<ConsoleDeleteUploadResponse> {
  return call<ConsoleDeleteUploadData, ConsoleDeleteUploadResponse>('DELETE', '/console/api/uploads/{id}', { path: { id } }, { keepalive: true });
}

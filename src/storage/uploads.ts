/** Files that the console of a local demo uploads. They are kept for a day and served to the service itself only. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ReelmendError } from '../domain/errors.ts';
import { defaultVideoLimits } from '../domain/limits.ts';
import { readDiskUsage } from './disk.ts';
import { isMissing } from './files.ts';

/** `<dataDir>/uploads/<account>/<name>` */
export const uploadsFolder = (dataDir: string): string => join(dataDir, 'uploads');

/** ms; a job fetches its source within minutes */
const keepMs = 24 * 3600_000;
const uploadName = /^acct_[0-9a-hjkmnp-tv-z]{26}\/[0-9a-f]{32}\.mp4$/;
/** bytes that uploads leave free on the file system */
const reservedBytes = 1_000_000_000;
/** seconds after which there may be disk space again */
const retryAfterS = 60;

export interface UploadOptions {
  /** for uploads only; made if missing */
  folder: string;
  /** URL of a stored file */
  urlOf(name: string): string;
  /** bytes of one file; default 2,000,000,000 */
  maxBytes?: number;
  /** bytes that the files of one account may have together; default 4,000,000,000 */
  accountBytes?: number;
  /** free bytes of the folder's file system; default: read from the system */
  freeBytes?(): Promise<number>;
}

export interface Upload {
  /** whose quota it uses */
  accountId: string;
  /** announced size; undefined: up to `maxBytes` */
  sizeBytes?: number | undefined;
  signal: AbortSignal;
}

export interface KeptUpload {
  url: string;
  sizeBytes: number;
}

type Limits = Required<Omit<UploadOptions, 'urlOf'>>;

/**
 * `save` stores the whole file or nothing. Throws ReelmendError `payload_too_large`, `invalid_request` for an empty file,
 * `rate_limit_exceeded` over the account's quota, and `service_unavailable` if disk space is short.
 */
export function createUploads({ urlOf, ...options }: UploadOptions) {
  const freeBytes = async () => (await readDiskUsage(options.folder)).freeBytes;
  const { maxBytes = defaultVideoLimits.bytes } = options;
  const limits: Limits = { accountBytes: 2 * maxBytes, freeBytes, ...options, maxBytes };
  /** expected bytes of the running uploads, by account; one upload per account at a time, so that the quota holds */
  const running = new Map<string, number>();
  return {
    async save(body: AsyncIterable<Uint8Array>, { accountId, sizeBytes, signal }: Upload): Promise<KeptUpload> {
      if (running.has(accountId)) throw overQuota('Another upload of the account is running', retryAfterS);
      running.set(accountId, sizeBytes ?? limits.maxBytes);
      try {
        const allowed = await allowedBytes(limits, accountId, [...running.values()]);
        const name = `${accountId}/${randomBytes(16).toString('hex')}.mp4`;
        return { url: urlOf(name), sizeBytes: await keep(body, join(limits.folder, name), allowed, signal) };
      } finally {
        running.delete(accountId);
      }
    },
  };
}

interface Allowed {
  /** of one file */
  maxBytes: number;
  /** of the account until its quota is full */
  leftBytes: number;
  /** until some of that is free again */
  retryAfterS: number;
}

async function allowedBytes(limits: Limits, accountId: string, expected: number[]): Promise<Allowed> {
  const needed = expected.reduce((sum, bytes) => sum + bytes, reservedBytes);
  if ((await limits.freeBytes()) < needed) {
    throw new ReelmendError('service_unavailable', 'There is not enough disk space for the file. Retry later.', { retryAfterS });
  }
  const files = await filesIn(join(limits.folder, accountId));
  const keptBytes = files.reduce((sum, { size }) => sum + size, 0);
  const oldestMs = Math.min(...files.map(({ mtimeMs }) => mtimeMs), Date.now());
  const waitS = Math.max(1, Math.ceil((oldestMs + keepMs - Date.now()) / 1000));
  return { maxBytes: limits.maxBytes, leftBytes: limits.accountBytes - keptBytes, retryAfterS: waitS };
}

function overQuota(what: string, retryAfter: number): ReelmendError {
  return new ReelmendError('rate_limit_exceeded', `${what}; retry after ${retryAfter} s.`, { retryAfterS: retryAfter });
}

async function keep(body: AsyncIterable<Uint8Array>, path: string, allowed: Allowed, signal: AbortSignal): Promise<number> {
  const draft = `${path}.draft`;
  try {
    const sizeBytes = await write(body, draft, allowed, signal);
    if (sizeBytes === 0) throw new ReelmendError('invalid_request', 'The file is empty.');
    await rename(draft, path);
    return sizeBytes;
  } finally {
    await rm(draft, { force: true });
  }
}

async function write(
  body: AsyncIterable<Uint8Array>,
  path: string,
  { maxBytes, leftBytes, retryAfterS: waitS }: Allowed,
  signal: AbortSignal,
): Promise<number> {
  let sizeBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) {
        throw new ReelmendError('payload_too_large', `The file is larger than ${maxBytes} bytes.`);
      }
      if (sizeBytes > leftBytes) throw overQuota('The uploads of the account are too large together', waitS);
      yield chunk;
    }
  }
  const draft = await createDraft(path);
  await pipeline(Readable.from(counted(), { objectMode: false }), draft.createWriteStream(), { signal });
  return sizeBytes;
}

/** Makes the file and its folder, which a sweep may remove again while it is empty (removeExpiredUploads). */
async function createDraft(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    await mkdir(dirname(path), { recursive: true });
    try {
      return await open(path, 'w');
    } catch (error) {
      if (!isMissing(error) || attempt === 5) throw error;
    }
  }
}

/** Path of an uploaded file; null for a name that no upload can have. */
export function uploadPath(folder: string, name: string): string | null {
  return uploadName.test(name) ? join(folder, name) : null;
}

interface FoundFile {
  path: string;
  size: number;
  mtimeMs: number;
}

/** All files below the folder, drafts too. Files that disappear meanwhile are skipped; a missing folder has none. */
async function filesIn(folder: string): Promise<FoundFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const found = await Promise.all(files.map((path) => stat(path).then(({ size, mtimeMs }) => ({ path, size, mtimeMs }), () => null)));
  return found.filter((file) => file !== null);
}

/** Removes files older than a day, drafts of broken uploads too, and then empty folders. */
export async function removeExpiredUploads(folder: string): Promise<void> {
  for (const { path, mtimeMs } of await filesIn(folder)) {
    if (Date.now() - mtimeMs > keepMs) await rm(path, { force: true });
  }
  for (const name of await readdir(folder).catch(() => [])) {
    // Fails for a folder with files, or a file, which stay.
    await rmdir(join(folder, name)).catch(() => undefined);
  }
}

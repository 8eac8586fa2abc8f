/**
 * Multipart uploads of the filesystem storage: `<root>/parts/<hash of the key>.<id>/<number>`, one file for each part. A
 * part is written under another name first, so that it is complete or absent. The folder is created only when the transfer
 * begins: after its removal, no part can arrive any more.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, syncFolder } from './files.ts';
import { hashPrefix } from './object-keys.ts';
import type { MultipartUpload, StoredPart } from './types.ts';

const folderOf = (root: string, { key, id }: MultipartUpload): string => join(root, hashPrefix(key) + id);

/** The error for a part with more or fewer bytes than planned. */
export class PartSizeError extends Error {
  override readonly name = 'PartSizeError';
  /** received bytes; reading stops at the first byte too many */
  readonly received: number;
  readonly expected: number;

  constructor(received: number, expected: number) {
    super(`Expected a part of ${expected} bytes but received ${received > expected ? 'more' : received}`);
    this.received = received;
    this.expected = expected;
  }
}

export async function createParts(root: string, key: string): Promise<MultipartUpload> {
  const upload = { key, id: randomBytes(16).toString('hex') };
  await mkdir(root, { recursive: true, mode: 0o700 });
  await mkdir(folderOf(root, upload), { mode: 0o700 });
  await syncFolder(root);
  return upload;
}

/**
 * Stores one part completely and on disk, or not at all. Returns false if the transfer has ended. Throws PartSizeError, or
 * the error of reading the body.
 */
export async function writePart(
  root: string,
  upload: MultipartUpload,
  { number, size }: StoredPart,
  body: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  const folder = folderOf(root, upload);
  const draft = join(folder, `draft.${randomUUID()}`);
  let file: FileHandle;
  try {
    file = await open(draft, 'wx', 0o600);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  try {
    await receive(file, size, body);
    await rename(draft, join(folder, String(number)));
    await syncFolder(folder);
    return true;
  } catch (error) {
    await rm(draft, { force: true });
    if (isMissing(error)) return false;
    throw error;
  }
}

async function receive(file: FileHandle, size: number, body: AsyncIterable<Uint8Array>): Promise<void> {
  let received = 0;
  try {
    for await (const chunk of body) {
      received += chunk.byteLength;
      if (received > size) throw new PartSizeError(received, size);
      await file.writeFile(chunk);
    }
    if (received !== size) throw new PartSizeError(received, size);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The received parts, by number; null if the transfer has ended. */
export async function listParts(root: string, upload: MultipartUpload): Promise<StoredPart[] | null> {
  const folder = folderOf(root, upload);
  try {
    const numbers = (await readdir(folder)).filter((name) => /^\d+$/.test(name)).map(Number);
    numbers.sort((a, b) => a - b);
    return await Promise.all(numbers.map(async (number) => ({ number, size: (await lstat(join(folder, String(number)))).size })));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

export const partPath = (root: string, upload: MultipartUpload, number: number): string => join(folderOf(root, upload), String(number));

/** Removes one transfer with its parts. */
export const removeParts = (root: string, upload: MultipartUpload): Promise<void> =>
  rm(folderOf(root, upload), { recursive: true, force: true, maxRetries: 3 });

/** The folders of all transfers of a key. */
export async function partFoldersOf(root: string, key: string): Promise<string[]> {
  try {
    const prefix = hashPrefix(key);
    return (await readdir(root)).filter((name) => name.startsWith(prefix)).map((name) => join(root, name));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

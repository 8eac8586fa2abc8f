/**
 * Blobs in a folder of this machine: `<root>/objects/<key>`, written through `<root>/incoming`. Parts of uploads are in
 * `<root>/parts` (multipart-files.ts).
 */
import { randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { safeFileName } from './disposition.ts';
import { copyHashed, isMissing, syncFolder } from './files.ts';
import { checkKey, checkPrefix, hashPrefix } from './object-keys.ts';
import { makeLink, makePartLink, verifyLink, verifyPartLink } from './links.ts';
import type { LinkQuery, LinkVerifyResult, PartQuery, PartLinkVerifyResult } from './links.ts';
import { createParts, listParts, partFoldersOf, partPath, removeParts, writePart } from './multipart-files.ts';
import { PartsGoneError } from './parts-gone.ts';
import type { ByteRange, DownloadLink, MultipartUpload, Storage, StoredObject, StoredPart } from './types.ts';

export interface FilesystemStorageOptions {
  /** folder of the storage; created if absent */
  root: string;
  /** base URL of links, without a trailing slash; a function, because the port may be known only after listening */
  publicUrl: () => string;
  /** at least 16 characters; equal on every process that makes or serves links */
  linkSecret: string;
  /** milliseconds since 1970; default Date.now */
  clock?: () => number;
}

export interface FilesystemStorage extends Storage {
  readonly kind: 'filesystem';
  /** Checks the query of a download request against the signature and the clock, not whether the object exists. */
  verifyLink(query: LinkQuery): LinkVerifyResult;
  /** Checks the query of a request that sends a part in the same way. */
  verifyPartLink(query: PartQuery): PartLinkVerifyResult;
  /**
   * Stores a part completely or not at all; false if the transfer has ended. Throws PartSizeError if the body has more or
   * fewer bytes than the part.
   */
  writePart(upload: MultipartUpload, part: StoredPart, body: AsyncIterable<Uint8Array>): Promise<boolean>;
}

/** Drafts of killed processes are removed after so many ms. */
const staleDraftMs = 24 * 3600 * 1000;

export function createFilesystemStorage(options: FilesystemStorageOptions): FilesystemStorage {
  if (options.linkSecret.length < 16) throw new TypeError('linkSecret must have at least 16 characters');
  const clock = options.clock ?? Date.now;
  const folders = new Folders(resolve(options.root));
  return {
    kind: 'filesystem',
    putFile: (key, path, { signal }) => putFile(folders, checkKey(key), path, signal),
    getFile: (key, path, signal) => getFile(folders, checkKey(key), path, signal),
    stat: (key) => stat(folders, checkKey(key)),
    open: (key, range) => openObject(folders, checkKey(key), range),
    destroy: (key) => destroy(folders, checkKey(key)),
    isAbsent: (key) => isAbsent(folders, checkKey(key)),
    list: (prefix) => list(folders, checkPrefix(prefix)),
    link: async (key, { fileName, contentType, expiresInS }): Promise<DownloadLink> => {
      // Rounded up, so that a link is never valid for a shorter time than promised.
      const expires = Math.ceil(clock() / 1000) + expiresInS;
      const claims = { key: checkKey(key), expires, fileName: safeFileName(fileName), contentType };
      return { url: makeLink(options.publicUrl(), options.linkSecret, claims), expiresInS };
    },
    verifyLink: (query) => verifyLink(options.linkSecret, query, clock()),
    createMultipart: async (key) => {
      await folders.make();
      return createParts(folders.parts, checkKey(key));
    },
    linkPart: async ({ key, id }, { number, size, expiresInS }) => {
      const expires = Math.ceil(clock() / 1000) + expiresInS;
      const claims = { key: checkKey(key), upload: id, number, size, expires };
      return { url: makePartLink(options.publicUrl(), options.linkSecret, claims), expiresInS };
    },
    verifyPartLink: (query) => verifyPartLink(options.linkSecret, query, clock()),
    writePart: async (upload, part, body) => (await writePart(folders.parts, upload, part, body)) || folders.missing(false),
    listParts: async (upload) => (await listParts(folders.parts, upload)) ?? folders.missing([]),
    completeMultipart: (upload, whole) => completeMultipart(folders, upload, whole),
  };
}

/**
 * Paths in the storage; the first write creates the folders. If the folder of the objects was there and is missing later, its disk is not
 * mounted: then it is not created again, and nothing in it counts as missing.
 */
class Folders {
  readonly objects: string;
  readonly incoming: string;
  /** of multipart uploads */
  readonly parts: string;
  /** whether the folder of the objects was there */
  #isKnown = false;
  #swept: Promise<void> | undefined;

  constructor(root: string) {
    this.objects = join(root, 'objects');
    this.incoming = join(root, 'incoming');
    this.parts = join(root, 'parts');
  }

  path(key: string): string {
    return join(this.objects, key);
  }

  /** A new path in `incoming`, from where the object gets its name when it is complete. Destroy finds it by its prefix. */
  newDraft(key: string): string {
    return join(this.incoming, hashPrefix(key) + randomUUID());
  }

  /** Called before each write. Creates `incoming` again, because somebody may have removed it to free space. */
  async make(): Promise<void> {
    if (this.#isKnown) await this.assertThere();
    else await mkdir(this.objects, { recursive: true, mode: 0o700 });
    this.#isKnown = true;
    await mkdir(this.incoming, { recursive: true, mode: 0o700 });
    this.#swept ??= this.#sweep().catch((error: unknown) => {
      this.#swept = undefined;
      throw error;
    });
    await this.#swept;
  }

  async #sweep(): Promise<void> {
    const old = Date.now() - staleDraftMs;
    for (const name of await readdir(this.incoming)) {
      const path = join(this.incoming, name);
      const info = await lstat(path).catch(() => null);
      if (info !== null && info.mtimeMs < old) await rm(path, { force: true });
    }
  }

  /** Returns `answer`, which says that something is missing. Throws if the folder of the objects is missing although it was there. */
  async missing<T>(answer: T): Promise<T> {
    await this.assertThere().then(
      () => (this.#isKnown = true),
      (error: unknown) => {
        if (this.#isKnown) throw error;
      },
    );
    return answer;
  }

  async assertThere(): Promise<void> {
    await lstat(this.objects).catch((cause: unknown) => {
      throw Object.assign(new Error(`The folder ${this.objects} is missing: is its disk mounted?`, { cause }), { code: 'ENODEV' });
    });
  }
}

/**
 * Copies the bytes instead of linking: a process that still writes to the source must not change the stored object.
 * The copy is on disk (fsync) before it gets its name, and the name is on disk before this resolves.
 */
async function putFile(
  folders: Folders,
  key: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<StoredObject> {
  await folders.make();
  const draft = folders.newDraft(key);
  try {
    const source = await open(path, constants.O_RDONLY);
    const copied = await copyHashed(source.createReadStream(), draft, { sync: true, exclusive: true, signal });
    signal?.throwIfAborted();
    await moveToTarget(folders, draft, folders.path(key));
    return { key, size: copied.size, sha256: copied.sha256, version: null };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Renames the draft to its target. A concurrent destroy may remove the still empty folder; then tries again. */
async function moveToTarget(folders: Folders, draft: string, target: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      await rename(draft, target);
      break;
    } catch (error) {
      if (!isMissing(error) || attempt === 5) throw error;
      await lstat(draft); // throws if the draft is gone: its key was destroyed meanwhile
    }
  }
  let folder = dirname(target);
  for (; folder.startsWith(folders.objects); folder = dirname(folder)) {
    await syncFolder(folder).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }
}

const stat = async (folders: Folders, key: string): Promise<{ size: number } | null> => (await find(folders, key)) ?? folders.missing(null);

async function find(folders: Folders, key: string): Promise<{ size: number } | null> {
  try {
    const info = await lstat(folders.path(key));
    return info.isFile() ? { size: info.size } : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function openObject(folders: Folders, key: string, range?: ByteRange): Promise<Readable | null> {
  if ((await stat(folders, key)) === null) return null;
  let file: FileHandle;
  try {
    file = await open(folders.path(key), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isMissing(error)) return folders.missing(null);
    throw error;
  }
  if (range === undefined) return file.createReadStream();
  try {
    const { size } = await file.stat();
    if (range.start < 0 || range.start >= size || range.end < range.start) {
      throw new RangeError(`Expected a range within ${size} bytes but received ${range.start}-${range.end}`);
    }
    return file.createReadStream({ start: range.start, end: Math.min(range.end, size - 1) });
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function getFile(folders: Folders, key: string, path: string, signal?: AbortSignal): Promise<boolean> {
  const source = await openObject(folders, key);
  if (source === null) return false;
  await copyHashed(source, path, { sync: false, exclusive: false, signal });
  return true;
}

/** Copies the parts into one file, so that the object appears completely or not at all. */
async function completeMultipart(
  folders: Folders,
  upload: MultipartUpload,
  { count, size }: { count: number; size: number },
): Promise<{ version: null }> {
  await folders.make();
  const { key } = upload;
  const left = (await listParts(folders.parts, upload)) ?? [];
  if (left.filter(({ number }) => number <= count).length < count) {
    if ((await stat(folders, checkKey(key)))?.size !== size) throw new PartsGoneError(key);
    // A process that was killed after the object had its name may have removed only some of the parts.
    await removeParts(folders.parts, upload);
    return { version: null };
  }
  const draft = folders.newDraft(key);
  const paths = Array.from({ length: count }, (_, index) => partPath(folders.parts, upload, index + 1));
  const copied = await copyHashed(Readable.from(contents(paths)), draft, { sync: true, exclusive: true, signal: undefined });
  try {
    if (copied.size !== size) throw new Error(`The parts of ${key} have ${copied.size} bytes instead of ${size}`);
    await moveToTarget(folders, draft, folders.path(key));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await removeParts(folders.parts, upload);
  return { version: null };
}

async function* contents(paths: string[]): AsyncGenerator<Buffer> {
  for (const path of paths) yield* createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>;
}

async function destroy(folders: Folders, key: string): Promise<void> {
  for (const folder of await partFoldersOf(folders.parts, key)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  for (const draft of await draftsOf(folders, key)) await rm(draft, { force: true });
  const path = folders.path(key);
  if ((await find(folders, key)) === null) return;
  try {
    await unlink(path);
    await syncFolder(dirname(path));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  // Also removes empty parent folders, up to the first that is in use.
  for (let folder = dirname(path); folder !== folders.objects; folder = dirname(folder)) {
    const removed = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!removed) return;
  }
}

async function draftsOf(folders: Folders, key: string): Promise<string[]> {
  try {
    const names = await readdir(folders.incoming);
    const prefix = hashPrefix(key);
    return names.filter((name) => name.startsWith(prefix)).map((name) => join(folders.incoming, name));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** In the order in which parts become an object: a file that moves on meanwhile is found at its next place. */
async function isAbsent(folders: Folders, key: string): Promise<boolean> {
  if ((await partFoldersOf(folders.parts, key)).length > 0) return false;
  if ((await draftsOf(folders, key)).length > 0) return false;
  if ((await find(folders, key)) !== null) return false;
  // A certificate must not call files gone that are on a disk that is not mounted.
  await folders.assertThere();
  return true;
}

async function* list(folders: Folders, prefix: string): AsyncIterable<string> {
  const start = prefix.includes('/') ? prefix.slice(0, prefix.lastIndexOf('/')) : '';
  for await (const path of walk(join(folders.objects, start))) {
    const key = relative(folders.objects, path);
    if (key.startsWith(prefix)) yield key;
  }
}

async function* walk(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

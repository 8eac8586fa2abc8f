/** Blobs behind one interface: the filesystem for one machine, S3 for many. */
import type { Readable } from 'node:stream';

export interface StoredObject {
  key: string;
  size: number;
  /** lower-case hex */
  sha256: string;
  /** S3 version id; null if the storage keeps no versions */
  version: string | null;
}

export interface DownloadLink {
  url: string;
  /** less than was asked for if the credentials of the storage end earlier */
  expiresInS: number;
}

export interface ByteRange {
  /** first byte, inclusive */
  start: number;
  /** last byte, inclusive */
  end: number;
}

/** A transfer of one object in parts, made by `createMultipart`. The object appears when it is completed. */
export interface MultipartUpload {
  key: string;
  /** the storage's id of the transfer */
  id: string;
}

export interface StoredPart {
  /** 1, 2, 3 … */
  number: number;
  /** bytes */
  size: number;
}

/**
 * Keys are opaque slash-separated names made by the service (`[a-z0-9_/.-]+`, no `..`). A put is atomic: a key
 * is absent or whole. Errors of the storage itself are thrown as they are (retryable); a missing key is
 * `null` or `false`, never an exception.
 */
export interface Storage {
  readonly kind: 'filesystem' | 's3';
  putFile(key: string, path: string, options: { contentType: string; signal?: AbortSignal }): Promise<StoredObject>;
  /** Writes the object to `path`; false when the key is absent. */
  getFile(key: string, path: string, signal?: AbortSignal): Promise<boolean>;
  stat(key: string): Promise<{ size: number } | null>;
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Begins a transfer in parts. */
  createMultipart(key: string): Promise<MultipartUpload>;
  /** A signed URL, valid for `expiresInS`, for a PUT of one part of exactly `size` bytes. */
  linkPart(upload: MultipartUpload, part: StoredPart & { expiresInS: number }): Promise<DownloadLink>;
  /** The received parts, by number; none if the transfer is completed or was removed. */
  listParts(upload: MultipartUpload): Promise<StoredPart[]>;
  /**
   * Joins the parts 1…`count` into the object, `size` bytes together. May be called again after a success. Parts that arrive
   * later change nothing. Throws PartsGoneError if parts are missing.
   */
  completeMultipart(upload: MultipartUpload, whole: { count: number; size: number }): Promise<{ version: string | null }>;
  /** Removes all versions of the object and unfinished uploads of the key. Succeeds if there are none. */
  destroy(key: string): Promise<void>;
  /** True only if the storage itself reports that no version of the key exists. */
  isAbsent(key: string): Promise<boolean>;
  /** All keys under a prefix, for the reaper. */
  list(prefix: string): AsyncIterable<string>;
  /** A signed link, valid for `expiresInS`, that downloads under `fileName` and honours ranges. */
  link(key: string, options: { fileName: string; contentType: string; expiresInS: number }): Promise<DownloadLink>;
}

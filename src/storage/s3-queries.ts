/** Queries to a bucket that follow pages and handle the differences between servers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ListMultipartUploadsCommand, ListObjectsV2Command, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import type { ListMultipartUploadsCommandOutput, ListObjectVersionsCommandOutput, S3Client } from '@aws-sdk/client-s3';

export interface Bucket {
  client: S3Client;
  name: string;
  /**
   * ms within which the response to a request for an object begins, with all attempts of the SDK; its body may take longer
   */
  answerTimeoutMs: number;
}

/** Sends a request. Rejects with a TimeoutError if no response has begun in time. */
export async function answered<T>({ answerTimeoutMs }: Bucket, send: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), answerTimeoutMs);
  try {
    return await send({ abortSignal: late.signal });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw Object.assign(new Error(`The storage did not answer within ${answerTimeoutMs} ms`, { cause: error }), { name: 'TimeoutError' });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether an SDK error came with this HTTP status. */
export function isStatus(error: unknown, status: number): boolean {
  const metadata = (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata;
  return metadata?.httpStatusCode === status;
}

/** Names of errors whose 404 is about the key. Without a body, as after HEAD, the SDK makes a name of the status. */
const missingKey = new Set(['NoSuchKey', 'NoSuchVersion', 'NotFound', 'Unknown', 'UnknownError', '404']);
const missingUpload = new Set([...missingKey, 'NoSuchUpload']);

/** Whether the key is missing. Other 404s are operators' mistakes: NoSuchBucket, or versitygw's XAdminUserNotFound for an unknown access key. */
function isKeyMissing(error: unknown): boolean {
  return isStatus(error, 404) && missingKey.has((error as Error).name);
}

/** Whether the multipart upload is missing, independently of its key and bucket. */
export function isUploadMissing(error: unknown): boolean {
  return isStatus(error, 404) && missingUpload.has((error as Error).name);
}

/** The result of a request for an object; null if the key is missing. Throws if the bucket is missing or the access key is unknown. */
export async function unlessMissing<T>(bucket: Bucket, key: string, request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (!isKeyMissing(error)) throw error;
    if ((error as Error).name === 'NoSuchKey') return null;
  }
  // The response to HEAD does not say whether the key or the bucket is missing. This one does.
  const command = new ListObjectsV2Command({ Bucket: bucket.name, Prefix: key, MaxKeys: 1 });
  await answered(bucket, (options) => bucket.client.send(command, options));
  return null;
}

/** ms within which a server joins the parts of an upload, and between two requests for the object */
const joinTimeoutMs = 15 * 60_000;
const joinPollMs = 1000;

/**
 * The object of a completed multipart upload, once `find` finds it; null if it does not appear. versitygw copies the parts, which may take
 * longer than the client waits for a response, and reports success to the repeated request while it still copies.
 */
export async function untilJoined<T>(find: () => Promise<T | null>, signal?: AbortSignal): Promise<T | null> {
  for (const end = performance.now() + joinTimeoutMs; performance.now() < end; await sleep(joinPollMs, undefined, { signal })) {
    const found = await find();
    if (found !== null) return found;
  }
  return null;
}

/** The version that a response names; null if the bucket keeps none. */
export function versionOf({ VersionId }: { VersionId?: string | undefined }): string | null {
  return VersionId === undefined || VersionId === 'null' ? null : VersionId;
}

/**
 * Where a list goes on after a page; null after the last one. Throws if the server says that more follows, but not where, or names the place
 * of the page before: the same page would be read without end, or the rest be taken for absent.
 */
export function nextPage<Marker extends object>({ IsTruncated }: { IsTruncated?: boolean | undefined }, before: Marker, next: Marker): Marker | null {
  if (IsTruncated !== true) return null;
  if (Object.values(next).every((value) => value === undefined) || isDeepStrictEqual(next, before)) {
    throw new Error('the storage says that a list goes on, but not where');
  }
  return next;
}

/** Servers that keep no versions may refuse to list them. */
function isNotImplemented(error: unknown): boolean {
  return isStatus(error, 501) || (error as Error).name === 'NotImplemented';
}

/**
 * Version ids of a key, delete markers included, newest first; `unversioned` if the server has no versions at all. An object
 * of a bucket without versioning has the one version `null`.
 */
export async function versionsOfKey(bucket: Bucket, key: string): Promise<string[] | 'unversioned'> {
  const found: string[] = [];
  let marker: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | null = {};
  while (marker !== null) {
    const command: ListObjectVersionsCommand = new ListObjectVersionsCommand({
      Bucket: bucket.name,
      Prefix: key,
      ...marker,
    });
    let page: ListObjectVersionsCommandOutput;
    try {
      page = await bucket.client.send(command);
    } catch (error) {
      if (isNotImplemented(error)) return 'unversioned';
      throw error;
    }
    const entries = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])];
    for (const entry of entries) if (entry.Key === key) found.push(entry.VersionId ?? 'null');
    // The prefix also matches longer keys. They sort after the key itself, so the listing can stop there.
    const passed = page.NextKeyMarker !== undefined && page.NextKeyMarker > key;
    marker = passed ? null : nextPage(page, marker, { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker });
  }
  return found;
}

/** Ids of the unfinished multipart uploads of a key. */
export async function uploadsOfKey(bucket: Bucket, key: string, options: { abortSignal?: AbortSignal } = {}): Promise<string[]> {
  const found: string[] = [];
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | null = {};
  while (marker !== null) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket: bucket.name,
      Prefix: key,
      ...marker,
    });
    let page: ListMultipartUploadsCommandOutput;
    try {
      page = await bucket.client.send(command, options);
    } catch (error) {
      // As rclone answers before the first upload to a bucket.
      if (isStatus(error, 404) && (error as Error).name === 'NoSuchUpload') return found;
      throw error;
    }
    for (const upload of page.Uploads ?? []) {
      if (upload.Key === key && upload.UploadId !== undefined) found.push(upload.UploadId);
    }
    const passed = page.NextKeyMarker !== undefined && page.NextKeyMarker > key;
    marker = passed ? null : nextPage(page, marker, { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker });
  }
  return found;
}

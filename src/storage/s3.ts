/** Blobs in an S3 bucket (or a server that speaks its protocol): multipart uploads, presigned links. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat as statFile } from 'node:fs/promises';
import { Readable, Transform, pipeline } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ListObjectsV2CommandOutput, S3ClientConfig } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { contentDisposition } from './disposition.ts';
import { copyHashed } from './files.ts';
import { checkKey, checkPrefix } from './object-keys.ts';
import { abortMultipart, completeMultipart, createMultipart, partCommand, listParts } from './s3-multipart.ts';
import { createPresign } from './s3-presign.ts';
import { answered, isStatus, nextPage, unlessMissing, untilJoined, uploadsOfKey, versionOf, versionsOfKey } from './s3-queries.ts';
import type { Bucket } from './s3-queries.ts';
import type { ByteRange, Storage, StoredObject } from './types.ts';

export interface S3StorageOptions {
  bucket: string;
  region: string;
  /** base URL of a server other than AWS; the bucket is then part of the path */
  endpoint?: string | undefined;
  /** base URL in the links to customers, if they reach that server at another URL */
  publicEndpoint?: string | undefined;
  /**
   * bytes of one part of an upload, at least 5 MiB; more for a file that would need more than 10,000 parts (default 16 MiB)
   */
  partSize?: number;
  /** ms within which a response with an object has to begin (default 30 s) */
  answerTimeoutMs?: number;
  /** overrides the defaults; credentials come from the AWS SDK's own chain unless given here */
  client?: S3ClientConfig;
}

export interface S3Storage extends Storage {
  readonly kind: 's3';
  /** the origin of the URLs that customers get; needs neither credentials nor the network */
  linkOrigin(): Promise<string>;
  close(): void;
}

const mebibyte = 1024 * 1024;
const maxParts = 10_000;
/** Concurrent parts: three of 16 MiB keep memory under 64 MiB. */
const parallelParts = 3;

export function createS3Storage(options: S3StorageOptions): S3Storage {
  const { endpoint, publicEndpoint = endpoint, partSize = 16 * mebibyte, answerTimeoutMs = 30_000 } = options;
  if (partSize < 5 * mebibyte) throw new TypeError(`partSize: Expected at least 5 MiB but received ${partSize} bytes`);
  const client = s3Client(options, endpoint);
  // The signature of a link covers the host, and customers send parts without S3's own checksums. So links and the uploads
  // of those parts need a separate client.
  const withoutChecksums = { ...options.client, requestChecksumCalculation: 'WHEN_REQUIRED' as const };
  const linkClient = s3Client({ ...options, client: withoutChecksums }, publicEndpoint);
  const multipartClient = publicEndpoint === endpoint ? linkClient : s3Client({ ...options, client: withoutChecksums }, endpoint);
  const presign = createPresign(linkClient);
  const bucket: Bucket = { client, name: options.bucket, answerTimeoutMs };
  const multipartBucket: Bucket = { ...bucket, client: multipartClient };
  return {
    kind: 's3',
    putFile: (key, path, put) => putFile(bucket, checkKey(key), path, { ...put, partSize }),
    getFile: (key, path, signal) => getFile(bucket, checkKey(key), path, signal),
    stat: (key) => stat(bucket, checkKey(key)),
    open: (key, range) => openObject(bucket, checkKey(key), range),
    destroy: (key) => destroy(bucket, checkKey(key)),
    isAbsent: (key) => isAbsent(bucket, checkKey(key)),
    list: (prefix) => list(bucket, checkPrefix(prefix)),
    link: async (key, { fileName, contentType, expiresInS }) => {
      const command = new GetObjectCommand({
        Bucket: bucket.name,
        Key: checkKey(key),
        ResponseContentDisposition: contentDisposition(fileName),
        ResponseContentType: contentType,
      });
      return presign(command, expiresInS);
    },
    createMultipart: (key) => createMultipart(multipartBucket, checkKey(key)),
    linkPart: async ({ key, id }, part) => presign(partCommand(bucket, { key: checkKey(key), id }, part), part.expiresInS),
    listParts: ({ key, id }) => listParts(multipartBucket, { key: checkKey(key), id }),
    completeMultipart: ({ key, id }, whole) => completeMultipart(multipartBucket, { key: checkKey(key), id }, whole),
    linkOrigin: () => originOfLinks({ ...options, client: withoutChecksums }, publicEndpoint),
    close() {
      client.destroy();
      linkClient.destroy();
      multipartClient.destroy();
    },
  };
}

function s3Client({ region, client }: S3StorageOptions, endpoint: string | undefined): S3Client {
  return new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    maxAttempts: 4,
    requestHandler: { connectionTimeout: 10_000, socketTimeout: 60_000 },
    ...client,
  });
}

/** Signs a link with credentials that are none: only the SDK knows the hosts of all regions, and when the bucket is a part of the path. */
async function originOfLinks(options: S3StorageOptions, endpoint: string | undefined): Promise<string> {
  const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
  const client = s3Client({ ...options, client: { ...options.client, credentials } }, endpoint);
  try {
    const { url } = await createPresign(client)(new GetObjectCommand({ Bucket: options.bucket, Key: 'any' }), 60);
    return new URL(url).origin;
  } finally {
    client.destroy();
  }
}

interface PutOptions {
  contentType: string;
  partSize: number;
  signal?: AbortSignal;
}

/**
 * Uploads while hashing; the object appears when the last part is confirmed and never before. A failed upload is aborted, so
 * that no part remains if the server can be reached. The next successful one of the key, or destroy, removes what remained.
 */
async function putFile(bucket: Bucket, key: string, path: string, options: PutOptions): Promise<StoredObject> {
  const { size } = await statFile(path);
  options.signal?.throwIfAborted();
  const { body, sha256 } = hashedFile(path, size);
  try {
    const pending = createUpload(bucket, { key, body, size }, options);
    const { version } = await finishUpload(bucket, pending, options.signal);
    if (pending.upload.uploadId !== undefined) await abandonOthers(bucket, key);
    return { key, size, sha256: sha256(), version };
  } finally {
    body.destroy();
  }
}

interface PendingUpload {
  upload: Upload;
  key: string;
  size: number;
  /** distinguishes this upload's object from an earlier one of the key */
  mark: string;
}

function createUpload(bucket: Bucket, { key, body, size }: { key: string; body: Readable; size: number }, options: PutOptions): PendingUpload {
  const mark = randomUUID();
  const upload = new Upload({
    client: stoppable(bucket.client, options.signal),
    params: { Bucket: bucket.name, Key: key, Body: body, ContentType: options.contentType, Metadata: { [markName]: mark } },
    partSize: Math.max(options.partSize, Math.ceil(size / maxParts)),
    queueSize: parallelParts,
  });
  return { upload, key, size, mark };
}

/** Sends the bytes and resolves when the object is there; if it fails, aborts the upload. */
async function finishUpload(bucket: Bucket, pending: PendingUpload, signal: AbortSignal | undefined): Promise<{ version: string | null }> {
  const { upload, key } = pending;
  const find = () => confirm(bucket, pending);
  try {
    const { $metadata } = await upload.done();
    const stored = await ($metadata.attempts === 1 ? find() : untilJoined(find, signal));
    if (stored === null) throw new Error('the storage does not have the object that it confirmed');
    return stored;
  } catch (error) {
    // The response to the last request may be lost after the object was stored; its retry then finds no upload.
    const stored = signal?.aborted === true ? null : await find().catch(() => null);
    if (stored !== null) return stored;
    await abandon(bucket, key, upload.uploadId);
    signal?.throwIfAborted();
    throw error;
  }
}

/**
 * The signal stops requests that carry bytes. Requests that begin or end an upload run to their response, because it names
 * the upload to remove. (`Upload.abort` stops at once, and an upload that is just being created stays behind.)
 */
function stoppable(client: S3Client, signal: AbortSignal | undefined): S3Client {
  if (signal === undefined) return client;
  const send = (command: Parameters<S3Client['send']>[0]) => {
    const carriesBytes = command instanceof UploadPartCommand || command instanceof PutObjectCommand;
    return client.send(command, carriesBytes ? { abortSignal: signal } : {});
  };
  return Object.assign(Object.create(client) as S3Client, { send });
}

const markName = 'reelmend-upload';

/** The file as a stream that hashes its bytes and fails if there are not `size` of them. */
function hashedFile(path: string, size: number): { body: Readable; sha256: () => string } {
  const hash = createHash('sha256');
  let read = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      read += chunk.length;
      done(null, chunk);
    },
    flush: (done) => done(read === size ? null : new Error('the file changed while it was being stored')),
  });
  // pipeline closes the file when the stream ends and vice versa; the reader of the stream gets the error.
  pipeline(createReadStream(path, { highWaterMark: mebibyte }), count, () => undefined);
  return { body: count, sha256: () => hash.copy().digest('hex') };
}

/** The newest version of the key, if it is the complete upload with this `mark`. */
async function confirm(bucket: Bucket, { key, mark, size }: Omit<PendingUpload, 'upload'>): Promise<{ version: string | null } | null> {
  const head = await unlessMissing(bucket, key, bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key })));
  if (head?.Metadata?.[markName] !== mark || (head.ContentLength ?? 0) !== size) return null;
  return { version: versionOf(head) };
}

/** What is done beside the storing of a file may not take long: ms of one attempt, with all its requests. */
const abandonTimeoutMs = 10_000;
const abandonAttempts = 3;

const abandoned = ({ answerTimeoutMs, ...bucket }: Bucket, send: (options: { abortSignal: AbortSignal }) => Promise<void>): Promise<void> =>
  answered({ ...bucket, answerTimeoutMs: Math.min(abandonTimeoutMs, answerTimeoutMs) }, send);

/** Errors are ignored, because the failure of the upload is reported. */
async function abandon(bucket: Bucket, key: string, uploadId: string | undefined): Promise<void> {
  if (uploadId === undefined) return;
  await abandoned(bucket, (options) => abortMultipart(bucket, { key, id: uploadId }, options)).catch(() => undefined);
}

/**
 * Aborts what is left of the key's other uploads: of one that failed while the storage was away, with its parts, or of one whose creation
 * got no response. They would last as long as the object. Errors are ignored, because the object is stored.
 */
async function abandonOthers(bucket: Bucket, key: string): Promise<void> {
  for (let attempt = 0; attempt < abandonAttempts; attempt++) {
    try {
      await abandoned(bucket, async (options) => {
        for (const id of await uploadsOfKey(bucket, key, options)) await abortMultipart(bucket, { key, id }, options);
      });
      return;
    } catch {
      continue;
    }
  }
}

async function stat(bucket: Bucket, key: string): Promise<{ size: number } | null> {
  const command = new HeadObjectCommand({ Bucket: bucket.name, Key: key });
  const head = await unlessMissing(bucket, key, answered(bucket, (options) => bucket.client.send(command, options)));
  return head === null ? null : { size: head.ContentLength ?? 0 };
}

async function openObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Readable | null> {
  if (range !== undefined && (range.start < 0 || range.end < range.start)) {
    throw new RangeError(`Expected a range but received ${range.start}-${range.end}`);
  }
  const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end}`;
  const command = new GetObjectCommand({ Bucket: bucket.name, Key: key, Range });
  try {
    const got = await unlessMissing(bucket, key, answered(bucket, (options) => bucket.client.send(command, options)));
    if (got === null) return null;
    if (!(got.Body instanceof Readable)) throw new Error('the storage sent no body');
    return got.Body;
  } catch (error) {
    if (isStatus(error, 416)) throw new RangeError(`Expected a range within the object but received ${Range}`);
    throw error;
  }
}

async function getFile(bucket: Bucket, key: string, path: string, signal?: AbortSignal): Promise<boolean> {
  const source = await openObject(bucket, key);
  if (source === null) return false;
  await copyHashed(source, path, { sync: false, exclusive: false, signal });
  return true;
}

/** Unfinished uploads first, so that none completes after the versions were listed. */
async function destroy(bucket: Bucket, key: string): Promise<void> {
  const target = { Bucket: bucket.name, Key: key };
  for (const id of await uploadsOfKey(bucket, key)) await abortMultipart(bucket, { key, id });
  const versions = await versionsOfKey(bucket, key);
  const targets = versions === 'unversioned' ? [target] : versions.map((VersionId) => ({ ...target, VersionId }));
  // Some servers answer 404 if there is nothing to delete.
  for (const one of targets) await unlessMissing(bucket, key, bucket.client.send(new DeleteObjectCommand(one)));
}

/** Unfinished uploads first: one that completes meanwhile is found as the object. */
async function isAbsent(bucket: Bucket, key: string): Promise<boolean> {
  if ((await uploadsOfKey(bucket, key)).length > 0) return false;
  const versions = await versionsOfKey(bucket, key);
  if (versions !== 'unversioned' && versions.length > 0) return false;
  return (await stat(bucket, key)) === null;
}

async function* list(bucket: Bucket, prefix: string): AsyncIterable<string> {
  let marker: { ContinuationToken?: string | undefined } | null = {};
  while (marker !== null) {
    const command: ListObjectsV2Command = new ListObjectsV2Command({ Bucket: bucket.name, Prefix: prefix, ...marker });
    const page: ListObjectsV2CommandOutput = await bucket.client.send(command);
    for (const entry of page.Contents ?? []) if (entry.Key !== undefined) yield entry.Key;
    marker = nextPage(page, marker, { ContinuationToken: page.NextContinuationToken });
  }
}

/** Multipart uploads whose parts customers send directly to the bucket, by presigned URLs. */
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  type ListPartsCommandOutput,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { PartsGoneError } from './parts-gone.ts';
import { answered, type Bucket, isUploadMissing, nextPage, unlessMissing, untilJoined, versionOf } from './s3-queries.ts';
import type { MultipartUpload, StoredPart } from './types.ts';

export async function createMultipart(bucket: Bucket, key: string): Promise<MultipartUpload> {
  const command = new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: key, ContentType: 'application/octet-stream' });
  const { UploadId } = await answered(bucket, (options) => bucket.client.send(command, options));
  if (UploadId === undefined) throw new Error('the storage began no upload');
  return { key, id: UploadId };
}

/** Removes an unfinished upload. Succeeds if there is none; some servers, such as MinIO, do not tell the difference. */
export async function abortMultipart(
  { client, name }: Bucket,
  { key, id }: MultipartUpload,
  options: { abortSignal?: AbortSignal } = {},
): Promise<void> {
  try {
    await client.send(new AbortMultipartUploadCommand({ Bucket: name, Key: key, UploadId: id }), options);
  } catch (error) {
    if (!isUploadMissing(error)) throw error;
  }
}

/** The signature covers Content-Length, so that S3 itself refuses a part of another size. */
export const partCommand = ({ name }: Bucket, { key, id }: MultipartUpload, { number, size }: StoredPart) =>
  new UploadPartCommand({ Bucket: name, Key: key, UploadId: id, PartNumber: number, ContentLength: size });

type TaggedPart = StoredPart & { etag: string; storedAt: Date };

/**
 * null if the server does not know the upload: it was completed or removed. A part that was sent again counts once, as it was last:
 * SeaweedFS lists it each time.
 */
async function taggedParts(bucket: Bucket, { key, id }: MultipartUpload): Promise<TaggedPart[] | null> {
  const newest = new Map<number, TaggedPart>();
  let marker: { PartNumberMarker?: string | undefined } | null = {};
  while (marker !== null) {
    const command: ListPartsCommand = new ListPartsCommand({ Bucket: bucket.name, Key: key, UploadId: id, ...marker });
    let page: ListPartsCommandOutput;
    try {
      page = await answered(bucket, (options) => bucket.client.send(command, options));
    } catch (error) {
      if (!isUploadMissing(error)) throw error;
      return null;
    }
    for (const { PartNumber, Size, ETag, LastModified = new Date(0) } of page.Parts ?? []) {
      if (PartNumber === undefined || ETag === undefined) continue;
      const known = newest.get(PartNumber);
      if (known !== undefined && known.storedAt >= LastModified) continue;
      newest.set(PartNumber, { number: PartNumber, size: Size ?? 0, etag: ETag, storedAt: LastModified });
    }
    marker = nextPage(page, marker, { PartNumberMarker: page.NextPartNumberMarker });
  }
  return [...newest.values()].sort((a, b) => a.number - b.number);
}

export async function listParts(bucket: Bucket, upload: MultipartUpload): Promise<StoredPart[]> {
  return ((await taggedParts(bucket, upload)) ?? []).map(({ number, size }) => ({ number, size }));
}

export async function completeMultipart(
  bucket: Bucket,
  upload: MultipartUpload,
  { count, size }: { count: number; size: number },
): Promise<{ version: string | null }> {
  const parts = await taggedParts(bucket, upload);
  if (parts === null) return completedBefore(bucket, upload, size);
  const Parts = parts.filter(({ number }) => number <= count).map(({ number, etag }): CompletedPart => ({ PartNumber: number, ETag: etag }));
  if (Parts.length !== count) throw new PartsGoneError(upload.key);
  return completeVisibly(bucket, upload, { Parts, size });
}

/**
 * versitygw lists neither the upload nor the object while it completes an upload. So that the key is not called absent then, a second
 * upload of it, without parts, exists meanwhile as a placeholder. If `destroy` has removed the placeholder, the object is deleted, too.
 */
async function completeVisibly(
  bucket: Bucket,
  { key, id }: MultipartUpload,
  { Parts, size }: { Parts: CompletedPart[]; size: number },
): Promise<{ version: string | null }> {
  const { client, name: Bucket } = bucket;
  const placeholder = await createMultipart(bucket, key);
  let isDestroyed: boolean;
  let version: string | null;
  try {
    const { $metadata, VersionId } = await client.send(new CompleteMultipartUploadCommand({ Bucket, Key: key, UploadId: id, MultipartUpload: { Parts } }));
    version = $metadata.attempts === 1 ? versionOf({ VersionId }) : await joinedVersion(bucket, key, size);
    // A destruction that removes the placeholder after this finds the object.
    isDestroyed = (await taggedParts(bucket, placeholder)) === null;
  } finally {
    await abortMultipart(bucket, placeholder);
  }
  if (!isDestroyed) return { version };
  await client.send(new DeleteObjectCommand({ Bucket, Key: key, VersionId: version ?? undefined }));
  throw new PartsGoneError(key);
}

/** The version of an object whose completion had to be requested more than once. */
async function joinedVersion(bucket: Bucket, key: string, size: number): Promise<string | null> {
  const joined = await untilJoined(() => objectOfSize(bucket, key, size));
  if (joined === null) throw new Error('the storage does not have the object that it confirmed');
  return joined.version;
}

/** The response to an earlier call was lost. */
async function completedBefore(bucket: Bucket, { key }: MultipartUpload, size: number): Promise<{ version: string | null }> {
  const object = await objectOfSize(bucket, key, size);
  if (object === null) throw new PartsGoneError(key);
  return object;
}

async function objectOfSize(bucket: Bucket, key: string, size: number): Promise<{ version: string | null } | null> {
  const head = await unlessMissing(bucket, key, bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key })));
  return head?.ContentLength === size ? { version: versionOf(head) } : null;
}

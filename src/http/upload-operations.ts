/** Uploads of a principal: create, get, complete. Shared by the routes of the API and of the console. */
import type { Upload, UploadPart } from '../contract/types.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import { tooLargeMessage } from '../domain/limits.ts';
import { listedParts, type Part, partLinkValidityS, partsOf, type UploadRecord } from '../domain/uploads.ts';
import type { MultipartUpload } from '../storage/types.ts';
import type { Idempotency, Principal, UploadChecksum } from '../store/types.ts';
import { actorOf } from './actor.ts';
import type { HttpDeps } from './deps.ts';
import { docUrl } from './doc-url.ts';
import { idempotencyOf, withReplay } from './idempotency.ts';
import { limitsOf, uploadQuotaOf } from './serialize.ts';
import { uploadNotFound } from './validation.ts';

/** bytes that uploads leave free on the disk */
const reservedBytes = 1_000_000_000;
/** A file and its parts are on the disk at the same time for a while. */
const copies = 2;

export interface UploadRequest {
  principal: Principal;
  body: { file_name: string; size_bytes: number; sha256?: string | undefined };
  idempotencyKey: string | undefined;
}

interface UploadCreation {
  upload: UploadRecord;
  replayed: boolean;
}

/**
 * Creates the upload, or returns the one that the same idempotency key has created. Throws ReelmendError `video_too_large`,
 * `upload_quota_exceeded`, `idempotency_key_reused`, or `service_unavailable` when disk space is short.
 */
export async function createUpload(deps: HttpDeps, request: UploadRequest): Promise<UploadCreation> {
  const { principal, body, idempotencyKey } = request;
  const { account, mode } = principal;
  const idempotency = idempotencyOf(idempotencyKey, body);
  const { upload, replayed } = await withReplay<UploadCreation>(idempotency, {
    find: async (used) => {
      const found = await deps.store.uploads.findReplay(account.id, mode, used);
      return found && { upload: found, replayed: true };
    },
    create: () => createNewUpload(deps, request, idempotency),
  });
  return { upload: await withTransfer(deps, upload), replayed };
}

async function createNewUpload(deps: HttpDeps, { principal, body }: UploadRequest, idempotency: Idempotency | null): Promise<UploadCreation> {
  const { account, mode } = principal;
  const { file_name: fileName, size_bytes: sizeBytes, sha256 = null } = body;
  const limits = limitsOf(deps);
  if (sizeBytes > limits.bytes) {
    throw new ReelmendError('video_too_large', tooLargeMessage(sizeBytes, limits), { param: '/size_bytes' });
  }
  await assertDiskSpace(deps, sizeBytes);
  const quotaBytes = uploadQuotaOf(deps, account);
  return deps.store.uploads.create({ accountId: account.id, mode, fileName, sizeBytes, sha256, quotaBytes, idempotency, actor: actorOf(principal) });
}

/** Begins the transfer of an upload that has none: it is new, or the request that created it has not got this far. */
async function withTransfer({ store, storage }: HttpDeps, upload: UploadRecord): Promise<UploadRecord> {
  if (upload.multipartId !== null) return upload;
  try {
    const { id } = await storage.createMultipart(upload.key);
    const multipartId = await store.uploads.begin(upload.id, id);
    if (multipartId === null) throw new ReelmendError('service_unavailable', 'The upload was deleted while it was created.');
    return { ...upload, multipartId };
  } catch (error) {
    // Otherwise it would count towards the quota until it expires.
    await store.uploads.abandon(upload.accountId, upload.mode, upload.id).catch(() => undefined);
    throw error;
  }
}

async function assertDiskSpace({ store, freeBytes }: HttpDeps, sizeBytes: number): Promise<void> {
  if (freeBytes === undefined) return;
  const [free, expected] = await Promise.all([freeBytes(), store.uploads.expectedBytes()]);
  if (free >= reservedBytes + copies * (expected + sizeBytes)) return;
  throw new ReelmendError('service_unavailable', 'There is not enough disk space for the file. Retry later.', { retryAfterS: 60 });
}

/** Throws ReelmendError `upload_not_found`. */
export async function findUpload({ store }: HttpDeps, { account, mode }: Principal, id: string): Promise<UploadRecord> {
  const upload = await store.uploads.get(account.id, mode, id);
  if (upload === null) throw uploadNotFound();
  return upload;
}

/** Throws ReelmendError `upload_not_found`, or `upload_incomplete` if parts or the checksum are missing. */
export async function completeUpload(
  deps: HttpDeps,
  principal: Principal,
  { id, ...checksum }: { id: string } & UploadChecksum,
): Promise<UploadRecord> {
  const upload = await findUpload(deps, principal, id);
  if (upload.status !== 'waiting') return upload;
  assertChecksum(upload, checksum);
  const { missing } = await partStates(deps, upload);
  if (missing.length > 0) {
    // An upload that was completed or deleted meanwhile has no parts any more.
    const latest = await findUpload(deps, principal, id);
    if (latest.status !== 'waiting') return latest;
    const count = `${missing.length} of ${partsOf(upload).length} parts have not arrived yet`;
    throw new ReelmendError('upload_incomplete', `${count}, such as part ${missing[0]!.number}.`);
  }
  const completed = await deps.store.uploads.complete(principal.account.id, principal.mode, id, checksum);
  if (completed === null) throw uploadNotFound();
  return completed;
}

function assertChecksum(upload: UploadRecord, { sha256, partSha256 }: UploadChecksum): void {
  if (sha256 === null && partSha256 === null && upload.sha256 === null) {
    throw new ReelmendError('upload_incomplete', 'The checksum is missing: send "sha256" or "part_sha256".', { param: '/sha256' });
  }
  const count = partsOf(upload).length;
  if (partSha256 === null || partSha256.length === count) return;
  const message = `The field "part_sha256" has ${partSha256.length} items; the upload has ${count} parts.`;
  throw new ReelmendError('upload_incomplete', message, { param: '/part_sha256' });
}

/** The upload as the storage shows it to clients. `maySend`: the client may have the URLs of the missing parts, which need no key. */
export async function describeUpload(deps: HttpDeps, upload: UploadRecord, { maySend = true } = {}): Promise<Upload> {
  if (upload.status !== 'waiting') return serializeUpload(deps, upload, { receivedBytes: upload.sizeBytes, parts: [] });
  const { missing, receivedBytes } = await partStates(deps, upload);
  const transfer = transferOf(upload);
  const next = transfer === null || !maySend ? [] : missing.slice(0, listedParts);
  const parts = await Promise.all(next.map((part) => linkTo(deps, transfer!, part)));
  return serializeUpload(deps, upload, { receivedBytes, parts });
}

async function linkTo({ storage }: HttpDeps, transfer: MultipartUpload, { number, offset, size }: Part): Promise<UploadPart> {
  const link = await storage.linkPart(transfer, { number, size, expiresInS: partLinkValidityS });
  return { number, offset, size_bytes: size, url: link.url, expires_in: link.expiresInS };
}

const transferOf = ({ key, multipartId }: UploadRecord): MultipartUpload | null =>
  multipartId === null ? null : { key, id: multipartId };

/** A part whose size differs from the planned one counts as missing. */
async function partStates({ storage }: HttpDeps, upload: UploadRecord): Promise<{ missing: Part[]; receivedBytes: number }> {
  const transfer = transferOf(upload);
  const received = new Map(transfer === null ? [] : (await storage.listParts(transfer)).map(({ number, size }) => [number, size]));
  const missing = partsOf(upload).filter(({ number, size }) => received.get(number) !== size);
  return { missing, receivedBytes: upload.sizeBytes - missing.reduce((sum, { size }) => sum + size, 0) };
}

const errors = { checksum_mismatch: 'The file differs from its checksum. Upload it again.' } as const;

/** `receivedBytes: null`, no parts: an item of a list. */
export function serializeUpload(
  { publicUrl }: Pick<HttpDeps, 'publicUrl'>,
  upload: UploadRecord,
  { receivedBytes, parts }: { receivedBytes: number | null; parts: UploadPart[] },
): Upload {
  return {
    id: upload.id,
    status: upload.status,
    file_name: upload.fileName,
    size_bytes: upload.sizeBytes,
    sha256: upload.sha256,
    sandbox: upload.mode === 'test',
    part_size_bytes: upload.partSizeBytes,
    received_bytes: receivedBytes,
    parts,
    error: upload.error === null ? null : { code: upload.error, message: errors[upload.error], doc_url: docUrl(publicUrl(), upload.error) },
    created_at: upload.createdAt.toISOString(),
    expires_at: upload.expiresAt.toISOString(),
  };
}

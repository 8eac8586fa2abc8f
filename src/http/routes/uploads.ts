/** Uploads, and the signed URLs of their parts if the storage is on this machine. */
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import { isDiskFull } from '../../storage/faults.ts';
import { PartSizeError } from '../../storage/multipart-files.ts';
import type { FilesystemStorage } from '../../storage/filesystem.ts';
import type { PartClaims, PartQuery } from '../../storage/links.ts';
import { actorOf } from '../actor.ts';
import type { HttpDeps } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import { notReceived } from '../middleware/json-body.ts';
import { toPage } from '../paging.ts';
import type { Handlers } from '../register.ts';
import { completeUpload, createUpload, describeUpload, findUpload, serializeUpload } from '../upload-operations.ts';
import { uploadNotFound } from '../validation.ts';

type UploadHandlers = Pick<
  Handlers,
  'createUpload' | 'listUploads' | 'getUpload' | 'completeUpload' | 'deleteUpload' | 'uploadPart'
>;

export function uploadHandlers(deps: HttpDeps): UploadHandlers {
  const { uploads } = deps.store;
  const limiter = partLimiter();
  return {
    createUpload: async (c) => {
      const { upload, replayed } = await createUpload(deps, {
        principal: c.get('principal'),
        body: c.req.valid('json'),
        idempotencyKey: c.req.valid('header')['Idempotency-Key'],
      });
      c.set('resourceId', upload.id);
      c.header('Location', `/v1/uploads/${upload.id}`);
      if (replayed) c.header('Idempotent-Replayed', 'true');
      return c.json(await describeUpload(deps, upload), 201);
    },

    listUploads: async (c) => {
      const { account, mode } = c.get('principal');
      const { limit, starting_after } = c.req.valid('query');
      const query = { accountId: account.id, mode, limit };
      const page = await uploads.list(starting_after === undefined ? query : { ...query, startingAfter: starting_after });
      const listed = toPage(page.uploads, page.hasMore, {
        serialize: (upload) => serializeUpload(deps, upload, { receivedBytes: null, parts: [] }),
        cursor: ({ id }) => id,
      });
      return c.json(listed, 200);
    },

    getUpload: async (c) => {
      const principal = c.get('principal');
      const upload = await findUpload(deps, principal, c.req.valid('param').id);
      return c.json(await describeUpload(deps, upload, { maySend: principal.access !== 'read_only' }), 200);
    },

    completeUpload: async (c) => {
      const { sha256 = null, part_sha256: partSha256 = null } = c.req.valid('json');
      const { id } = c.req.valid('param');
      const upload = await completeUpload(deps, c.get('principal'), { id, sha256, partSha256 });
      return c.json(await describeUpload(deps, upload), 200);
    },

    deleteUpload: async (c) => {
      const principal = c.get('principal');
      const deletion = await uploads.delete(principal.account.id, principal.mode, c.req.valid('param').id, actorOf(principal));
      if (deletion === null) throw uploadNotFound();
      return c.json({ id: deletion.id, deleted: true as const, deleted_at: deletion.deletedAt.toISOString() }, 200);
    },

    uploadPart: async (c) => {
      if (!takesParts(deps.storage)) throw partNotFound();
      const part = verified(deps.storage, { ...c.req.valid('query'), ...c.req.valid('param') });
      const { number, size } = await limiter(part, () => receivePart(c, deps.storage as FilesystemStorage, part));
      return c.json({ number, size_bytes: size }, 200);
    },
  };
}

const partNotFound = () => new ReelmendError('not_found', 'The upload takes no parts any more.');

function takesParts(storage: HttpDeps['storage']): storage is FilesystemStorage {
  return storage.kind === 'filesystem' && 'writePart' in storage;
}

function verified(storage: FilesystemStorage, query: PartQuery): PartClaims {
  const result = storage.verifyPartLink(query);
  if (result.ok) return result.part;
  if (result.reason === 'expired') {
    throw new ReelmendError('link_expired', 'The URL has expired. Get the upload again for a fresh one.');
  }
  throw new ReelmendError('link_invalid', 'The URL is not valid.');
}

const parallelParts = 8;

/** Limits the parts of one upload that a process receives at a time: an incomplete part takes disk space. */
function partLimiter() {
  const running = new Map<string, number>();
  return async <T>({ upload }: PartClaims, work: () => Promise<T>): Promise<T> => {
    const count = running.get(upload) ?? 0;
    if (count >= parallelParts) {
      const message = `At most ${parallelParts} parts of an upload can be sent at the same time.`;
      throw new ReelmendError('rate_limit_exceeded', message, { retryAfterS: 1 });
    }
    running.set(upload, count + 1);
    try {
      return await work();
    } finally {
      const left = running.get(upload)! - 1;
      if (left > 0) running.set(upload, left);
      else running.delete(upload);
    }
  };
}

async function receivePart(c: Context<AppEnv>, storage: FilesystemStorage, part: PartClaims): Promise<PartClaims> {
  const { key, upload: id, number, size } = part;
  const contentLength = c.req.header('Content-Length');
  if (contentLength !== undefined && Number(contentLength) !== size) throw wrongSize(Number(contentLength), size);
  const { body } = c.req.raw;
  try {
    if (await storage.writePart({ key, id }, { number, size }, received(body))) return part;
  } catch (error) {
    throw partError(error);
  }
  throw partNotFound();
}

function wrongSize(received: number, size: number): ReelmendError {
  if (received > size) return new ReelmendError('payload_too_large', `The part is larger than ${size} bytes.`);
  return new ReelmendError('invalid_request', `The part has ${received} bytes; its URL is for ${size}.`);
}

function partError(error: unknown): unknown {
  if (error instanceof PartSizeError) return wrongSize(error.received, error.expected);
  if (isDiskFull(error)) {
    return new ReelmendError('service_unavailable', 'There is not enough disk space. Retry later.', { retryAfterS: 60, cause: error });
  }
  return error;
}

/** The chunks of a body. An incomplete body is an error of the client. */
async function* received(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  try {
    if (body !== null) yield* body;
  } catch (cause) {
    throw notReceived('The part did not arrive in full.', cause);
  }
}

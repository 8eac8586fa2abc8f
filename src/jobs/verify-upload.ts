/** Verifies a complete upload: makes its file of the parts, reads the file back and compares its checksum. */
import { createHash, type Hash } from 'node:crypto';
import type { Task } from 'graphile-worker';
import { partsOf } from '../domain/uploads.ts';
import { PartsGoneError } from '../storage/parts-gone.ts';
import type { UnverifiedUpload } from '../store/index.ts';
import { withDiskReservation } from './disk-reservation.ts';
import { uploadIdOf } from './payload.ts';
import type { WorkerContext } from './worker-context.ts';

/**
 * Fails, and is retried, while the storage does not answer. May run twice: the file is made once, and the first result
 * counts. An upload whose parts are lost fails: it would be verified for ever.
 */
export const verifyUploadTask =
  (worker: WorkerContext): Task =>
  async (payload, { job }) => {
    const upload = await worker.store.uploads.unverified(uploadIdOf(payload));
    if (upload === null) return;
    // The file and its parts are there at the same time for a while.
    const needs = [{ folder: 'storage', bytes: upload.sizeBytes }] as const;
    await withDiskReservation(worker, { jobId: null, needs }, () => verify(worker, upload)).catch((error: unknown) => {
      if (!(error instanceof PartsGoneError) || job.attempts < attemptsWithoutParts) throw error;
      worker.logger.warn({ err: error, upload: upload.id }, 'the parts of an upload are lost');
      return worker.store.uploads.failed(upload.id, 'checksum_mismatch');
    });
  };

/** A bucket may still be joining the parts for a worker that was killed. After these attempts, more than a minute later, it is not. */
const attemptsWithoutParts = 5;

async function verify({ storage, store, stopping, logger }: WorkerContext, upload: UnverifiedUpload): Promise<void> {
  const { id, key, multipartId, sizeBytes } = upload;
  const { version } = await storage.completeMultipart({ key, id: multipartId }, { count: partsOf(upload).length, size: sizeBytes });
  const file = await storage.open(key);
  if (file === null) throw new Error(`The file of ${id} is gone`);
  const hashes = await hashFile(file, upload.partSizeBytes, stopping);
  if (isAsDeclared(upload, hashes)) await store.uploads.verified(id, { sha256: hashes.sha256, version });
  else {
    logger.info({ upload: id }, 'an upload differs from its checksum');
    await store.uploads.failed(id, 'checksum_mismatch');
  }
}

interface FileHashes {
  sizeBytes: number;
  sha256: string;
  partSha256: string[];
}

function isAsDeclared({ sizeBytes, sha256, partSha256 }: UnverifiedUpload, measured: FileHashes): boolean {
  // One of both is always there.
  if (measured.sizeBytes !== sizeBytes || (sha256 === null && partSha256 === null)) return false;
  if (sha256 !== null && sha256 !== measured.sha256) return false;
  return partSha256 === null || partSha256.join() === measured.partSha256.join();
}

/** Reads the file once and hashes it as a whole and by parts. */
async function hashFile(file: AsyncIterable<Buffer>, partSize: number, signal: AbortSignal): Promise<FileHashes> {
  const whole = createHash('sha256');
  const partSha256: string[] = [];
  let part: Hash = createHash('sha256');
  let inPart = 0;
  let sizeBytes = 0;
  for await (const chunk of file) {
    signal.throwIfAborted();
    whole.update(chunk);
    sizeBytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + partSize - inPart);
      part.update(piece);
      inPart += piece.length;
      at += piece.length;
      if (inPart < partSize) continue;
      partSha256.push(part.digest('hex'));
      part = createHash('sha256');
      inPart = 0;
    }
  }
  if (inPart > 0) partSha256.push(part.digest('hex'));
  return { sizeBytes, sha256: whole.digest('hex'), partSha256 };
}

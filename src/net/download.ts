/** Downloads a video into a file and hashes it. A broken transfer is resumed if the source is still the same. */
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { NetFailure, videoError } from './failure.ts';
import {
  declaredLength,
  expectVideo,
  ifRange,
  partOf,
  rangeHeaders,
  sameSource,
  sizeOfUnsatisfied,
  sourceChanged,
  strongTag,
  validatorsOf,
} from './responses.ts';
import type { Validators } from './responses.ts';
import { isRetryable, pauseBefore, tooLarge, Attempts } from './retry.ts';
import type { HttpResponse, Session } from './session.ts';
import { minSpeedOf, enforceMinSpeed } from './min-speed.ts';
import { startDeadline } from './timeouts.ts';
import type { Timeouts } from './timeouts.ts';
import { writeAll } from './write-all.ts';

export interface DownloadOptions {
  maxBytes: number;
  timeouts: Timeouts;
  signal?: AbortSignal | undefined;
}

export interface Downloaded {
  bytes: number;
  /** lower-case hex */
  sha256: string;
  /** the strong ETag of what was received; null when the server sent none */
  etag: string | null;
}

interface Transfer {
  file: FileHandle;
  hash: Hash;
  bytes: number;
  /** bytes that earlier attempts had brought and the last attempt kept; 0 when it started over */
  kept: number;
  total: number | null;
  validators: Validators;
}

/**
 * Rejects with ReelmendError `url_not_allowed`, `video_unreachable`, `video_too_large` or `source_changed`, with
 * the signal's reason, or with the filesystem's error (a full disk: a later try may succeed). The file is removed
 * unless this resolves.
 */
export async function download(session: Session, url: string, path: string, options: DownloadOptions) {
  const late = () => new NetFailure('timeout', 'the server takes too long to send the file');
  const deadline = startDeadline(options.signal, options.timeouts.totalMs, late);
  try {
    const file = await open(path, 'w', 0o600);
    try {
      return await transferAll(session, url, file, { ...options, signal: deadline.signal });
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw videoError(error, 'source_changed');
  } finally {
    deadline.release();
  }
}

async function transferAll(session: Session, url: string, file: FileHandle, options: DownloadOptions) {
  const none = { etag: null, lastModified: null };
  const hash = createHash('sha256');
  const transfer: Transfer = { file, hash, bytes: 0, kept: 0, total: null, validators: none };
  const attempts = new Attempts(options.timeouts.attempts);
  let furthest = 0;
  for (;;) {
    try {
      await transferOnce(session, url, transfer, options);
      return { bytes: transfer.bytes, sha256: transfer.hash.digest('hex'), etag: strongTag(transfer.validators) } satisfies Downloaded;
    } catch (error) {
      // A try that starts over counts as no progress, however far it gets: the next may have to start over as well.
      attempts.note(transfer.kept > 0 ? Math.max(transfer.bytes - furthest, 0) : 0);
      furthest = Math.max(furthest, transfer.bytes);
      if (!isRetryable(error) || attempts.exhausted) throw error;
      await pauseBefore(attempts.repetition, options.timeouts, options.signal);
    }
  }
}

/** One request. It starts over where no validator proves that the rest belongs to the same file. */
async function transferOnce(session: Session, url: string, transfer: Transfer, options: DownloadOptions) {
  transfer.kept = transfer.bytes;
  const condition = transfer.bytes > 0 ? ifRange(transfer.validators) : null;
  const resume = condition !== null;
  const headers = resume ? rangeHeaders(condition, transfer.bytes) : {};
  const response = await session.get(url, { headers, signal: options.signal });
  try {
    expectVideo(response, resume ? [200, 206, 416] : [200]);
    if (response.status === 416 && isComplete(response, transfer)) return;
    if (response.status === 416) throw new NetFailure('length', 'the server sent fewer bytes than it declared');
    if (response.status === 206) continueTransfer(response, transfer);
    else await startOver(response, transfer);
    if (transfer.total !== null && transfer.total > options.maxBytes) throw tooLarge(options.maxBytes);
    await receive(response, transfer, options);
  } finally {
    response.discard();
  }
}

/** Whether a 416 says that there is nothing behind what was received: a body without a length can break off at its very end. */
function isComplete(response: HttpResponse, { bytes, total, validators }: Transfer): boolean {
  return total === null && sizeOfUnsatisfied(response) === bytes && sameSource(validators, validatorsOf(response));
}

function continueTransfer(response: HttpResponse, transfer: Transfer): void {
  const part = partOf(response, transfer.bytes);
  const same = sameSource(transfer.validators, validatorsOf(response));
  if (!same || (transfer.total !== null && part.total !== transfer.total)) throw sourceChanged();
  transfer.total = part.total;
}

async function startOver(response: HttpResponse, transfer: Transfer): Promise<void> {
  if (transfer.bytes > 0) await transfer.file.truncate(0);
  transfer.hash = createHash('sha256');
  transfer.bytes = 0;
  transfer.kept = 0;
  transfer.total = declaredLength(response);
  transfer.validators = validatorsOf(response);
}

async function receive(response: HttpResponse, transfer: Transfer, options: DownloadOptions): Promise<void> {
  const { file } = transfer;
  for await (const chunk of enforceMinSpeed(response.chunks(), minSpeedOf(options.timeouts))) {
    if (transfer.bytes + chunk.length > options.maxBytes) throw tooLarge(options.maxBytes);
    await writeAll(file, chunk, transfer.bytes);
    transfer.hash.update(chunk);
    transfer.bytes += chunk.length;
  }
  if (transfer.total !== null && transfer.bytes !== transfer.total) {
    const message = `the server sent ${transfer.bytes < transfer.total ? 'fewer' : 'more'} bytes than it declared`;
    throw new NetFailure('length', message, { retryable: transfer.bytes < transfer.total });
  }
}

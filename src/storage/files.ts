/** File helpers of both storages. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';

export interface CopyOptions {
  /** fsync before resolving */
  sync: boolean;
  /** the target must not exist */
  exclusive: boolean;
  signal: AbortSignal | undefined;
}

/** Writes a stream to `path` while hashing it; removes the file if anything fails. */
export async function copyHashed(
  source: Readable,
  path: string,
  { sync, exclusive, signal }: CopyOptions,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  let opened = false;
  const abort = () => source.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal?.addEventListener('abort', abort, { once: true });
  // The loop below reports the stream's errors; this handler covers those before the loop starts.
  source.on('error', () => undefined);
  try {
    signal?.throwIfAborted();
    const target = await open(path, exclusive ? 'wx' : 'w', 0o600);
    opened = true;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        hash.update(chunk);
        await target.writeFile(chunk);
        size += chunk.length;
      }
      signal?.throwIfAborted();
      if (sync) await target.sync();
    } finally {
      await target.close();
    }
  } catch (error) {
    source.destroy();
    if (opened) await rm(path, { force: true });
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return { size, sha256: hash.digest('hex') };
}

/** Writes the names in a folder to the disk: a new or renamed file may otherwise be lost in a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Whether a filesystem call failed because a name does not exist (or a parent of it is a file). */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

import type { FileHandle } from 'node:fs/promises';

/** A nearly full disk may take only part of a write. The next write then fails with the true reason. */
export async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    done += (await file.write(chunk, done, chunk.length - done, position + done)).bytesWritten;
  }
}

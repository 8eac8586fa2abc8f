/** Files that a local demo takes from the console: kept for a day, and served to the service itself only. */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FrameliftError } from './domain/errors.ts';
import { maxSourceBytes } from './domain/limits.ts';
import type { Uploads } from './http/console/deps.ts';

/** ms; a job fetches its source within minutes */
const keptMs = 24 * 3600_000;
const uploadName = /^[0-9a-f]{32}\.mp4$/;

export interface UploadOptions {
  /** made when it is missing; nothing else lies there */
  folder: string;
  /** address of a kept file */
  urlOf(name: string): string;
  /** bytes; default 2,000,000,000 */
  maxBytes?: number;
}

export function createUploads({ folder, urlOf, maxBytes = maxSourceBytes }: UploadOptions): Uploads {
  return {
    async save(body, signal) {
      await mkdir(folder, { recursive: true });
      await removeOld(folder);
      const name = `${randomBytes(16).toString('hex')}.mp4`;
      const draft = join(folder, `.${name}`);
      try {
        const sizeBytes = await write(body, draft, { maxBytes, signal });
        if (sizeBytes === 0) throw new FrameliftError('invalid_request', 'The file is empty.');
        await rename(draft, join(folder, name));
        return { url: urlOf(name), sizeBytes };
      } finally {
        await rm(draft, { force: true });
      }
    },
  };
}

async function write(
  body: AsyncIterable<Uint8Array>,
  path: string,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<number> {
  let sizeBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) {
        throw new FrameliftError('payload_too_large', `The file is larger than ${maxBytes} bytes.`);
      }
      yield chunk;
    }
  }
  await pipeline(Readable.from(counted(), { objectMode: false }), createWriteStream(path), { signal });
  return sizeBytes;
}

/** Path of a kept file; null for a name that no upload has. */
export function uploadPath(folder: string, name: string): string | null {
  return uploadName.test(name) ? join(folder, name) : null;
}

/** Drafts of broken uploads too. */
async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > keptMs) await rm(path, { force: true });
  }
}

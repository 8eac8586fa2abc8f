/** Shared by customers' commands: the named video, sending a file, reading a list, and a progress bar. */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { SingleBar } from 'cli-progress';
import { InvalidArgumentError } from 'commander';
import type { Reelmend, Upload } from '../sdk/index.ts';

export async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw new Error(`There is no file ${path}.`);
  if (found.size === 0) throw new Error(`The file ${path} is empty.`);
}

/** An error names the upload, so that it can be resumed. */
export async function sendFile(reelmend: Reelmend, path: string, resumed?: string): Promise<Upload> {
  const file = await openAsBlob(path);
  const bar = progressBar(basename(path));
  let id = resumed;
  const onProgress = ({ uploadId, sentBytes, totalBytes }: { uploadId: string; sentBytes: number; totalBytes: number }) => {
    id = uploadId;
    bar.update(sentBytes / totalBytes);
  };
  try {
    if (resumed !== undefined) return await reelmend.uploads.resume(resumed, file, { onProgress });
    return await reelmend.uploads.create(file, { name: basename(path), onProgress });
  } catch (error) {
    if (id === undefined || !(error instanceof Error)) throw error;
    throw new Error(`${error.message} Go on with: reelmend upload --resume ${id} ${path}`, { cause: error });
  } finally {
    bar.stop();
  }
}

export const isUrl = (source: string) => /^https?:\/\//i.test(source);
export const isUpload = (source: string) => /^upl_[0-9a-z]{26}$/.test(source);
export const videoOf = (source: string) => (isUrl(source) ? { video_url: source } : { upload_id: source });

/** the most that the API lists at a time */
export const largestPage = 100;

/** The first items of a list of any length. */
export async function firstOf<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) if (found.push(item) === count) break;
  return found;
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

export function progressBar(name: string): { update: (fraction: number) => void; stop: () => void } {
  const format = '{bar} {percent} %  {name}';
  const bar = new SingleBar({ format, barsize: 30, hideCursor: true, clearOnComplete: true, stream: process.stderr });
  let started = false;
  return {
    update(fraction) {
      const payload = { name, percent: Math.floor(fraction * 100) };
      if (!started) bar.start(1, 0, payload);
      started = true;
      bar.update(fraction, payload);
    },
    stop: () => bar.stop(),
  };
}

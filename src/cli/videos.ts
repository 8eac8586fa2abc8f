/** Shared by customers' commands: the named video, sending a file, reading a list, and a progress bar. */
import { openAsBlob } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { InvalidArgumentError } from 'commander';
import type { Reelmend, Upload } from '../sdk/index.ts';
import { keyOfFile } from '../sdk/uploads.ts';
import type { RemoteOptions } from './connect.ts';
import { reasonOf } from './reason.ts';
import { requireReplaceable } from './replaceable.ts';
import { plain } from './terminal.ts';

export async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null) throw new Error(`There is no file ${plain(path)}.`);
  if (found.isDirectory()) throw new Error(`${plain(path)} is a folder: name the video files in it.`);
  if (!found.isFile()) throw new Error(`${plain(path)} is a device or a pipe: name a file, whose size is known before it is sent.`);
  if (found.size === 0) throw new Error(`The file ${plain(path)} is empty.`);
}

/** Throws before anything is sent or paid whose result could not be written. */
export async function requireWritable(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  await requireReplaceable(path);
  if (!(await isFolder(folder))) throw new Error(`There is no folder ${folder}.`);
  await access(folder, constants.W_OK).catch((cause: unknown) => {
    throw new Error(`Cannot write into the folder of ${path}.`, { cause });
  });
}

const isFolder = async (path: string) => (await stat(path).catch(() => null))?.isDirectory() === true;

/** Runs a step. Its error also says what is there already. */
export async function withNote<T>(note: string | ((error: unknown) => string | Promise<string>), step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const sentence = typeof note === 'string' ? note : await note(error);
    throw sentence === '' ? error : new Error(`${reasonOf(error)} ${sentence}`, { cause: error });
  }
}

/** A command for the same service, to be copied into a shell. */
export const commandFor = ({ url }: RemoteOptions, ...args: string[]): string =>
  ['reelmend', ...args, ...(url === undefined ? [] : ['--url', url])].map(quoted).join(' ');

/** A file as an argument of such a command: a name such as `-1.mp4` would be taken for an option. */
export const fileArgument = (path: string): string => (path.startsWith('-') ? `./${path}` : path);

const quoted = (argument: string) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`);

/** What became of a job or a preview when waiting for it failed. */
export async function stateOf(kind: 'job' | 'preview', id: string, { error, options }: { error: unknown; options: RemoteOptions }): Promise<string> {
  const { JobFailedError, NotFoundError, PreviewFailedError } = await import('../sdk/errors.ts');
  const ended = [JobFailedError, NotFoundError, PreviewFailedError].some((kindOfError) => error instanceof kindOfError);
  return ended ? `The ${kind} was ${id}.` : `The ${kind} ${id} goes on: ${commandFor(options, `${kind}s`, 'get', id)}`;
}

export interface SendFileOptions extends RemoteOptions {
  /** id of an upload to go on with */
  resume?: string;
  /** key of the job that is made from the file */
  idempotencyKey?: string;
  signal: AbortSignal;
}

/** An error names the upload where it can be resumed. */
export async function sendFile(reelmend: Reelmend, path: string, options: SendFileOptions): Promise<Upload> {
  const { resume, idempotencyKey: keyOfJob, signal } = options;
  const file = await openAsBlob(path);
  const idempotencyKey = keyOfJob === undefined ? undefined : await keyOfFile(keyOfJob);
  let id = resume;
  const send = (update: (fraction: number) => void) => {
    const onProgress = ({ uploadId, sentBytes, totalBytes }: { uploadId: string; sentBytes: number; totalBytes: number }) => {
      id = uploadId;
      update(sentBytes / totalBytes);
    };
    return resume === undefined
      ? reelmend.uploads.create(file, { name: basename(path), idempotencyKey, onProgress, signal })
      : reelmend.uploads.resume(resume, file, { onProgress, signal });
  };
  const howToGoOn = async (error: unknown) =>
    id !== undefined && (await canResume(error, signal)) ? `Go on with: ${commandFor(options, 'upload', '--resume', id, fileArgument(path))}` : '';
  return withNote(howToGoOn, () => withBar(plain(basename(path)), send));
}

async function canResume(error: unknown, { aborted }: AbortSignal): Promise<boolean> {
  const [{ isTransient }, { ServerError }] = await Promise.all([import('../sdk/call.ts'), import('../sdk/errors.ts')]);
  return aborted || isTransient(error) || error instanceof ServerError;
}

/** For what fails after a file was sent. */
export const uploadIsKept = (upload: Upload | undefined): string =>
  upload === undefined ? '' : `The upload ${upload.id} is kept for 24 hours; name it instead of the file.`;

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

/** Shows a progress bar during `work`, which says how much is done, 0…1. */
export async function withBar<T>(name: string, work: (update: (fraction: number) => void) => Promise<T>): Promise<T> {
  const bar = progressBar(name);
  try {
    return await work(bar.update);
  } finally {
    bar.stop();
  }
}

function progressBar(name: string): { update: (fraction: number) => void; stop: () => void } {
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

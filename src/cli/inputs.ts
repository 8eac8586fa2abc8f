/** What `reelmend enhance` is to work on: files, folders, patterns, lists, URLs, standard input; and where results go. */
import { createWriteStream, statSync } from 'node:fs';
import { glob, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text as textOf } from 'node:stream/consumers';
import { fetch } from './fetch.ts';
import { withCause } from './reason.ts';
import { plain, terminal, warn } from './terminal.ts';

/** How files of a folder are known to be videos. Files that are named one by one may have any name. */
const videoExtensions: ReadonlySet<string> = new Set([
  ...['.3gp', '.avi', '.flv', '.m2ts', '.m4v', '.mkv', '.mov', '.mp4', '.mpeg', '.mpg', '.mts', '.mxf', '.ogv', '.ts', '.vob', '.webm', '.wmv'],
]);

const isVideoName = (path: string) => videoExtensions.has(extname(path).toLowerCase());

export interface Input {
  /** the argument itself: a path, a URL, or `-` */
  source: string;
  kind: 'file' | 'url' | 'stdin';
  /** file name without folders and extension */
  stem: string;
  /** named by an argument of its own, or by a shell that expanded a pattern; not found in a folder */
  named: boolean;
}

const urlPattern = /^https?:\/\//i;
const isPattern = (text: string) => /[*?[{]/.test(text);
const isFolder = async (path: string) => (await stat(path).catch(() => null))?.isDirectory() === true;
const isFile = async (path: string) => (await stat(path).catch(() => null))?.isFile() === true;

const stemOf = (name: string) => basename(name, extname(name)) || 'video';

function input(source: string, named: boolean): Input {
  if (source === '-') return { source, kind: 'stdin', stem: 'video', named };
  if (!urlPattern.test(source)) return { source, kind: 'file', stem: stemOf(source), named };
  return { source, kind: 'url', stem: stemOf(fileNameOf(source)), named };
}

/** What a URL calls its file, without what no file name may have. An escape that stands for no text stays as it is. */
function fileNameOf(url: string): string {
  if (!URL.canParse(url)) throw new Error(`${url} is no whole URL, such as https://media.example.com/holiday.mp4.`);
  const { pathname } = new URL(url);
  try {
    return decodeURIComponent(pathname).replaceAll(/\p{Cc}/gu, '_');
  } catch {
    return pathname;
  }
}

/** Why a path names no file. Node replaces bytes that are not UTF-8 by U+FFFD, so it cannot open such a file, as old archives have (Latin-1). */
export function noFile(path: string): Error {
  if (path === '') return new Error('The name of the video is empty.');
  if (path.includes('\uFFFD')) return new Error(`${path}: this name is not UTF-8; rename the file or folder.`);
  if (isDevice(path)) return new Error(`${plain(path)} is a device or a pipe: \`enhance\` reads such from standard input, as \`-\`.`);
  return new Error(`There is no file ${plain(path)}.`);
}

/** For example what a shell makes of `<(command)`. */
function isDevice(path: string): boolean {
  try {
    const found = statSync(path);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}

/** The videos that the arguments name, each once, in the order of the arguments. Throws when one names none. */
async function expandInputs(args: readonly string[]): Promise<Input[]> {
  const found = new Map<string, Input>();
  for (const argument of args) {
    for (const path of await expand(argument)) {
      const key = urlPattern.test(path) || path === '-' ? path : resolve(path);
      found.set(key, input(path, path === argument || found.get(key)?.named === true));
    }
  }
  return [...found.values()];
}

async function expand(argument: string): Promise<string[]> {
  if (argument === '-' || urlPattern.test(argument) || (await isFile(argument))) return [argument];
  const folder = await isFolder(argument);
  if (!folder && !isPattern(argument)) throw noFile(argument);
  const videos: string[] = [];
  for await (const path of folder ? await pathsIn(argument) : glob(argument)) {
    if (!isVideoName(path)) continue;
    if (await isFile(path)) videos.push(path);
    else if (path.includes('\uFFFD')) throw noFile(path);
  }
  if (videos.length === 0) throw new Error(folder ? `There are no videos in the folder ${plain(argument)}.` : `No video matches ${plain(argument)}.`);
  return videos.toSorted();
}

const pathsIn = async (folder: string) => (await readdir(folder)).map((name) => join(folder, name));

/** The lines of a list; `-` reads it from standard input. Empty lines and lines that start with `#` are left out. */
async function readList(path: string): Promise<string[]> {
  const text = path === '-' ? await textOf(terminal().stdin) : await readFile(path, 'utf8').catch(() => null);
  if (text === null) throw new Error(`There is no list ${path}.`);
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

export type Targets =
  /** one video to a file, or to standard output (`-`) */
  | { kind: 'one'; input: Input; output: string }
  /** videos to a folder */
  | { kind: 'many'; inputs: Input[]; folder: string };

export interface Arguments {
  /** as typed: videos, then the output */
  paths: readonly string[];
  list?: string | undefined;
  /** makes the names of results in folders */
  resolution: string;
}

/** Tells videos and output apart. The last argument is the output, unless there is only one. */
export async function targetsOf({ paths, list, resolution }: Arguments): Promise<Targets> {
  const listed = list === undefined ? [] : await readList(list);
  const alone = paths.length === 1 && list === undefined;
  const sources = [...(alone ? paths : paths.slice(0, -1)), ...listed];
  const inputs = await expandInputs(sources);
  const [first] = inputs;
  if (first === undefined) throw new Error('There is no video to enhance.');
  const single = sources.length === 1 && inputs.length === 1 && list === undefined && !(await isFolder(sources[0]!));
  if (alone) {
    if (!single || first.kind === 'stdin') throw new Error(`Name the output, too: a ${single ? 'file' : 'folder'} for the result${single ? '' : 's'}.`);
    return { kind: 'one', input: first, output: join(first.kind === 'file' ? dirname(first.source) : '.', resultName(first, resolution)) };
  }
  const output = paths.at(-1)!;
  if (output === '') throw new Error('The name of the output is empty.');
  const toFolder = output.endsWith(sep) || (await isFolder(output));
  if (single && !toFolder) return { kind: 'one', input: first, output: checkedName(output) };
  if (output === '-') throw new Error('Standard output takes one result; name a folder for several.');
  if (await isFile(output)) throw new Error(`${output} is a file: name a folder for the results.`);
  if (!toFolder && isVideoName(output)) throw new Error(`${output} is the name of a file: name a folder for the results.`);
  return { kind: 'many', inputs: withoutResults(inputs, resolve(output), resolution), folder: output };
}

const resolutions = ['1080p', '4k', 'source'];

/** `holiday-1080p.mp4` */
export const resultName = ({ stem }: Input, resolution: string) => `${stem}${resolution === 'source' ? '-enhanced' : `-${resolution}`}.mp4`;

/**
 * Leaves out results of other inputs: a folder or a pattern may reach into the output folder. A file that was named is left out
 * only if this command writes it. The input with the shortest name is never a result of another, so one remains.
 */
function withoutResults(inputs: Input[], folder: string, resolution: string): Input[] {
  const namesAt = (chosen: string[]) => new Set(inputs.flatMap((each) => chosen.map((one) => resultName(each, one))));
  const [written, results] = [namesAt([resolution]), namesAt(resolutions)];
  const isResult = ({ kind, source, named }: Input) =>
    kind === 'file' && dirname(resolve(source)) === folder && (named ? written : results).has(basename(source));
  const kept = inputs.filter((each) => !isResult(each));
  const count = inputs.length - kept.length;
  const leftOut = count === 1 ? '1 video is the result of another and was left out' : `${count} videos are results of others and were left out`;
  if (count > 0) warn(`reelmend: ${leftOut}.`);
  return kept;
}

const mp4Extensions: ReadonlySet<string> = new Set(['.mp4', '.m4v']);

/** Throws for a name that promises another container than MP4. */
function checkedName(output: string): string {
  const extension = extname(output).toLowerCase();
  if (!videoExtensions.has(extension) || mp4Extensions.has(extension)) return output;
  const better = join(dirname(output), `${stemOf(output)}.mp4`);
  throw new Error(`${output}: the result is an MP4 file; name it ${better}.`);
}

/** Writes a URL or standard input into a file: the engine needs to go back and forth in a video. */
export async function fetchInput({ source, kind }: Pick<Input, 'source' | 'kind'>, path: string, signal: AbortSignal): Promise<void> {
  const content = kind === 'stdin' ? terminal().stdin : received(await open(source, signal), source, signal);
  await pipeline(content, createWriteStream(path), { signal });
  if ((await stat(path)).size === 0) throw new Error(kind === 'stdin' ? 'Standard input is empty.' : `${source} is empty.`);
}

/** The pieces of a download. An error says of which URL, and why it broke off. */
async function* received(pieces: Readable, url: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(withCause(`The download of ${url} broke off.`, cause), { cause });
  }
}

async function open(url: string, signal: AbortSignal): Promise<Readable> {
  const response = await fetch(url, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Error(withCause(`${url} cannot be reached.`, cause), { cause });
  });
  if (!response.ok || response.body === null) throw new Error(`${url} cannot be downloaded (status ${response.status}).`);
  return Readable.fromWeb(response.body);
}

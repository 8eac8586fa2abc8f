/** `reelmend preview`: compares settings on a few seconds of a video. `reelmend previews`: lists previews. */
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { EnhancementsInput, OutputInput, Preview, PreviewClip, PreviewSetting, Reelmend } from '../sdk/index.ts';
import { connect, type RemoteOptions, withService } from './connect.ts';
import { fetch } from './fetch.ts';
import { interruptible } from './interruptible.ts';
import { positiveWhole } from './options.ts';
import { withCause } from './reason.ts';
import { requireInputKept } from './replaceable.ts';
import { plain, print, say } from './terminal.ts';
import {
  commandFor,
  firstOf,
  isUpload,
  isUrl,
  largestPage,
  requireFile,
  sendFile,
  stateOf,
  uploadIsKept,
  videoOf,
  wholeNumber,
  withBar,
  withNote,
} from './videos.ts';

interface PreviewOptions extends RemoteOptions {
  setting?: PreviewSetting[];
  secure?: boolean;
  maxCredits?: number;
  output?: string;
  json?: boolean;
}

export function previewCommand(): Command {
  return withService(new Command('preview'))
    .description('compare up to three settings on a few seconds of a video; the service chooses the seconds')
    .argument('<source>', 'a video file (sent first), an upload (upl_…) or a URL')
    .option('--setting <list>', 'one setting, such as "4k,model=none,face_restoration=off,quality=20"; repeat for up to three; default: 1080p', collectSetting)
    .option('--secure', 'create the preview in the Secure tier')
    .option('--max-credits <number>', 'reject the preview if it would cost more', wholeNumber)
    .option('--output <folder>', 'write the clips into this folder; replaces existing files')
    .option('--json', 'print the preview as JSON')
    .action(preview);
}

export function previewsCommand(): Command {
  const previews = new Command('previews').description('list, get and delete previews of a service, with an API key');
  withService(previews.command('list'))
    .description('list the newest previews')
    .option('--limit <count>', 'number of previews to list', positiveWhole, 20)
    .option('--json', 'print JSON')
    .action(listPreviews);
  withService(previews.command('get'))
    .description('print a preview as JSON, with links to its clips')
    .argument('<preview>', 'id, prv_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).previews.get(id)));
  withService(previews.command('delete'))
    .description('delete a preview and its clips; its upload stays')
    .argument('<preview>', 'id, prv_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).previews.delete(id)));
  return previews;
}

async function listPreviews({ limit, json, ...options }: RemoteOptions & { limit: number; json?: boolean }): Promise<void> {
  const reelmend = await connect(options);
  const previews = await firstOf(reelmend.previews.list({ limit: Math.min(limit, largestPage) }), limit);
  if (json === true) return print(previews);
  for (const each of previews) say(line(each));
}

const line = ({ id, status, progress, settings, file_name }: Preview): string =>
  [id, status.padEnd(7), `${Math.round(progress * 100)} %`.padStart(5), settings.length === 1 ? '1 setting' : `${settings.length} settings`, plain(file_name ?? '')].join('  ').trimEnd();

const strengths: Readonly<Record<string, keyof EnhancementsInput>> = {
  denoise: 'denoise',
  sharpen: 'sharpen',
  face_restoration: 'face_restoration',
  adaptive_contrast: 'adaptive_contrast',
};

const named = ['model', 'quality', 'max_bitrate', ...Object.keys(strengths)];

/** Names of earlier versions. */
const shortNames: Readonly<Record<string, string>> = { faces: 'face_restoration', contrast: 'adaptive_contrast' };

/** The API's name of a setting, also for one that is written like the options of other commands. */
function apiName(name: string): string {
  const underscored = name.replaceAll('-', '_');
  return shortNames[underscored] ?? underscored;
}

/** Reads `4k,model=none,sharpen=0.6`. The service checks the values. */
function parseSetting(text: string): PreviewSetting {
  const setting: PreviewSetting = { resolution: '1080p' };
  for (const part of text.split(',')) {
    const [given = '', value] = part.split(/=(.*)/s);
    const name = apiName(given);
    const stage = strengths[name];
    const target = given.toLowerCase();
    if (value === undefined && (target === '1080p' || target === '4k')) setting.resolution = target;
    else if (value === undefined) throw new InvalidArgumentError(`Expected name=value, 1080p or 4k instead of "${part}".`);
    else if (name === 'model') setting.model = value;
    else if (name === 'quality') setting.output = { ...setting.output, quality: numberOr(value) as NonNullable<OutputInput['quality']> };
    else if (name === 'max_bitrate') setting.output = { ...setting.output, max_bitrate: Number(value) };
    else if (stage !== undefined) setting.enhancements = { ...setting.enhancements, [stage]: numberOr(value) };
    else throw new InvalidArgumentError(`There is no "${given}"; use 1080p or 4k, and ${named.join(', ')} with "=".`);
  }
  return setting;
}

const numberOr = (value: string): number | string => (/^\d/.test(value) ? Number(value) : value);

const collectSetting = (text: string, earlier: PreviewSetting[] = []): PreviewSetting[] => [...earlier, parseSetting(text)];

async function preview(source: string, options: PreviewOptions): Promise<void> {
  const { setting: settings = [{ resolution: '1080p' }], secure, maxCredits, output, json } = options;
  const isFile = !isUrl(source) && !isUpload(source);
  if (isFile) await requireFile(source);
  if (output !== undefined) await createFolder(output);
  if (output !== undefined && isFile && clipName.test(basename(source))) await requireInputKept(source, join(output, basename(source)));
  const reelmend = await connect(options);
  await interruptible(async (signal) => {
    const upload = isFile ? await sendFile(reelmend, source, { ...options, signal }) : undefined;
    const more = { ...(secure === true ? { secure } : {}), ...(maxCredits === undefined ? {} : { max_credits: maxCredits }) };
    const body = { ...videoOf(upload?.id ?? source), settings, ...more };
    const { id } = await withNote(uploadIsKept(upload), () => reelmend.previews.create(body, { signal }));
    const done = await withNote((error) => stateOf('preview', id, { error, options }), () => waitFor(reelmend, id, signal));
    const links = `The preview is done; for links to its clips: ${commandFor(options, 'previews', 'get', id)}`;
    if (output !== undefined) await withNote(links, () => download(done, output, signal));
    if (json === true) return print(done);
    for (const line of linesOf(done, output)) say(line);
  });
}

/** Before anything is sent or paid. */
async function createFolder(path: string): Promise<void> {
  if (path === '') throw new Error('The name of the folder is empty.');
  if ((await stat(path).catch(() => null))?.isFile() === true) throw new Error(`${path} is a file: name a folder for the clips.`);
  await mkdir(path, { recursive: true });
}

const waitFor = (reelmend: Reelmend, id: string, signal: AbortSignal): Promise<Preview> =>
  withBar(id, (update) => reelmend.previews.wait(id, { onProgress: ({ progress }) => update(progress), signal }));

const clipName = /^\d+-(?:original|setting-\d+)\.mp4$/;

/** Pairs each clip with its file name: `1-original.mp4`, `1-setting-2.mp4`. */
function clipsOf({ stretches }: Preview): { name: string; clip: PreviewClip }[] {
  return (stretches ?? []).flatMap(({ original, results }, index) => [
    { name: `${index + 1}-original.mp4`, clip: original },
    ...results.map((clip, setting) => ({ name: `${index + 1}-setting-${setting + 1}.mp4`, clip })),
  ]);
}

async function download(done: Preview, folder: string, signal: AbortSignal): Promise<void> {
  for (const { name, clip } of clipsOf(done)) await writeWhole(folder, name, await fetchClip(name, clip, signal));
}

/** The clip appears under its name only when it is complete: a full disk leaves an earlier one as it was. */
async function writeWhole(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const draft = join(folder, `reelmend-${randomUUID()}.part`);
  try {
    await writeFile(draft, bytes, { flag: 'wx' });
    await rename(draft, join(folder, name));
  } finally {
    await rm(draft, { force: true });
  }
}

async function fetchClip(name: string, { url }: PreviewClip, signal: AbortSignal): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { signal });
    if (!response.ok) throw new Error(`the storage answered ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(withCause(`${name} could not be downloaded.`, cause), { cause });
  }
}

function* linesOf(done: Preview, folder: string | undefined): Generator<string> {
  yield `${done.id}  ${done.credits_charged} credits`;
  for (const [index, { start, reason }] of (done.stretches ?? []).entries()) yield `stretch ${index + 1}  at ${start.toFixed(1)} s  ${reason.replaceAll('_', ' ')}`;
  for (const { name, clip } of clipsOf(done)) yield folder === undefined ? `${name}  ${clip.url}` : join(folder, name);
}

/**
 * `reelmend upload`, `preview`, `previews …`, `jobs …`, `account …`, `audit-log`, `login` and `listen`: a customer's commands against a service
 * anywhere, with an API key. They need neither database nor storage.
 */
import { basename, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { DownloadProgress, Job, JobStatus, Reelmend, TimeEstimate, Upload } from '../sdk/index.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { connect, loginCommands, type RemoteOptions, withService } from './connect.ts';
import { interruptible } from './interruptible.ts';
import { type SettingOptions, type Settings, settingsOf, withSettings } from './job-settings.ts';
import { listenCommand } from './listen-command.ts';
import { ownAccountCommand } from './own-account-command.ts';
import { pointInTime, positiveWhole } from './options.ts';
import { previewCommand, previewsCommand } from './preview-command.ts';
import { requireInputKept, requireNoTerminal } from './replaceable.ts';
import { bytes, plain, print, say, terminal, warn } from './terminal.ts';
import {
  commandFor,
  fileArgument,
  firstOf,
  isUpload,
  isUrl,
  largestPage,
  requireFile,
  requireWritable,
  sendFile,
  stateOf,
  uploadIsKept,
  videoOf,
  wholeNumber,
  withBar,
  withNote,
} from './videos.ts';

export function remoteCommands(): Command[] {
  return [...loginCommands(), uploadCommand(), previewCommand(), previewsCommand(), jobCommands(), ownAccountCommand(), auditLogCommand(), listenCommand()];
}

interface UploadOptions extends RemoteOptions {
  resume?: string;
  json?: boolean;
}

function uploadCommand(): Command {
  const command = new Command('upload').description('send video files to a service; `jobs create` and `preview` accept the ids that it prints');
  return withService(command)
    .argument('<files...>', 'video files')
    .option('--resume <upload>', 'continue this interrupted upload, upl_…; for one file')
    .option('--json', 'print the uploads as JSON')
    .action(async (files: string[], options: UploadOptions) => {
      if (options.resume !== undefined && files.length > 1) throw new Error('--resume is for one file.');
      for (const file of files) await requireFile(file);
      await interruptible((signal) => sendFiles(files, { ...options, signal }));
    });
}

async function sendFiles(files: string[], options: UploadOptions & { signal: AbortSignal }): Promise<void> {
  const reelmend = await connect(options);
  const uploads: Upload[] = [];
  try {
    for (const file of files) {
      const upload = await sendFile(reelmend, file, options);
      uploads.push(upload);
      if (options.json !== true) say(`${upload.id}  ${plain(upload.file_name)}`);
    }
  } finally {
    // Also those that were sent before an error.
    if (options.json === true && uploads.length > 0) print(uploads);
  }
}

interface CreateOptions extends SettingOptions {
  idempotencyKey?: string;
  metadata?: Record<string, string>;
  maxCredits?: number;
  webhook?: string;
  poster?: boolean;
  thumbnails?: number;
  output?: string;
  wait?: boolean;
  json?: boolean;
}

function jobCommands(): Command {
  const jobs = new Command('jobs').description('create, follow, download and delete jobs of a service, with an API key');
  withSettings(withService(jobs.command('create')))
    .description('create a job from a file (sent first), an upload or a URL')
    .argument('<source>', 'a video file, an upload (upl_…) or a URL')
    .option('--poster', 'also make a poster of the result; jobs result prints its link')
    .option('--thumbnails <count>', 'also make this many thumbnails of the result; jobs result prints their links', positiveWhole)
    .option('--webhook <url>', 'URL that receives a signed event when the job ends')
    .option('--max-credits <number>', 'reject the job if it would cost more', wholeNumber)
    .option('--metadata <name=value>', 'a value of your own that the job keeps; repeat for several', collectMetadata)
    .option('--idempotency-key <key>', 'the same key again gives the same job, so that a repeated command creates no second one')
    .option('--wait', 'wait until the job ends')
    .option('--output <file>', 'wait, and write the result to this file; replaces an existing file; - for standard output')
    .option('--json', 'print the job as JSON')
    .action(createJob);
  withSettings(withService(jobs.command('quote')))
    .description('print the price of a job, and estimates of its duration and size')
    .argument('<source>', 'an upload (upl_…) or a URL')
    .option('--json', 'print the quote as JSON')
    .action(quoteJob);
  withService(jobs.command('list'))
    .description('list the newest jobs')
    .addOption(new Option('--status <status>', 'only jobs with this status').choices(['queued', 'running', 'done', 'error']))
    .option('--since <time>', 'only jobs that were created at this time or later: a day (UTC), a time with Z or an offset, or how long ago, such as 24h or 7d', pointInTime)
    .option('--until <time>', 'only jobs that were created before this time', pointInTime)
    .option('--metadata <name=value>', 'only jobs with this pair in their metadata', pair)
    .option('--limit <count>', 'number of jobs to list', positiveWhole, 20)
    .option('--json', 'print JSON')
    .action(listJobs);
  withService(jobs.command('get'))
    .description('print a job as JSON')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.get(id)));
  withService(jobs.command('result'))
    .description('print links to the result, the poster and the thumbnails of a job as JSON; they expire')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.result(id)));
  withService(jobs.command('download'))
    .description('write the result of a job to a file; replaces an existing file')
    .argument('<job>', 'id, job_…')
    .argument('<file>', 'the MP4 file to write, or - for standard output')
    .action(async (id: string, file: string, options: RemoteOptions) => {
      await requireOutput(file);
      const reelmend = await connect(options);
      await interruptible(async (signal) => {
        const sizeBytes = await download(reelmend, id, { output: file, signal });
        sayOf(file, `${nameOf(file)}: ${bytes(sizeBytes)}`);
      });
    });
  withService(jobs.command('delete'))
    .description('delete a job with its files and its upload')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.delete(id)));
  withService(jobs.command('certificate'))
    .description('print the deletion certificate of a deleted job of the Secure tier as JSON, for verify certificate')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.deletionCertificate(id)));
  return jobs;
}

interface ListOptions extends RemoteOptions {
  status?: JobStatus;
  since?: Date;
  until?: Date;
  metadata?: string;
  limit: number;
  json?: boolean;
}

async function listJobs({ status, since, until, metadata, limit, json, ...options }: ListOptions): Promise<void> {
  const reelmend = await connect(options);
  const filters = { status, metadata, created_after: since?.toISOString(), created_before: until?.toISOString() };
  const query = { limit: Math.min(limit, largestPage), ...omitUndefined(filters) };
  const jobs = await firstOf(reelmend.jobs.list(query), limit);
  if (json === true) return print(jobs);
  for (const job of jobs) say(line(job));
}

function auditLogCommand(): Command {
  return withService(new Command('audit-log'))
    .description("print the whole audit log of the key's account with its signed head as JSON, for verify audit-log; needs a key of the Secure tier")
    .action(async (options: RemoteOptions) => printAuditLog(await connect(options)));
}

/**
 * Prints each page as it comes: a log of millions of entries is longer than the longest string. The head of the first page covers all
 * entries of this page and those after it, because the log only grows.
 */
async function printAuditLog(reelmend: Reelmend): Promise<void> {
  let isFirst = true;
  for await (const { head, data } of reelmend.auditLog.pages({ limit: largestPage })) {
    const before = isFirst ? `{"head":${JSON.stringify(head)},"data":[\n` : ',\n';
    await terminal().stdoutBytes(Buffer.from(before + data.map((entry) => JSON.stringify(entry)).join(',\n')));
    isFirst = false;
  }
  await terminal().stdoutBytes(Buffer.from('\n]}\n'));
}

const line = ({ id, status, progress, resolution, file_name }: Job) =>
  [id, status.padEnd(7), `${Math.round(progress * 100)} %`.padStart(5), resolution, plain(file_name ?? '')].join('  ').trimEnd();

/** The service checks names and values. */
function pair(text: string): string {
  if (!/^[^=]+=/.test(text)) throw new InvalidArgumentError('Expected name=value.');
  return text;
}

function collectMetadata(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const [name = '', value = ''] = pair(text).split(/=(.*)/s);
  if (Object.hasOwn(earlier, name)) throw new InvalidArgumentError(`${plain(name)} occurs twice.`);
  return { ...earlier, [name]: value };
}

async function createJob(source: string, options: CreateOptions): Promise<void> {
  const { output } = options;
  const isFile = !isUrl(source) && !isUpload(source);
  if (isFile) await requireFile(source);
  if (output !== undefined) await requireOutput(output, options);
  if (isFile && output !== undefined) await requireInputKept(source, output);
  const reelmend = await connect(options);
  await interruptible(async (signal) => {
    const settings = await newJobOf(reelmend, options, signal);
    const upload = isFile ? await sendFile(reelmend, source, { ...options, signal }) : undefined;
    const body = { ...settings, ...videoOf(upload?.id ?? source) };
    const { idempotencyKey } = options;
    const mayExist = () => (signal.aborted ? `The job may have been created; see: ${commandFor(options, 'jobs', 'list')}` : '');
    const note = () => [mayExist(), uploadIsKept(upload)].filter((sentence) => sentence !== '').join('. ');
    let job = await withNote(note, () => reelmend.jobs.create(body, { signal, idempotencyKey }));
    const { id } = job;
    const waits = options.wait === true || output !== undefined;
    if (waits) job = await withNote((error) => stateOf('job', id, { error, options }), () => waitFor(reelmend, id, signal));
    if (output !== undefined) {
      const again = `The job is done; fetch its result with: ${commandFor(options, 'jobs', 'download', id, isPiped(output) ? output : fileArgument(output))}`;
      await withNote(again, () => download(reelmend, id, { output, signal }));
    }
    if (options.json === true) print(job);
    else if (output === undefined) say(line(job));
    else sayOf(output, `${nameOf(output)}: ${job.output?.width}×${job.output?.height}, job ${id}`);
  });
}

async function newJobOf(reelmend: Reelmend, options: CreateOptions, signal: AbortSignal): Promise<Settings> {
  const { maxCredits, metadata, webhook, poster, thumbnails } = options;
  const settings = await settingsOf(reelmend, options, signal);
  const output = { ...settings.output, ...(poster === true ? { poster } : {}), ...(thumbnails === undefined ? {} : { thumbnails }) };
  return {
    ...settings,
    ...(Object.keys(output).length === 0 ? {} : { output }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(webhook === undefined ? {} : { webhook_url: webhook }),
    ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
  };
}

async function quoteJob(source: string, options: SettingOptions & { json?: boolean }): Promise<void> {
  if (!isUrl(source) && !isUpload(source)) throw new Error('Expected a URL or an upload. Send a file with `reelmend upload` first.');
  const reelmend = await connect(options);
  const quote = await reelmend.quotes.create({ ...(await settingsOf(reelmend, options)), ...videoOf(source) });
  if (options.json === true) return print(quote);
  const { credits, duration_seconds, estimated_time, estimated_size } = quote;
  const size = estimated_size === null ? '' : `, a result of ${bytes(estimated_size.min_bytes)} to ${bytes(estimated_size.max_bytes)}`;
  say(`${credits} credits for ${duration_seconds} s of video, ${secondsOf(estimated_time)} of work${size}`);
}

const secondsOf = ({ min_seconds, max_seconds }: TimeEstimate): string =>
  min_seconds === max_seconds ? `${min_seconds} s` : `${min_seconds} to ${max_seconds} s`;

const waitFor = (reelmend: Reelmend, id: string, signal: AbortSignal): Promise<Job> =>
  withBar(id, (update) => reelmend.waitForJob(id, { onProgress: ({ progress }) => update(progress), signal }));

/** `-`, as for `enhance` */
const isPiped = (output: string) => output === '-';
const nameOf = (output: string) => (isPiped(output) ? 'standard output' : output);
/** Standard output takes nothing beside a video. */
const sayOf = (output: string, sentence: string) => (isPiped(output) ? warn : say)(sentence);

/** Throws if the result cannot be written there. */
async function requireOutput(output: string, { json }: { json?: boolean } = {}): Promise<void> {
  if (!isPiped(output)) return requireWritable(output);
  requireNoTerminal();
  if (json === true) throw new Error('Standard output takes the video or the JSON of --json: name a file for the video.');
}

/** Resolves with the size in bytes. */
const download = (reelmend: Reelmend, id: string, { output, signal }: { output: string; signal: AbortSignal }): Promise<number> =>
  withBar(basename(nameOf(output)), async (update) => {
    const onProgress = ({ receivedBytes, totalBytes }: DownloadProgress) => update(receivedBytes / totalBytes);
    if (!isPiped(output)) return (await reelmend.jobs.download(id, resolve(output), { onProgress, signal })).sizeBytes;
    let sizeBytes = 0;
    // The stream fails at its end if the checksum is wrong.
    for await (const chunk of await reelmend.jobs.downloadStream(id, { onProgress, signal })) {
      await terminal().stdoutBytes(chunk);
      sizeBytes += chunk.length;
    }
    return sizeBytes;
  });

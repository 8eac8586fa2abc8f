/**
 * `reelmend upload`, `jobs …`, `login` and `listen`: a customer's commands against a service anywhere, with an API key. They
 * need neither database nor storage.
 */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command, Option } from 'commander';
import type { DownloadProgress, Job, Reelmend, Upload } from '../sdk/index.ts';
import { connect, loginCommands, type RemoteOptions, withService } from './connect.ts';
import { listenCommand } from './listen-command.ts';
import { print, say } from './terminal.ts';

export function remoteCommands(): Command[] {
  return [...loginCommands(), uploadCommand(), jobCommands(), listenCommand()];
}

interface UploadOptions extends RemoteOptions {
  resume?: string;
  json?: boolean;
}

function uploadCommand(): Command {
  const command = new Command('upload').description('send video files to a service, for jobs with --upload');
  return withService(command)
    .argument('<files...>', 'video files')
    .option('--resume <upload>', 'go on with an upload that was broken off, upl_…; for one file')
    .option('--json', 'print the uploads as JSON')
    .action(async (files: string[], options: UploadOptions) => {
      if (options.resume !== undefined && files.length > 1) throw new Error('--resume is for one file.');
      for (const file of files) await requireFile(file);
      const reelmend = await connect(options);
      const uploads: Upload[] = [];
      for (const file of files) {
        const upload = await sendFile(reelmend, file, options.resume);
        uploads.push(upload);
        if (options.json !== true) say(`${upload.id}  ${upload.file_name}`);
      }
      if (options.json === true) print(uploads);
    });
}

async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw new Error(`There is no file ${path}.`);
  if (found.size === 0) throw new Error(`The file ${path} is empty.`);
}

/** An error names the upload, so that it can be resumed. */
async function sendFile(reelmend: Reelmend, path: string, resumed?: string): Promise<Upload> {
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

interface CreateOptions extends RemoteOptions {
  resolution: Job['resolution'];
  model?: string;
  secure?: boolean;
  output?: string;
  wait?: boolean;
  json?: boolean;
}

function jobCommands(): Command {
  const jobs = new Command('jobs').description('create, list and get jobs of a service, with an API key');
  withService(jobs.command('create'))
    .description('create a job from a file, which is sent first, from an upload, or from a URL')
    .argument('<source>', 'a video file, an upload (upl_…), or a URL')
    .addOption(new Option('--resolution <target>', 'target size').choices(['1080p', '4k']).default('1080p'))
    .option('--model <name>', 'an installed network, auto, or none for the plain filter')
    .option('--secure', 'create the job in the Secure tier')
    .option('--wait', 'wait until the job has ended')
    .option('--output <file>', 'wait, and write the result to this file; an existing one is replaced')
    .option('--json', 'print the job as JSON')
    .action(createJob);
  withService(jobs.command('list'))
    .description('list the newest jobs')
    .option('--json', 'print JSON')
    .action(async (options: RemoteOptions & { json?: boolean }) => {
      const { data } = await (await connect(options)).jobs.list({ limit: 20 });
      if (options.json === true) return print(data);
      for (const job of data) say(line(job));
    });
  withService(jobs.command('get'))
    .description('print a job as JSON')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.get(id)));
  withService(jobs.command('delete'))
    .description('delete a job with its files and its upload')
    .argument('<job>', 'id, job_…')
    .action(async (id: string, options: RemoteOptions) => print(await (await connect(options)).jobs.delete(id)));
  return jobs;
}

const line = ({ id, status, progress, resolution, file_name }: Job) =>
  [id, status.padEnd(7), `${Math.round(progress * 100)} %`.padStart(5), resolution, file_name ?? ''].join('  ').trimEnd();

async function createJob(source: string, options: CreateOptions): Promise<void> {
  const { resolution, model, secure, output } = options;
  const isUrl = /^https?:\/\//i.test(source);
  const isUpload = /^upl_[0-9a-z]{26}$/.test(source);
  if (!isUrl && !isUpload) await requireFile(source);
  const reelmend = await connect(options);
  const settings = { resolution, ...(model === undefined ? {} : { model }), ...(secure === true ? { secure } : {}) };
  const uploadId = isUrl || isUpload ? source : (await sendFile(reelmend, source)).id;
  let job = await reelmend.jobs.create(isUrl ? { ...settings, video_url: source } : { ...settings, upload_id: uploadId });
  if (options.wait === true || output !== undefined) job = await waitFor(reelmend, job);
  if (output !== undefined) await download(reelmend, job, output);
  if (options.json === true) print(job);
  else say(output === undefined ? line(job) : `${output}: ${job.output?.width}×${job.output?.height}, job ${job.id}`);
}

async function waitFor(reelmend: Reelmend, { id }: Job): Promise<Job> {
  const bar = progressBar(id);
  try {
    return await reelmend.waitForJob(id, { onProgress: ({ progress }) => bar.update(progress) });
  } finally {
    bar.stop();
  }
}

async function download(reelmend: Reelmend, { id }: Job, output: string): Promise<void> {
  const bar = progressBar(basename(output));
  try {
    const onProgress = ({ receivedBytes, totalBytes }: DownloadProgress) => bar.update(receivedBytes / totalBytes);
    await reelmend.jobs.download(id, resolve(output), { onProgress });
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

/** Enhances a video in one call: sends a file, creates a job, waits for it and fetches the result. */
import type { DownloadedFile, DownloadOptions } from './download.ts';
import type { CreateOptions, JobInput } from './inputs.ts';
import type { Job, Upload } from './types.gen.ts';
import { keyOfFile, type UploadOptions } from './uploads.ts';
import type { WaitOptions } from './wait.ts';

/** A job to create, or one whose video is a file: a `File`, or in Node `await openAsBlob(path)` of `node:fs`. */
export type EnhanceInput = JobInput | FileInput;

interface FileInput extends Omit<JobInput, 'video_url' | 'upload_id'> {
  file: Blob;
  /** Default: the name of a `File`. Results are named after it. */
  file_name?: string | undefined;
  video_url?: never;
  upload_id?: never;
}

export interface EnhanceProgress {
  step: 'upload' | 'enhance' | 'download';
  /** of the step, 0…1 */
  progress: number;
  /** the job, once it exists */
  job?: Job;
}

export interface EnhanceOptions {
  /** Path of the file that the result is written into. For Node, Deno and Bun. Default: the result is not downloaded. */
  output?: string | undefined;
  /** Your own key, so that the same call after a restart of your process continues, and charges once. Otherwise one is generated. */
  idempotencyKey?: string | undefined;
  /** Ends the call, not the job. Rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** If it throws, the call ends with that error. */
  onProgress?: ((progress: EnhanceProgress) => void) | undefined;
}

export interface EnhanceSteps {
  upload(file: Blob, options: UploadOptions): Promise<Upload>;
  create(body: JobInput, options: CreateOptions): Promise<Job>;
  wait(id: string, options: WaitOptions): Promise<Job>;
  /** Rejects if no result can be written to this path. */
  checkTarget(path: string): Promise<void>;
  download(id: string, path: string, options: DownloadOptions): Promise<DownloadedFile>;
}

export async function enhance(steps: EnhanceSteps, input: EnhanceInput, options: EnhanceOptions = {}): Promise<Job> {
  const { output, idempotencyKey, signal, onProgress } = options;
  // Before anything is sent or charged.
  if (output !== undefined) await steps.checkTarget(output);
  const body = 'file' in input ? await sent(steps, input, options) : input;
  const { id } = await steps.create(body, { signal, idempotencyKey });
  const job = await steps.wait(id, {
    signal,
    onProgress: (latest) => onProgress?.({ step: 'enhance', progress: latest.progress, job: latest }),
  });
  if (output !== undefined) {
    await steps.download(id, output, {
      signal,
      onProgress: ({ receivedBytes, totalBytes }) => onProgress?.({ step: 'download', progress: receivedBytes / totalBytes, job }),
    });
  }
  return job;
}

/** Sends the file. Resolves with the job's body. */
async function sent(steps: EnhanceSteps, { file, file_name, ...settings }: FileInput, options: EnhanceOptions): Promise<JobInput> {
  const { idempotencyKey, signal, onProgress } = options;
  const { id } = await steps.upload(file, {
    signal,
    name: file_name,
    idempotencyKey: idempotencyKey === undefined ? undefined : await keyOfFile(idempotencyKey),
    onProgress: ({ sentBytes, totalBytes }) => onProgress?.({ step: 'upload', progress: sentBytes / totalBytes }),
  });
  return { ...settings, upload_id: id };
}

/** The client: calls by resource, on top of the generated functions. */
import { assertNumbers, makeCall, type Call, type CallOptions } from './call.ts';
import { createClient, type Client } from './client/index.ts';
import { checkedTarget, downloadBlob, type DownloadDefaults, type DownloadedFile, downloadFile, type DownloadOptions, downloadStream } from './download.ts';
import { enhance, type EnhanceInput, type EnhanceOptions } from './enhance.ts';
import { type JobEvent, jobEvents, openStream } from './events.ts';
import type { CreateOptions, JobInput, PreviewInput } from './inputs.ts';
import { listing } from './pages.ts';
import { variable } from './runtime.ts';
import * as operations from './sdk.gen.ts';
import type { AccountUpdate, GetUsageData, Job, Preview, ListAuditLogData, ListJobsData, ListLedgerData, ListPreviewsData, ListRequestLogData, ListUploadsData, Upload, UploadCompletion, UploadInput, WebhookEndpointInput, WebhookEndpointUpdate } from './types.gen.ts';
import { resumeFile, sendFile, type SendDefaults, type SendOptions, type UploadOptions } from './uploads.ts';
import { waitForJob, waitForPreview, type WaitOptions } from './wait.ts';

export interface ReelmendOptions {
  /** URL of the service, such as `https://reelmend.example.com`. Default: the environment variable REELMEND_URL. */
  baseUrl?: string | undefined;
  /**
   * `svc_test_…` or `svc_live_…`. Default: the environment variable REELMEND_API_KEY. Keep it on your server, never in a web
   * page or an app.
   */
  apiKey?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Retries after the first attempt of each call; default 3. */
  maxRetries?: number | undefined;
  /** Timeout of each attempt in ms; default 30,000. Creating a job measures the video, which may take 20,000. */
  timeoutMs?: number | undefined;
}

export type ListQuery = NonNullable<ListJobsData['query']>;
export type UploadsQuery = NonNullable<ListUploadsData['query']>;
export type PreviewsQuery = NonNullable<ListPreviewsData['query']>;
export type AuditLogQuery = NonNullable<ListAuditLogData['query']>;
export type LedgerQuery = NonNullable<ListLedgerData['query']>;
export type UsageQuery = NonNullable<GetUsageData['query']>;
export type RequestLogQuery = NonNullable<ListRequestLogData['query']>;

/** All calls; {@link Call} describes how they reject. A new operation is added here. */
function resources(call: Call, transfers: SendDefaults & DownloadDefaults) {
  const uploadCalls = {
    /** Creates an upload and sends nothing yet. For web pages that send the file themselves (`sendUpload`). Retries safely. */
    begin: (body: UploadInput, options: CreateOptions = {}) => {
      const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomUuid() };
      return call((base) => operations.createUpload({ ...base, headers, body }), options);
    },
    /** Returns the current state of an upload, with the parts that are missing. */
    get: (id: string, options?: CallOptions) =>
      call((base) => operations.getUpload({ ...base, ...uploadPath(id) }), options),
    /** Ends the sending: the service verifies the checksum. */
    complete: (id: string, body: UploadCompletion, options?: CallOptions) =>
      call((base) => operations.completeUpload({ ...base, ...uploadPath(id), body }), options),
  };
  const getJob = (id: string, options?: CallOptions) =>
    call((base) => operations.getJob({ ...base, ...job(id) }), options);
  const getResult = (id: string, options?: CallOptions) =>
    call((base) => operations.getJobResult({ ...base, ...job(id) }), options);
  const results = { get: getJob, result: getResult };
  const getPreview = (id: string, options?: CallOptions) =>
    call((base) => operations.getPreview({ ...base, ...segment(id, 'a preview looks like prv_') }), options);
  const createJob = (body: JobInput, options: CreateOptions = {}) => {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomUuid() };
    return call((base) => operations.createJob({ ...base, headers, body }), options);
  };
  const steps = {
    upload: (file: Blob, options: UploadOptions) => sendFile(uploadCalls, transfers, file, options),
    create: createJob,
    wait: (id: string, options: WaitOptions) => waitForJob(getJob, id, options),
    checkTarget: async (path: string) => void (await checkedTarget(path)),
    download: (id: string, path: string, options: DownloadOptions) => downloadFile(results, transfers, { id, path }, options),
  };
  return {
    /**
     * Enhances a video: sends the file, if the input has one, creates a job, waits until it is done, writes the result into `output`, if
     * given, and resolves with the job. Rejects as the steps do: UploadFailedError, JobFailedError … An abort ends the waiting, not the job.
     */
    enhance: (input: EnhanceInput, options?: EnhanceOptions): Promise<Job> => enhance(steps, input, options),
    jobs: {
      /** Creates a job: measures the video, charges the account and queues the job. Retries safely; never charges twice. */
      create: createJob,
      /** Returns the current state of a job. */
      get: getJob,
      ...listing((query: ListQuery, options) => call((base) => operations.listJobs({ ...base, query }), options)),
      /** Returns a fresh download link, valid for an hour. */
      result: getResult,
      /**
       * Writes the result into a file, which appears only when it is complete and its checksum is right. Goes on after a
       * broken connection. Rejects with ConflictError if the job is not done. For Node, Deno and Bun.
       */
      download: (id: string, path: string, options?: DownloadOptions): Promise<DownloadedFile> =>
        downloadFile(results, transfers, { id, path }, options),
      /**
       * Resolves with the bytes of the result as a stream, for example to store them in a bucket of yours. Goes on after a broken
       * connection. In Node, Deno and Bun, the stream fails at its end if the checksum is wrong.
       */
      downloadStream: (id: string, options?: DownloadOptions): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> =>
        downloadStream(results, transfers, id, options),
      /**
       * Resolves with the whole result in memory, in browsers too: in a page that has the API at its own origin (the service's, or a
       * proxy). With S3, its bucket must allow GET from the page's origin.
       */
      downloadBlob: (id: string, options?: DownloadOptions): Promise<Blob> => downloadBlob(results, transfers, id, options),
      /**
       * Deletes a job and its files. Cancels and refunds a job that has not ended. A NotFoundError with `attempts` above 1
       * may mean that an earlier attempt deleted the job and its response was lost.
       */
      delete: (id: string, options?: CallOptions) =>
        call((base) => operations.deleteJob({ ...base, ...job(id) }), options),
      /** Returns the signed proof that a Secure job is deleted. ConflictError until the storage has confirmed it. */
      deletionCertificate: (id: string, options?: CallOptions) =>
        call((base) => operations.getDeletionCertificate({ ...base, ...job(id) }), options),
      /** Yields the changes of a job (server-sent events) until it ends. `timeoutMs` limits connecting only. */
      events: (id: string, options?: CallOptions): AsyncGenerator<JobEvent, void, undefined> =>
        jobEvents((inner) => openStream(call, job(id).path.id, inner), options),
    },
    uploads: {
      /**
       * Sends a file and resolves with the upload when it is `ready`, for `upload_id` of a job. A `File` in browsers; in
       * Node `await openAsBlob(path)` of `node:fs`. Continues after a broken connection; `maxRetries` limits the attempts
       * without progress. Rejects with UploadFailedError if the service received another file.
       */
      create: (file: Blob, options?: UploadOptions): Promise<Upload> => sendFile(uploadCalls, transfers, file, options),
      /** Sends the missing parts of an upload that was begun earlier, also by another process. */
      resume: (id: string, file: Blob, options?: SendOptions): Promise<Upload> =>
        resumeFile(uploadCalls, transfers, { id, file }, options),
      ...uploadCalls,
      ...listing((query: UploadsQuery, options) => call((base) => operations.listUploads({ ...base, query }), options)),
      /** Deletes an upload and its file. Jobs that were created from it go on. */
      delete: (id: string, options?: CallOptions) =>
        call((base) => operations.deleteUpload({ ...base, ...uploadPath(id) }), options),
    },
    previews: {
      /**
       * Creates a preview: a few seconds of a video with one to three settings. Retries safely; never charges twice. To make
       * the whole video with one of them: `jobs.create({ video_url, ...preview.settings[0] })`.
       */
      create: (body: PreviewInput, options: CreateOptions = {}) => {
        const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomUuid() };
        return call((base) => operations.createPreview({ ...base, headers, body }), options);
      },
      /** Returns the current state of a preview, with fresh links once it is done. */
      get: getPreview,
      /** Polls until the preview is `done` and resolves with it. Rejects with PreviewFailedError if it ends in `error`. */
      wait: (id: string, options?: WaitOptions<Preview>): Promise<Preview> => waitForPreview(getPreview, id, options),
      /** Without links; `get` returns them. */
      ...listing((query: PreviewsQuery, options) => call((base) => operations.listPreviews({ ...base, query }), options)),
      /** Deletes a preview and its clips. Its upload stays. */
      delete: (id: string, options?: CallOptions) =>
        call((base) => operations.deletePreview({ ...base, ...segment(id, 'a preview looks like prv_') }), options),
    },
    quotes: {
      /** Returns what a job with this body would cost and how long it would take. Creates and charges nothing. */
      create: (body: JobInput, options?: CallOptions) =>
        call((base) => operations.createQuote({ ...base, body }), options),
    },
    models: {
      /** Returns the installed networks, for `model` of a job. A job may also name `auto` and `none`. */
      list: (options?: CallOptions) => call((base) => operations.listModels(base), options),
    },
    account: {
      /** Returns the account of the key. Use it to test a key. */
      get: (options?: CallOptions) => call((base) => operations.getAccount(base), options),
      /** Sets how long the files of new Secure jobs are kept. Needs a key of the Secure tier. */
      update: (body: AccountUpdate, options?: CallOptions) =>
        call((base) => operations.updateAccount({ ...base, body }), options),
      /** Returns the charges and refunds of each day or month (UTC). */
      usage: (query: UsageQuery = {}, options?: CallOptions) => call((base) => operations.getUsage({ ...base, query }), options),
    },
    /** Credit transfers, newest first: grants, withdrawals, charges and refunds. */
    ledger: listing((query: LedgerQuery, options) => call((base) => operations.listLedger({ ...base, query }), options)),
    webhookEndpoints: {
      /**
       * Creates an endpoint for the events of all jobs of the key's mode. Its secret is shown only now. Not retried, unless
       * `maxRetries` says so: after a lost response there may be two.
       */
      create: (body: WebhookEndpointInput, options?: CallOptions) =>
        call((base) => operations.createWebhookEndpoint({ ...base, body }), once(options)),
      /** Returns all endpoints, newest first. */
      list: (options?: CallOptions) => call((base) => operations.listWebhookEndpoints(base), options),
      get: (id: string, options?: CallOptions) =>
        call((base) => operations.getWebhookEndpoint({ ...base, ...endpointPath(id) }), options),
      /** Changes the fields that `body` has. */
      update: (id: string, body: WebhookEndpointUpdate, options?: CallOptions) =>
        call((base) => operations.updateWebhookEndpoint({ ...base, ...endpointPath(id), body }), options),
      delete: (id: string, options?: CallOptions) =>
        call((base) => operations.deleteWebhookEndpoint({ ...base, ...endpointPath(id) }), options),
      /** Returns a new secret, which is shown only now. The old one signs too for 24 hours. */
      rotateSecret: (id: string, options?: CallOptions) =>
        call((base) => operations.rotateWebhookEndpointSecret({ ...base, ...endpointPath(id) }), once(options)),
      /** Signs `X-Service-Signature` with the newest secret from now on. */
      switchSecret: (id: string, options?: CallOptions) =>
        call((base) => operations.switchWebhookEndpointSecret({ ...base, ...endpointPath(id) }), options),
      /** Sends a signed test event with a `job_id` of no job. */
      test: (id: string, event: 'job.completed' | 'job.failed', options?: CallOptions) =>
        call((base) => operations.testWebhookEndpoint({ ...base, ...endpointPath(id), body: { event } }), once(options)),
    },
    /** Each page has the signed head of the log. Needs a key of the Secure tier. */
    auditLog: listing((query: AuditLogQuery, options) => call((base) => operations.listAuditLog({ ...base, query }), options)),
    /** Requests with keys of this mode, newest first. */
    requestLog: listing((query: RequestLogQuery, options) => call((base) => operations.listRequestLog({ ...base, query }), options)),
    jwks: {
      /** Returns the public keys that verify certificates and audit log heads. */
      get: (options?: CallOptions) => call((base) => operations.getJwks(base), options),
    },
    /** Polls until the job is `done` and resolves with it. Rejects with JobFailedError if it ends in `error`. */
    waitForJob: (id: string, options?: WaitOptions): Promise<Job> => waitForJob(getJob, id, options),
  };
}

export type Reelmend = ReturnType<typeof resources> & {
  /** For the functions in `generated`, which do not retry: `generated.getHealth({ client: reelmend.client })`. */
  client: Client;
};

/** Creates a client. Throws TypeError for invalid options. Does not call the service. */
export function createReelmend(options: ReelmendOptions = {}): Reelmend {
  const { fetch, maxRetries = 3, timeoutMs = 30_000 } = options;
  const baseUrl = options.baseUrl ?? variable('REELMEND_URL');
  const apiKey = options.apiKey ?? variable('REELMEND_API_KEY');
  if (baseUrl === undefined) throw new TypeError('Which service? Give baseUrl, or set REELMEND_URL.');
  if (apiKey === undefined) throw new TypeError('With which API key? Give apiKey, or set REELMEND_API_KEY.');
  // A header can contain visible ASCII only. The message omits the key, since messages are often logged.
  if (typeof apiKey !== 'string' || !/^[!-~]+$/.test(apiKey))
    throw new TypeError('apiKey must be an API key of the service.');
  assertNumbers({ maxRetries, timeoutMs });
  const client = createClient({
    baseUrl: checkedBaseUrl(baseUrl),
    auth: () => apiKey,
    requestValidator: dropClient,
    ...(fetch === undefined ? {} : { fetch: (request: RequestInfo | URL) => fetch(request as Request) }),
  });
  const send = fetch ?? ((request: Request) => globalThis.fetch(request));
  return { ...resources(makeCall({ client, maxRetries, timeoutMs }), { fetch: send, maxRetries, timeoutMs }), client };
}

function checkedBaseUrl(baseUrl: string): string {
  const parsed = parsedUrl(baseUrl);
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    `${parsed.username}${parsed.password}` !== '' ||
    // An empty query or fragment is in `href` only.
    /[?#]/.test(parsed.href)
  ) {
    throw new TypeError('baseUrl must be an http(s) URL without user name, query and fragment.');
  }
  return parsed.href.replace(/\/+$/, '');
}

/** Not URL.canParse: older browsers, and Cloudflare Workers with an old compatibility date, do not have it. */
function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * Removes `client` from the options. The generated functions pass all options to `new Request`, and Deno rejects this
 * `client`, since its own option has the same name. The validator runs right before that.
 */
async function dropClient(options: unknown): Promise<void> {
  delete (options as { client?: unknown }).client;
}

/** Checks that an id is one path segment: with a slash in it, the call would reach another operation. */
function segment(id: string, what: string): { path: { id: string } } {
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]+$/.test(id)) throw new TypeError(`The id of ${what}….`);
  return { path: { id } };
}

const job = (id: string) => segment(id, 'a job looks like job_');
/** For calls that are not repeatable by themselves. */
const once = (options?: CallOptions): CallOptions => ({ ...options, maxRetries: options?.maxRetries ?? 0 });

const endpointPath = (id: string) => segment(id, 'a webhook endpoint looks like hook_');
const uploadPath = (id: string) => segment(id, 'an upload looks like upl_');

/** Browsers offer crypto.randomUUID over https and on localhost only. */
function randomUuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

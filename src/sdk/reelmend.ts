/** The calls by resource, over the generated functions. */
import { makeCall, type Call, type CallOptions } from './call.ts';
import { createClient, type Client } from './client/index.ts';
import { type JobEvent, jobEvents, openStream } from './events.ts';
import { items, pages } from './pages.ts';
import * as operations from './sdk.gen.ts';
import type { AccountUpdate, Job, JobInput, ListAuditLogData, ListJobsData } from './types.gen.ts';
import { waitForJob, type WaitOptions } from './wait.ts';

export interface ReelmendOptions {
  /** where the service answers, such as `https://reelmend.example.com` */
  baseUrl: string;
  /** `svc_test_…` or `svc_live_…`; keep it out of pages and apps that others can read */
  apiKey: string;
  /** replaces the global fetch */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** retries after the first try of each call, default 3 */
  maxRetries?: number | undefined;
  /** ms for each try, default 30,000; creation measures the video and may take 20,000 */
  timeoutMs?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** your own name for this job, so that it is made once even when your process starts again; else one is made up */
  idempotencyKey?: string | undefined;
}

export type ListQuery = NonNullable<ListJobsData['query']>;
export type AuditLogQuery = NonNullable<ListAuditLogData['query']>;

/** Every call rejects as described at {@link Call}. To add an operation, add its line here. */
function resources(call: Call) {
  const listJobs = (query: ListQuery = {}, options?: CallOptions) =>
    call((base) => operations.listJobs({ ...base, query }), options);
  const getJob = (id: string, options?: CallOptions) =>
    call((base) => operations.getJob({ ...base, ...job(id) }), options);
  const listAuditLog = (query: AuditLogQuery = {}, options?: CallOptions) =>
    call((base) => operations.listAuditLog({ ...base, query }), options);
  return {
    jobs: {
      /** Measures the video, charges it and queues the job. Retries never make a second job. */
      create: (body: JobInput, options: CreateOptions = {}) => {
        const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomUuid() };
        return call((base) => operations.createJob({ ...base, headers, body }), options);
      },
      get: getJob,
      /** One page, newest first. */
      list: listJobs,
      /** Every page from there on, fetched as it is asked for. */
      pages: (query: ListQuery = {}, options?: CallOptions) =>
        pages((next: ListQuery) => listJobs(next, options), query),
      /** Every job of those pages. */
      all: (query: ListQuery = {}, options?: CallOptions) => items((next: ListQuery) => listJobs(next, options), query),
      /** A fresh download link, valid for an hour. */
      result: (id: string, options?: CallOptions) =>
        call((base) => operations.getJobResult({ ...base, ...job(id) }), options),
      /**
       * Destroys the files; cancels and refunds a job that has not ended. NotFoundError with `attempts` above 1 may
       * mean that an earlier try deleted the job and its answer was lost.
       */
      delete: (id: string, options?: CallOptions) =>
        call((base) => operations.deleteJob({ ...base, ...job(id) }), options),
      /** The signed proof that a Secure job is gone; ConflictError until the storage has confirmed that. */
      deletionCertificate: (id: string, options?: CallOptions) =>
        call((base) => operations.getDeletionCertificate({ ...base, ...job(id) }), options),
      /** What changes, as it changes (server-sent events), until the job ends; `timeoutMs` holds for connecting. */
      events: (id: string, options?: CallOptions): AsyncGenerator<JobEvent, void, undefined> =>
        jobEvents((inner) => openStream(call, job(id).path.id, inner), options),
    },
    quotes: {
      /** What the same body would cost as a job, and how long it would take. Changes nothing. */
      create: (body: JobInput, options?: CallOptions) =>
        call((base) => operations.createQuote({ ...base, body }), options),
    },
    account: {
      /** The account behind the key; also a test of the key. */
      get: (options?: CallOptions) => call((base) => operations.getAccount(base), options),
      /** Sets the retention of jobs made from now on; Secure tier. */
      update: (body: AccountUpdate, options?: CallOptions) =>
        call((base) => operations.updateAccount({ ...base, body }), options),
    },
    auditLog: {
      /** One page, newest first, with the signed head; Secure tier. */
      list: listAuditLog,
      pages: (query: AuditLogQuery = {}, options?: CallOptions) =>
        pages((next: AuditLogQuery) => listAuditLog(next, options), query),
      /** Every entry of those pages. */
      all: (query: AuditLogQuery = {}, options?: CallOptions) =>
        items((next: AuditLogQuery) => listAuditLog(next, options), query),
    },
    /** The public keys that verify certificates and heads of the audit log. */
    jwks: {
      get: (options?: CallOptions) => call((base) => operations.getJwks(base), options),
    },
    /** Polls until the job is `done` and resolves with it; rejects with JobFailedError when it ends in `error`. */
    waitForJob: (id: string, options?: WaitOptions): Promise<Job> => waitForJob(getJob, id, options),
  };
}

export type Reelmend = ReturnType<typeof resources> & {
  /** for the functions in `generated`: `generated.getHealth({ client: reelmend.client })`, without retries */
  client: Client;
};

/** Throws TypeError for options that cannot work; does not call the service. */
export function createReelmend(options: ReelmendOptions): Reelmend {
  const { apiKey, fetch, maxRetries = 3, timeoutMs = 30_000 } = options;
  // Visible ASCII: anything else cannot stand in a header. The key itself is not repeated: messages are logged.
  if (typeof apiKey !== 'string' || !/^[!-~]+$/.test(apiKey))
    throw new TypeError('apiKey must be a key of the service.');
  const client = createClient({
    baseUrl: checkedBaseUrl(options.baseUrl),
    auth: () => apiKey,
    requestValidator: dropClient,
    ...(fetch === undefined ? {} : { fetch: (request: RequestInfo | URL) => fetch(request as Request) }),
  });
  return { ...resources(makeCall({ client, maxRetries, timeoutMs })), client };
}

function checkedBaseUrl(baseUrl: string): string {
  const parsed = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    `${parsed.username}${parsed.search}${parsed.hash}` !== ''
  ) {
    throw new TypeError('baseUrl must be an http(s) URL without user name, query and fragment.');
  }
  return parsed.href.replace(/\/+$/, '');
}

/**
 * The generated functions hand their options, the client among them, to `new Request`, where Deno knows a field of that
 * name and refuses this one. The validator is the last to see them before.
 */
async function dropClient(options: unknown): Promise<void> {
  delete (options as { client?: unknown }).client;
}

/** An id is one segment of a path; anything else would call another operation. */
function job(id: string): { path: { id: string } } {
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]+$/.test(id)) throw new TypeError('The id of a job looks like job_….');
  return { path: { id } };
}

/** crypto.randomUUID is missing in pages served without TLS. */
function randomUuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

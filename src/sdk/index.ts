/**
 * The client of the Framelift API. `createFramelift({ baseUrl, apiKey })` gives the calls by resource; what is
 * generated from openapi.yaml stands behind them and is exported as `generated` for everything else.
 */
import { createClient } from './client/index.ts';
import { FrameliftApiError, FrameliftConnectionError } from './errors.ts';
import * as operations from './sdk.gen.ts';
import type { Account, Job, JobDeletion, JobInput, JobList, JobResult, ListJobsData } from './types.gen.ts';

export * as generated from './sdk.gen.ts';
export type * from './types.gen.ts';
export { FrameliftApiError, FrameliftConnectionError };

export interface FrameliftOptions {
  /** where the service answers, such as `https://framelift.example.com` */
  baseUrl: string;
  /** `svc_test_…` or `svc_live_…` */
  apiKey: string;
  /** replaces the global fetch */
  fetch?: (request: Request) => Promise<Response>;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface CreateOptions extends CallOptions {
  /** makes a repetition of the same call safe */
  idempotencyKey?: string;
}

export interface WaitOptions extends CallOptions {
  /** ms between two polls, default 1000 */
  intervalMs?: number;
  onProgress?: (job: Job) => void;
}

/** Every call rejects with FrameliftApiError or FrameliftConnectionError. */
export interface Framelift {
  jobs: {
    create(input: JobInput, options?: CreateOptions): Promise<Job>;
    list(query?: NonNullable<ListJobsData['query']>, options?: CallOptions): Promise<JobList>;
    get(id: string, options?: CallOptions): Promise<Job>;
    /** a fresh download link, valid for an hour */
    result(id: string, options?: CallOptions): Promise<JobResult>;
    delete(id: string, options?: CallOptions): Promise<JobDeletion>;
    /** polls until the job is `done` or `error` */
    wait(id: string, options?: WaitOptions): Promise<Job>;
  };
  account: { get(options?: CallOptions): Promise<Account> };
}

interface Outcome<Data> {
  data?: Data | undefined;
  error?: unknown;
  response?: Response | undefined;
}

/** The generated functions resolve to fields, also when the call failed. */
async function unwrap<Data>(call: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (response === undefined) throw new FrameliftConnectionError('The service gave no answer.', { cause: error });
  if (!response.ok || data === undefined) throw new FrameliftApiError(response, error);
  return data;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

export function createFramelift({ baseUrl, apiKey, fetch }: FrameliftOptions): Framelift {
  const client = createClient({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    auth: () => apiKey,
    ...(fetch === undefined ? {} : { fetch: (request: RequestInfo | URL) => fetch(request as Request) }),
  });
  const common = ({ signal }: CallOptions = {}) => ({ client, ...(signal === undefined ? {} : { signal }) });
  const get = (id: string, options?: CallOptions) => unwrap(operations.getJob({ ...common(options), path: { id } }));
  return {
    jobs: {
      create: (body, options = {}) => {
        const { idempotencyKey } = options;
        const headers = idempotencyKey === undefined ? {} : { headers: { 'Idempotency-Key': idempotencyKey } };
        return unwrap(operations.createJob({ ...common(options), ...headers, body }));
      },
      list: (query = {}, options) => unwrap(operations.listJobs({ ...common(options), query })),
      get,
      result: (id, options) => unwrap(operations.getJobResult({ ...common(options), path: { id } })),
      delete: (id, options) => unwrap(operations.deleteJob({ ...common(options), path: { id } })),
      wait: async (id, { intervalMs = 1000, onProgress, signal } = {}) => {
        for (;;) {
          const job = await get(id, signal === undefined ? {} : { signal });
          onProgress?.(job);
          if (job.status === 'done' || job.status === 'error') return job;
          await pause(intervalMs, signal);
        }
      },
    },
    account: { get: (options) => unwrap(operations.getAccount(common(options))) },
  };
}

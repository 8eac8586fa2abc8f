// Generated from openapi.yaml by `npm run generate`; do not edit.

import { client } from './client.gen.ts';
import type { Client, ClientMeta, Options as Options2, RequestResult, TDataShape } from './client/index.ts';
import type { CreateJobData, CreateJobErrors, CreateJobResponses, DeleteJobData, DeleteJobErrors, DeleteJobResponses, DownloadFileData, DownloadFileErrors, DownloadFileResponses, GetAccountData, GetAccountErrors, GetAccountResponses, GetHealthData, GetHealthErrors, GetHealthResponses, GetJobData, GetJobErrors, GetJobResponses, GetJobResultData, GetJobResultErrors, GetJobResultResponses, GetOpenApiJsonData, GetOpenApiJsonErrors, GetOpenApiJsonResponses, GetOpenApiYamlData, GetOpenApiYamlErrors, GetOpenApiYamlResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, ListJobsData, ListJobsErrors, ListJobsResponses } from './types.gen.ts';

export type Options<TData extends TDataShape = TDataShape, ThrowOnError extends boolean = boolean, TResponse = unknown> = Options2<TData, ThrowOnError, TResponse> & {
    /**
     * You can provide a client instance returned by `createClient()` instead of
     * individual options. This might be also useful if you want to implement a
     * custom client.
     */
    client?: Client;
    /**
     * You can pass arbitrary values through the `meta` object. This can be
     * used to access values that aren't defined as part of the SDK function.
     */
    meta?: keyof ClientMeta extends never ? Record<string, unknown> : ClientMeta;
};

/**
 * List jobs
 *
 * The jobs of the account in the key's lane, newest first. Deleted jobs are not listed. Pass `next_cursor` as
 * `starting_after` to read on.
 *
 */
export const listJobs = <ThrowOnError extends boolean = false>(options?: Options<ListJobsData, ThrowOnError>): RequestResult<ListJobsResponses, ListJobsErrors, ThrowOnError> => (options?.client ?? client).get<ListJobsResponses, ListJobsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs',
    ...options
});

/**
 * Create a job
 *
 * Measures the video at `video_url` over the network, charges the account for the measured duration and queues
 * the job. Nothing is charged and nothing is stored when the request is refused. The whole call answers within
 * 20 s; a video that cannot be measured in that time gives `video_unreachable`.
 *
 * The charge is `duration_seconds` (the measured duration, rounded up to a whole second, at least 1) times the
 * price of one second:
 *
 * | target | Standard | Secure |
 * |---|---|---|
 * | `1080p` | 3 credits | 6 credits |
 * | `4k` | 6 credits | 12 credits |
 *
 * It is refunded automatically when the job fails.
 *
 * With an `Idempotency-Key`, a repetition of the same request returns the job as it is now (201 with
 * `Idempotent-Replayed: true`) and makes no second job and no second charge, also while the first request is
 * still in flight. The same key with another body gives 409 `idempotency_key_reused`. Keys are scoped to the
 * account and the lane, and kept as long as the job, at least 24 hours. A refused request stores nothing, so its
 * key may be used again.
 *
 */
export const createJob = <ThrowOnError extends boolean = false>(options: Options<CreateJobData, ThrowOnError>): RequestResult<CreateJobResponses, CreateJobErrors, ThrowOnError> => (options.client ?? client).post<CreateJobResponses, CreateJobErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Delete a job
 *
 * Permanently deletes the original and the enhanced file. A queued job is cancelled with a full refund; a running
 * one is cancelled and the unprocessed seconds are refunded; of a done one the files are destroyed. Afterwards the
 * id is unknown.
 *
 */
export const deleteJob = <ThrowOnError extends boolean = false>(options: Options<DeleteJobData, ThrowOnError>): RequestResult<DeleteJobResponses, DeleteJobErrors, ThrowOnError> => (options.client ?? client).delete<DeleteJobResponses, DeleteJobErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}',
    ...options
});

/**
 * Get a job
 *
 * The job as it is now. Polling ends when `status` is `done` or `error`; about 300 polls a minute are within the
 * limits.
 *
 */
export const getJob = <ThrowOnError extends boolean = false>(options: Options<GetJobData, ThrowOnError>): RequestResult<GetJobResponses, GetJobErrors, ThrowOnError> => (options.client ?? client).get<GetJobResponses, GetJobErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}',
    ...options
});

/**
 * Get the result of a job
 *
 * A signed link to the enhanced video. May be repeated at any time while the job exists; each call returns a fresh
 * link that is valid for 3600 s and honours range requests.
 *
 */
export const getJobResult = <ThrowOnError extends boolean = false>(options: Options<GetJobResultData, ThrowOnError>): RequestResult<GetJobResultResponses, GetJobResultErrors, ThrowOnError> => (options.client ?? client).get<GetJobResultResponses, GetJobResultErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}/result',
    ...options
});

/**
 * Get the account
 *
 * Validates the key and returns its account. Suited as a test of authentication.
 */
export const getAccount = <ThrowOnError extends boolean = false>(options?: Options<GetAccountData, ThrowOnError>): RequestResult<GetAccountResponses, GetAccountErrors, ThrowOnError> => (options?.client ?? client).get<GetAccountResponses, GetAccountErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/account',
    ...options
});

/**
 * Get this document as JSON
 *
 * The authored document itself, converted to JSON.
 */
export const getOpenApiJson = <ThrowOnError extends boolean = false>(options?: Options<GetOpenApiJsonData, ThrowOnError>): RequestResult<GetOpenApiJsonResponses, GetOpenApiJsonErrors, ThrowOnError> => (options?.client ?? client).get<GetOpenApiJsonResponses, GetOpenApiJsonErrors, ThrowOnError>({ url: '/v1/openapi.json', ...options });

/**
 * Get this document as YAML
 *
 * The authored document itself, byte for byte.
 */
export const getOpenApiYaml = <ThrowOnError extends boolean = false>(options?: Options<GetOpenApiYamlData, ThrowOnError>): RequestResult<GetOpenApiYamlResponses, GetOpenApiYamlErrors, ThrowOnError> => (options?.client ?? client).get<GetOpenApiYamlResponses, GetOpenApiYamlErrors, ThrowOnError>({ url: '/v1/openapi.yaml', ...options });

/**
 * Download a file
 *
 * The link that `GET /v1/jobs/{id}/result` returns where the service stores files on its own disk (with S3 the
 * link leads to the bucket). Follow it as it is; its parts are signed together. Single byte ranges are honoured,
 * with `If-Range` against the `ETag`; a request for several ranges is answered with the whole file.
 *
 */
export const downloadFile = <ThrowOnError extends boolean = false>(options: Options<DownloadFileData, ThrowOnError>): RequestResult<DownloadFileResponses, DownloadFileErrors, ThrowOnError> => (options.client ?? client).get<DownloadFileResponses, DownloadFileErrors, ThrowOnError>({ url: '/v1/downloads/{key}', ...options });

/**
 * Liveness
 *
 * The process answers. Says nothing of its dependencies.
 */
export const getHealth = <ThrowOnError extends boolean = false>(options?: Options<GetHealthData, ThrowOnError>): RequestResult<GetHealthResponses, GetHealthErrors, ThrowOnError> => (options?.client ?? client).get<GetHealthResponses, GetHealthErrors, ThrowOnError>({ url: '/healthz', ...options });

/**
 * Readiness
 *
 * The process and the database answer.
 */
export const getReadiness = <ThrowOnError extends boolean = false>(options?: Options<GetReadinessData, ThrowOnError>): RequestResult<GetReadinessResponses, GetReadinessErrors, ThrowOnError> => (options?.client ?? client).get<GetReadinessResponses, GetReadinessErrors, ThrowOnError>({ url: '/readyz', ...options });

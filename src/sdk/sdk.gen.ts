// Generated from openapi.yaml by `npm run generate`; do not edit.

import { client } from './client.gen.ts';
import type { Client, ClientMeta, Options as Options2, RequestResult, ServerSentEventsResult, TDataShape } from './client/index.ts';
import type { CreateJobData, CreateJobErrors, CreateJobResponses, CreateQuoteData, CreateQuoteErrors, CreateQuoteResponses, DeleteJobData, DeleteJobErrors, DeleteJobResponses, DownloadFileData, DownloadFileErrors, DownloadFileResponses, GetAccountData, GetAccountErrors, GetAccountResponses, GetDeletionCertificateData, GetDeletionCertificateErrors, GetDeletionCertificateResponses, GetDocsData, GetDocsErrors, GetDocsFileData, GetDocsFileErrors, GetDocsFileResponses, GetDocsResponses, GetHealthData, GetHealthErrors, GetHealthResponses, GetJobData, GetJobErrors, GetJobResponses, GetJobResultData, GetJobResultErrors, GetJobResultResponses, GetJwksData, GetJwksErrors, GetJwksResponses, GetOpenApiJsonData, GetOpenApiJsonErrors, GetOpenApiJsonResponses, GetOpenApiYamlData, GetOpenApiYamlErrors, GetOpenApiYamlResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, ListAuditLogData, ListAuditLogErrors, ListAuditLogResponses, ListJobsData, ListJobsErrors, ListJobsResponses, StreamJobEventsData, StreamJobEventsErrors, StreamJobEventsResponse, StreamJobEventsResponses, UpdateAccountData, UpdateAccountErrors, UpdateAccountResponses } from './types.gen.ts';

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
 * The jobs of the account in the key's mode, newest first. Deleted jobs are not listed. Pass `next_cursor` as
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
 * account and the mode, and kept as long as the job, at least 24 hours. A refused request stores nothing, so its
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
 * Ask for a price
 *
 * Measures the video as `POST /v1/jobs` does and answers with what the same body would cost and how long it would
 * take. Changes nothing: no job, no charge, and the balance is not looked at. The price holds as long as the video
 * and the price list stay the same. In the sandbox nothing is measured: the duration is the hint, or 10 s.
 *
 */
export const createQuote = <ThrowOnError extends boolean = false>(options: Options<CreateQuoteData, ThrowOnError>): RequestResult<CreateQuoteResponses, CreateQuoteErrors, ThrowOnError> => (options.client ?? client).post<CreateQuoteResponses, CreateQuoteErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/quotes',
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
 * Follow a job
 *
 * Server-sent events (`text/event-stream`): the same facts as polling, sent when they change. The schema describes
 * one event. Its data is the job, as `GET /v1/jobs/{id}` returns it, in one line of JSON:
 *
 * | event | when |
 * |---|---|
 * | `status` | first, and whenever `status` changes |
 * | `progress` | whenever `progress` or `eta_seconds` changes |
 * | `deleted` | the job was deleted meanwhile; the data is `{"id", "deleted": true}` |
 *
 * The stream ends after the event whose `status` is `done` or `error`, or after `deleted`: close the
 * `EventSource` then, which would otherwise connect again and be told the same once more. Comments keep an idle
 * connection open. The service ends a stream after some minutes, and soon after its key was revoked; connect
 * again to go on. A reader that is slow is told the latest state, not every one before it. Every stream starts with
 * the job as it is now, so that nothing is missed; events carry no ids, and `Last-Event-ID` changes nothing.
 *
 */
export const streamJobEvents = <ThrowOnError extends boolean = false>(options: Options<StreamJobEventsData, ThrowOnError, StreamJobEventsResponse>): Promise<ServerSentEventsResult<StreamJobEventsResponses>> => (options.client ?? client).sse.get<StreamJobEventsResponses, StreamJobEventsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}/events',
    ...options
});

/**
 * Get the deletion certificate of a job
 *
 * The signed proof that the files of a job of the Secure tier are gone, whether it was deleted on demand or at the
 * end of its retention. It may be fetched again at any time; this is the one address where a deleted job is known.
 * It is issued only after the storage itself has answered that each object is absent: until then the answer is 409
 * `certificate_pending`.
 *
 */
export const getDeletionCertificate = <ThrowOnError extends boolean = false>(options: Options<GetDeletionCertificateData, ThrowOnError>): RequestResult<GetDeletionCertificateResponses, GetDeletionCertificateErrors, ThrowOnError> => (options.client ?? client).get<GetDeletionCertificateResponses, GetDeletionCertificateErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}/deletion-certificate',
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
 * Change the account's retention
 *
 * Sets for how many days the files of jobs made with `secure` from now on are kept; jobs that exist keep their
 * `expires_at`, and those without `secure` are kept for 30 days. Needs a key of the Secure tier.
 *
 */
export const updateAccount = <ThrowOnError extends boolean = false>(options: Options<UpdateAccountData, ThrowOnError>): RequestResult<UpdateAccountResponses, UpdateAccountErrors, ThrowOnError> => (options.client ?? client).patch<UpdateAccountResponses, UpdateAccountErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/account',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Read the audit log
 *
 * What happened on the account, newest first: jobs created, completed, failed, their results handed out, deleted,
 * and what was done to the account and its keys. Entries are numbered without gaps, carry the hash of the one
 * before, and cannot be changed or removed. `head` is signed and states the size of the whole log and the hash of
 * its newest entry, so that a copy that lacks its end is noticed. Pass `next_cursor` as `starting_after` to read
 * on. Needs a key of the Secure tier; the log is of the account, whatever the mode.
 *
 */
export const listAuditLog = <ThrowOnError extends boolean = false>(options?: Options<ListAuditLogData, ThrowOnError>): RequestResult<ListAuditLogResponses, ListAuditLogErrors, ThrowOnError> => (options?.client ?? client).get<ListAuditLogResponses, ListAuditLogErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/audit-log',
    ...options
});

/**
 * Get the public keys
 *
 * The keys that verify certificates and audit heads, as a JSON Web Key Set (RFC 7517, RFC 8037). A document names
 * its key in `kid`; keys that sign no more stay in the set.
 *
 */
export const getJwks = <ThrowOnError extends boolean = false>(options?: Options<GetJwksData, ThrowOnError>): RequestResult<GetJwksResponses, GetJwksErrors, ThrowOnError> => (options?.client ?? client).get<GetJwksResponses, GetJwksErrors, ThrowOnError>({ url: '/.well-known/jwks.json', ...options });

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
 * Read this document as a page
 *
 * The API reference for people, made in the browser from this document. Loads nothing from other hosts.
 */
export const getDocs = <ThrowOnError extends boolean = false>(options?: Options<GetDocsData, ThrowOnError>): RequestResult<GetDocsResponses, GetDocsErrors, ThrowOnError> => (options?.client ?? client).get<GetDocsResponses, GetDocsErrors, ThrowOnError>({ url: '/docs', ...options });

/**
 * Get a file of the page
 *
 * What the page at `/docs` loads.
 */
export const getDocsFile = <ThrowOnError extends boolean = false>(options: Options<GetDocsFileData, ThrowOnError>): RequestResult<GetDocsFileResponses, GetDocsFileErrors, ThrowOnError> => (options.client ?? client).get<GetDocsFileResponses, GetDocsFileErrors, ThrowOnError>({ url: '/docs/{file}', ...options });

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

// Generated from openapi.yaml by `npm run generate`; do not edit.

import { client } from './client.gen.ts';
import type { Client, ClientMeta, Options as Options2, RequestResult, ServerSentEventsResult, TDataShape } from './client/index.ts';
import type { CompleteUploadData, CompleteUploadErrors, CompleteUploadResponses, CreateJobData, CreateJobErrors, CreateJobResponses, CreatePreviewData, CreatePreviewErrors, CreatePreviewResponses, CreateQuoteData, CreateQuoteErrors, CreateQuoteResponses, CreateUploadData, CreateUploadErrors, CreateUploadResponses, CreateWebhookEndpointData, CreateWebhookEndpointErrors, CreateWebhookEndpointResponses, DeleteJobData, DeleteJobErrors, DeleteJobResponses, DeletePreviewData, DeletePreviewErrors, DeletePreviewResponses, DeleteUploadData, DeleteUploadErrors, DeleteUploadResponses, DeleteWebhookEndpointData, DeleteWebhookEndpointErrors, DeleteWebhookEndpointResponses, DownloadFileData, DownloadFileErrors, DownloadFileResponses, GetAccountData, GetAccountErrors, GetAccountResponses, GetDeletionCertificateData, GetDeletionCertificateErrors, GetDeletionCertificateResponses, GetDocsData, GetDocsErrors, GetDocsResponses, GetHealthData, GetHealthErrors, GetHealthResponses, GetJobData, GetJobErrors, GetJobResponses, GetJobResultData, GetJobResultErrors, GetJobResultResponses, GetJwksData, GetJwksErrors, GetJwksResponses, GetOpenApiJsonData, GetOpenApiJsonErrors, GetOpenApiJsonResponses, GetOpenApiYamlData, GetOpenApiYamlErrors, GetOpenApiYamlResponses, GetPreviewData, GetPreviewErrors, GetPreviewResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, GetUploadData, GetUploadErrors, GetUploadResponses, GetUsageData, GetUsageErrors, GetUsageResponses, GetWebhookEndpointData, GetWebhookEndpointErrors, GetWebhookEndpointResponses, ListAuditLogData, ListAuditLogErrors, ListAuditLogResponses, ListJobsData, ListJobsErrors, ListJobsResponses, ListLedgerData, ListLedgerErrors, ListLedgerResponses, ListModelsData, ListModelsErrors, ListModelsResponses, ListPreviewsData, ListPreviewsErrors, ListPreviewsResponses, ListRequestLogData, ListRequestLogErrors, ListRequestLogResponses, ListUploadsData, ListUploadsErrors, ListUploadsResponses, ListWebhookEndpointsData, ListWebhookEndpointsErrors, ListWebhookEndpointsResponses, RotateWebhookEndpointSecretData, RotateWebhookEndpointSecretErrors, RotateWebhookEndpointSecretResponses, StreamJobEventsData, StreamJobEventsErrors, StreamJobEventsResponse, StreamJobEventsResponses, SwitchWebhookEndpointSecretData, SwitchWebhookEndpointSecretErrors, SwitchWebhookEndpointSecretResponses, TestWebhookEndpointData, TestWebhookEndpointErrors, TestWebhookEndpointResponses, UpdateAccountData, UpdateAccountErrors, UpdateAccountResponses, UpdateWebhookEndpointData, UpdateWebhookEndpointErrors, UpdateWebhookEndpointResponses, UploadPartData, UploadPartErrors, UploadPartResponses } from './types.gen.ts';

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
 * Lists the account's jobs in the mode of the key, newest first. Deleted jobs are not listed. Pass `next_cursor`
 * as `starting_after` to get the next page.
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
 * Measures the video at `video_url` over the network, or the uploaded file of `upload_id`, charges the account for
 * the measured duration and queues the job. Exactly one of both is required. A refused request stores and charges nothing. The call returns within 20 s; a video that cannot be measured
 * in that time returns `video_unreachable`.
 *
 * The charge is `duration_seconds` (the measured duration, rounded up to a whole second, at least 1) times the
 * price per second:
 *
 * | resolution | Standard | Secure |
 * |---|---|---|
 * | `1080p` | 3 credits | 6 credits |
 * | `4k` | 6 credits | 12 credits |
 *
 * The service refunds the charge automatically if the job fails.
 *
 * Send an `Idempotency-Key` to retry safely. Another request with the same key and body returns the existing job
 * in its current state (201 with `Idempotent-Replayed: true`). It creates no second job and no second charge, even
 * while the first request is in flight. The same key with another body returns 409 `idempotency_key_reused`, and so
 * does the key of a job that was deleted meanwhile; the message says which. Keys belong to an account and a mode, and
 * are kept as long as the job, at least 24 hours. A refused request does not use up its key.
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
 * Get a quote
 *
 * Measures the video like `POST /v1/jobs` and returns what a job with the same body would cost, how long it would
 * take, and how large its result would be. It creates no job, charges nothing and does not check the balance. The price is valid as long as the
 * video and the price list stay the same. Test mode measures nothing: the duration is the hint in the request, or
 * 10 s.
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
 * Permanently deletes the original, the enhanced file and its pictures, and the upload that the job was created from. A queued job is cancelled and fully refunded. A running
 * job is cancelled and its unprocessed seconds are refunded. Afterwards the id is unknown.
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
 * Returns the current state of the job. Stop polling when `status` is `done` or `error`. The limits allow 300
 * polls per minute. While the job runs, the response also has `partial_output` and `segments`.
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
 * Returns a signed link to the enhanced video. Call it as often as needed while the job exists. Each call returns
 * a fresh link, which is valid for 3600 s (longer where longer videos are allowed) and supports range requests.
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
 * Streams the changes of a job as server-sent events (`text/event-stream`). The schema describes one event. Its
 * data is the job as `GET /v1/jobs/{id}` returns it, but without `partial_output` and `segments`, in one line of JSON:
 *
 * | event | when |
 * |---|---|
 * | `status` | first, and whenever `status` changes |
 * | `progress` | whenever `progress` or `eta_seconds` changes |
 * | `deleted` | the job was deleted; the data is `{"id", "deleted": true}` |
 *
 * The stream ends after the event whose `status` is `done` or `error`, or after `deleted`. Close the `EventSource`
 * then; otherwise it reconnects and receives the same event again. Comments keep an idle connection open. The
 * service ends a stream after 15 minutes, and soon after its key is revoked; connect again to continue. A slow
 * reader receives the latest state, not every state in between. Every stream starts with the current state of the
 * job, so nothing is missed. Events carry no ids, and `Last-Event-ID` has no effect.
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
 * Returns the signed proof that the files of a Secure job are gone. It covers deletion on request and deletion at
 * the end of the retention. It is available at any time, and this is the only operation that still knows a deleted
 * job. The service issues the certificate after the storage has confirmed that every object is absent. Until then
 * the response is 409 `certificate_pending`.
 *
 */
export const getDeletionCertificate = <ThrowOnError extends boolean = false>(options: Options<GetDeletionCertificateData, ThrowOnError>): RequestResult<GetDeletionCertificateResponses, GetDeletionCertificateErrors, ThrowOnError> => (options.client ?? client).get<GetDeletionCertificateResponses, GetDeletionCertificateErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/jobs/{id}/deletion-certificate',
    ...options
});

/**
 * List previews
 *
 * Lists the account's previews in the mode of the key, newest first. Deleted previews are not listed. The entries have
 * no links: Get a preview returns them. Pass `next_cursor` as `starting_after` to get the next page.
 *
 */
export const listPreviews = <ThrowOnError extends boolean = false>(options?: Options<ListPreviewsData, ThrowOnError>): RequestResult<ListPreviewsResponses, ListPreviewsErrors, ThrowOnError> => (options?.client ?? client).get<ListPreviewsResponses, ListPreviewsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/previews',
    ...options
});

/**
 * Create a preview
 *
 * Enhances up to three stretches of 2 s of a video, with each of one to three settings, so that the settings can be
 * compared before the whole video is made. The video is measured as for a job, and the same limits apply. A refused
 * request stores and charges nothing.
 *
 * The service chooses the stretches. It samples up to eight positions, evenly spaced over the video, and takes the one
 * with the most faces, the one that is hardest to encode, and the one with the strongest planned restoration.
 * A stretch without such a reason is `evenly_spaced`. A video of less than 6 s has fewer stretches, and one of less
 * than 2 s is a single stretch.
 *
 * The charge is the length of the stretches together, rounded up to whole seconds (6 for a video of at least 6 s),
 * times the price per second of a job, for each setting: `1080p` with two settings costs 36 credits. The untouched
 * stretches are free. The service refunds the charge automatically if the preview fails. Previews send no webhooks.
 *
 * To make the whole video with a setting, create a job with its fields: each entry of `settings` has the names of a
 * job's body. `Idempotency-Key` works as for `POST /v1/jobs`; keys of jobs, previews and uploads are the same kind. The response
 * has no links, also for a repeated request whose preview is done: Get a preview returns them.
 *
 */
export const createPreview = <ThrowOnError extends boolean = false>(options: Options<CreatePreviewData, ThrowOnError>): RequestResult<CreatePreviewResponses, CreatePreviewErrors, ThrowOnError> => (options.client ?? client).post<CreatePreviewResponses, CreatePreviewErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/previews',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Delete a preview
 *
 * Permanently deletes the files of the preview. The upload that it was created from stays, so that a job can use it.
 * Refunds as `DELETE /v1/jobs/{id}` does. Afterwards the id is unknown.
 *
 */
export const deletePreview = <ThrowOnError extends boolean = false>(options: Options<DeletePreviewData, ThrowOnError>): RequestResult<DeletePreviewResponses, DeletePreviewErrors, ThrowOnError> => (options.client ?? client).delete<DeletePreviewResponses, DeletePreviewErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/previews/{id}',
    ...options
});

/**
 * Get a preview
 *
 * Returns the current state of the preview. Stop polling when `status` is `done` or `error`. When it is done, each call
 * returns fresh links, valid for `expires_in` seconds.
 *
 */
export const getPreview = <ThrowOnError extends boolean = false>(options: Options<GetPreviewData, ThrowOnError>): RequestResult<GetPreviewResponses, GetPreviewErrors, ThrowOnError> => (options.client ?? client).get<GetPreviewResponses, GetPreviewErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/previews/{id}',
    ...options
});

/**
 * List uploads
 *
 * Lists the account's uploads in the mode of the key, newest first, without their parts. Deleted and expired ones
 * are not listed. Pass `next_cursor` as `starting_after` to get the next page.
 *
 */
export const listUploads = <ThrowOnError extends boolean = false>(options?: Options<ListUploadsData, ThrowOnError>): RequestResult<ListUploadsResponses, ListUploadsErrors, ThrowOnError> => (options?.client ?? client).get<ListUploadsResponses, ListUploadsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/uploads',
    ...options
});

/**
 * Create an upload
 *
 * Begins the upload of a video file. The response lists the first parts of the file, each with a signed URL. Send
 * each part with `PUT`, as it is, without an API key: the signature is the permission. Parts may be sent in any
 * order and several at a time. Then `GET /v1/uploads/{id}` lists the parts that are still missing, with fresh
 * URLs. It also continues an upload after a broken connection. When no part is missing, call
 * `POST /v1/uploads/{id}/complete`.
 *
 * The URLs lead to the bucket if the service stores files in S3, and to this service otherwise. Clients need not
 * know which.
 *
 * An upload belongs to the account and to the mode of the key. It expires 24 hours after its creation, and a
 * complete one 24 hours after its completion; its file is then deleted. Jobs that were created before keep what
 * they need. The files of all uploads of an account are limited together: see `limits.upload_quota_bytes` of
 * `GET /v1/account`. An account can have 1000 uploads at a time in each mode.
 *
 * Send an `Idempotency-Key` to retry safely, as with `POST /v1/jobs`: another request with the same key and body returns
 * the existing upload in its current state, with fresh URLs for the parts that are missing (201 with
 * `Idempotent-Replayed: true`). It creates no second upload, even while the first request is in flight. The same key with
 * another body returns 409 `idempotency_key_reused`, and so does the key of an upload that was deleted or has expired;
 * the message says which. Jobs, previews and uploads share the keys of an account and a mode. The key of an upload is
 * kept as long as the upload, at least 24 hours. A refused request does not use up its key.
 *
 */
export const createUpload = <ThrowOnError extends boolean = false>(options: Options<CreateUploadData, ThrowOnError>): RequestResult<CreateUploadResponses, CreateUploadErrors, ThrowOnError> => (options.client ?? client).post<CreateUploadResponses, CreateUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/uploads',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Delete an upload
 *
 * Permanently deletes the file of the upload, complete or not. Jobs that were created from it go on: an accepted
 * job that has not read the file yet still reads it, and the file is deleted then. Afterwards the id is unknown.
 *
 */
export const deleteUpload = <ThrowOnError extends boolean = false>(options: Options<DeleteUploadData, ThrowOnError>): RequestResult<DeleteUploadResponses, DeleteUploadErrors, ThrowOnError> => (options.client ?? client).delete<DeleteUploadResponses, DeleteUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/uploads/{id}',
    ...options
});

/**
 * Get an upload
 *
 * Returns the state of the upload. While it waits, `parts` lists the next missing parts, at most 20, each with a
 * fresh URL. Send them and ask again until the list is empty.
 *
 */
export const getUpload = <ThrowOnError extends boolean = false>(options: Options<GetUploadData, ThrowOnError>): RequestResult<GetUploadResponses, GetUploadErrors, ThrowOnError> => (options.client ?? client).get<GetUploadResponses, GetUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/uploads/{id}',
    ...options
});

/**
 * Complete an upload
 *
 * Ends the sending and begins the verification: the service reads the whole file and compares its checksum. Poll
 * `GET /v1/uploads/{id}` until `status` is `ready` or `failed`; a job can use the upload once it is `ready`.
 *
 * A checksum is required: the SHA-256 of the file, from the creation or from this call (which replaces it), or the
 * SHA-256 of each part, in the order of their numbers. The second form suits clients that cannot hash a whole file,
 * such as web pages.
 *
 * The call may be repeated: it returns the upload as it is.
 *
 */
export const completeUpload = <ThrowOnError extends boolean = false>(options: Options<CompleteUploadData, ThrowOnError>): RequestResult<CompleteUploadResponses, CompleteUploadErrors, ThrowOnError> => (options.client ?? client).post<CompleteUploadResponses, CompleteUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/uploads/{id}/complete',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Send a part of an upload
 *
 * Receives a part at the URL that an upload lists, when the service stores files on its own disk. With S3 the URL
 * leads to the bucket instead. Use the URL unchanged: the signature covers all its parts. The body is the bytes of
 * the part as they are; their number is fixed. A part that is sent again replaces the earlier one. Web pages of
 * any origin may send parts.
 *
 */
export const uploadPart = <ThrowOnError extends boolean = false>(options: Options<UploadPartData, ThrowOnError>): RequestResult<UploadPartResponses, UploadPartErrors, ThrowOnError> => (options.client ?? client).put<UploadPartResponses, UploadPartErrors, ThrowOnError>({
    bodySerializer: null,
    url: '/v1/upload-parts/{key}',
    ...options,
    headers: {
        'Content-Type': 'application/octet-stream',
        ...options.headers
    }
});

/**
 * List models
 *
 * Lists the installed networks that a job may name in `model`, by name. A job may also name `auto` (the default: the
 * service chooses) and `none` (filters only). The operator of the service installs networks.
 *
 */
export const listModels = <ThrowOnError extends boolean = false>(options?: Options<ListModelsData, ThrowOnError>): RequestResult<ListModelsResponses, ListModelsErrors, ThrowOnError> => (options?.client ?? client).get<ListModelsResponses, ListModelsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/models',
    ...options
});

/**
 * Get the account
 *
 * Validates the key and returns its account. Use it to test authentication.
 */
export const getAccount = <ThrowOnError extends boolean = false>(options?: Options<GetAccountData, ThrowOnError>): RequestResult<GetAccountResponses, GetAccountErrors, ThrowOnError> => (options?.client ?? client).get<GetAccountResponses, GetAccountErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/account',
    ...options
});

/**
 * Change the account's retention
 *
 * Sets how many days the service keeps the files of Secure jobs (`secure: true`) that are created from now on.
 * Existing jobs keep their `expires_at`. Files of other jobs are kept for 30 days, unless the operator has set another
 * number. Needs a key of the Secure tier.
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
 * List credit transfers
 *
 * Lists the transfers of the account's credits, newest first, each with the balance after it: grants and withdrawals by the operator,
 * charges for jobs and previews, and refunds. Transfers are never changed or removed. Test mode has none. Pass `next_cursor` as
 * `starting_after` to get the next page.
 *
 */
export const listLedger = <ThrowOnError extends boolean = false>(options?: Options<ListLedgerData, ThrowOnError>): RequestResult<ListLedgerResponses, ListLedgerErrors, ThrowOnError> => (options?.client ?? client).get<ListLedgerResponses, ListLedgerErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/ledger',
    ...options
});

/**
 * Get the usage per day or month
 *
 * Sums the account's charges and refunds by day or month (UTC). A job counts when it is charged, and a refund when it is made, which may
 * be on a later day. In test mode all sums are 0.
 *
 */
export const getUsage = <ThrowOnError extends boolean = false>(options?: Options<GetUsageData, ThrowOnError>): RequestResult<GetUsageResponses, GetUsageErrors, ThrowOnError> => (options?.client ?? client).get<GetUsageResponses, GetUsageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/usage',
    ...options
});

/**
 * List webhook endpoints
 *
 * Lists the webhook endpoints of the account in the key's mode, newest first. Their secrets are not shown.
 *
 */
export const listWebhookEndpoints = <ThrowOnError extends boolean = false>(options?: Options<ListWebhookEndpointsData, ThrowOnError>): RequestResult<ListWebhookEndpointsResponses, ListWebhookEndpointsErrors, ThrowOnError> => (options?.client ?? client).get<ListWebhookEndpointsResponses, ListWebhookEndpointsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints',
    ...options
});

/**
 * Create a webhook endpoint
 *
 * Every job of the mode that ends from now on sends its event to this URL, beside the `webhook_url` of the job, if
 * that is set. The endpoint has a signing secret of its own. An account can have 10 endpoints in each mode.
 *
 */
export const createWebhookEndpoint = <ThrowOnError extends boolean = false>(options: Options<CreateWebhookEndpointData, ThrowOnError>): RequestResult<CreateWebhookEndpointResponses, CreateWebhookEndpointErrors, ThrowOnError> => (options.client ?? client).post<CreateWebhookEndpointResponses, CreateWebhookEndpointErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Delete a webhook endpoint
 *
 * Deletes the endpoint and its secret. Its pending deliveries stop. Its URL is removed from all of its deliveries; if there are
 * more than 1000, from the others within minutes.
 *
 */
export const deleteWebhookEndpoint = <ThrowOnError extends boolean = false>(options: Options<DeleteWebhookEndpointData, ThrowOnError>): RequestResult<DeleteWebhookEndpointResponses, DeleteWebhookEndpointErrors, ThrowOnError> => (options.client ?? client).delete<DeleteWebhookEndpointResponses, DeleteWebhookEndpointErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}',
    ...options
});

/**
 * Get a webhook endpoint
 *
 * Returns the endpoint without its secret.
 *
 */
export const getWebhookEndpoint = <ThrowOnError extends boolean = false>(options: Options<GetWebhookEndpointData, ThrowOnError>): RequestResult<GetWebhookEndpointResponses, GetWebhookEndpointErrors, ThrowOnError> => (options.client ?? client).get<GetWebhookEndpointResponses, GetWebhookEndpointErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}',
    ...options
});

/**
 * Change a webhook endpoint
 *
 * Changes the fields that the body has. With a new URL, deliveries that are still pending go there. With
 * `enabled: false`, pending deliveries stop and no new ones are created.
 *
 */
export const updateWebhookEndpoint = <ThrowOnError extends boolean = false>(options: Options<UpdateWebhookEndpointData, ThrowOnError>): RequestResult<UpdateWebhookEndpointResponses, UpdateWebhookEndpointErrors, ThrowOnError> => (options.client ?? client).patch<UpdateWebhookEndpointResponses, UpdateWebhookEndpointErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Rotate the secret of a webhook endpoint
 *
 * Creates a new secret. For 24 hours, `webhook-signature` carries a signature with each of the two secrets, and
 * `X-Service-Signature` uses the old one, unless you switch it before.
 * At most ten secrets sign at a time; then `rate_limit_exceeded` names the time until the first one ends.
 *
 */
export const rotateWebhookEndpointSecret = <ThrowOnError extends boolean = false>(options: Options<RotateWebhookEndpointSecretData, ThrowOnError>): RequestResult<RotateWebhookEndpointSecretResponses, RotateWebhookEndpointSecretErrors, ThrowOnError> => (options.client ?? client).post<RotateWebhookEndpointSecretResponses, RotateWebhookEndpointSecretErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}/secret/rotation',
    ...options
});

/**
 * Switch X-Service-Signature to the newest secret
 *
 * Ends the use of the replaced secret in `X-Service-Signature` before the 24 hours of a rotation are over. Switching
 * again changes nothing.
 *
 */
export const switchWebhookEndpointSecret = <ThrowOnError extends boolean = false>(options: Options<SwitchWebhookEndpointSecretData, ThrowOnError>): RequestResult<SwitchWebhookEndpointSecretResponses, SwitchWebhookEndpointSecretErrors, ThrowOnError> => (options.client ?? client).post<SwitchWebhookEndpointSecretResponses, SwitchWebhookEndpointSecretErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}/secret/switch',
    ...options
});

/**
 * Send a test event
 *
 * Sends a signed event to the endpoint, even if it is disabled or does not get events of this kind. The delivery is
 * retried like any other. Its `job_id` is `job_00000000000000000000000000`, which no job has, so that the receiver can
 * tell it from a real event.
 *
 */
export const testWebhookEndpoint = <ThrowOnError extends boolean = false>(options: Options<TestWebhookEndpointData, ThrowOnError>): RequestResult<TestWebhookEndpointResponses, TestWebhookEndpointErrors, ThrowOnError> => (options.client ?? client).post<TestWebhookEndpointResponses, TestWebhookEndpointErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/webhook-endpoints/{id}/test',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * List the requests of the account
 *
 * Lists the requests that were made with keys of the account in this key's mode, newest first, also refused ones,
 * but not those of a path or method that does not exist. A
 * request appears a second or two after its response. Entries are kept for 30 days, and the newest 10,000 of an
 * account at most. Bodies are shown without secrets: URLs, file names, descriptions, metadata and every other free
 * text are replaced by `…`. A service that gets more requests than it can log drops entries.
 *
 */
export const listRequestLog = <ThrowOnError extends boolean = false>(options?: Options<ListRequestLogData, ThrowOnError>): RequestResult<ListRequestLogResponses, ListRequestLogErrors, ThrowOnError> => (options?.client ?? client).get<ListRequestLogResponses, ListRequestLogErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/v1/request-log',
    ...options
});

/**
 * Read the audit log
 *
 * Returns the audit log of the account, newest entry first: jobs that were created, completed, failed or deleted,
 * results that were accessed, and changes to the account and its keys. Entries are numbered without gaps. Each
 * entry contains the hash of the previous one. Entries cannot be changed or removed. `head` is signed and states
 * the size of the whole log and the hash of its newest entry, which makes a truncated copy detectable. Pass
 * `next_cursor` as `starting_after` to get the next page. The log covers both modes of the account. Needs a key of
 * the Secure tier.
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
 * Returns the public keys that verify certificates and audit log heads, as a JSON Web Key Set (RFC 7517, RFC
 * 8037). A signature names its key in `kid`. Retired keys stay in the set.
 *
 */
export const getJwks = <ThrowOnError extends boolean = false>(options?: Options<GetJwksData, ThrowOnError>): RequestResult<GetJwksResponses, GetJwksErrors, ThrowOnError> => (options?.client ?? client).get<GetJwksResponses, GetJwksErrors, ThrowOnError>({ url: '/.well-known/jwks.json', ...options });

/**
 * Get this document as JSON
 *
 * This document, converted to JSON. `console=false` leaves out the operations of the tag Console and the schemas that
 * only they use, so that generators make a client of the API alone.
 *
 */
export const getOpenApiJson = <ThrowOnError extends boolean = false>(options?: Options<GetOpenApiJsonData, ThrowOnError>): RequestResult<GetOpenApiJsonResponses, GetOpenApiJsonErrors, ThrowOnError> => (options?.client ?? client).get<GetOpenApiJsonResponses, GetOpenApiJsonErrors, ThrowOnError>({ url: '/v1/openapi.json', ...options });

/**
 * Get this document as YAML
 *
 * This document, byte for byte.
 */
export const getOpenApiYaml = <ThrowOnError extends boolean = false>(options?: Options<GetOpenApiYamlData, ThrowOnError>): RequestResult<GetOpenApiYamlResponses, GetOpenApiYamlErrors, ThrowOnError> => (options?.client ?? client).get<GetOpenApiYamlResponses, GetOpenApiYamlErrors, ThrowOnError>({ url: '/v1/openapi.yaml', ...options });

/**
 * Get the documents
 *
 * The first page of the documents for people: guides at `/docs/{name}`, the API reference at `/docs/reference`, every
 * error code at `/docs/errors`. The pages load nothing from other hosts.
 *
 */
export const getDocs = <ThrowOnError extends boolean = false>(options?: Options<GetDocsData, ThrowOnError>): RequestResult<GetDocsResponses, GetDocsErrors, ThrowOnError> => (options?.client ?? client).get<GetDocsResponses, GetDocsErrors, ThrowOnError>({ url: '/docs', ...options });

/**
 * Download a file
 *
 * Serves the link that `GET /v1/jobs/{id}/result` returns when the service stores files on its own disk. With S3
 * the link leads to the bucket instead. Use the link unchanged: the signature covers all its parts. Single byte
 * ranges are supported, with `If-Range` and the `ETag`, and so is `If-None-Match`. A request for several ranges
 * returns the whole file. Web pages of any origin may fetch the link.
 *
 */
export const downloadFile = <ThrowOnError extends boolean = false>(options: Options<DownloadFileData, ThrowOnError>): RequestResult<DownloadFileResponses, DownloadFileErrors, ThrowOnError> => (options.client ?? client).get<DownloadFileResponses, DownloadFileErrors, ThrowOnError>({ url: '/v1/downloads/{key}', ...options });

/**
 * Liveness
 *
 * The process responds. Does not check its dependencies.
 */
export const getHealth = <ThrowOnError extends boolean = false>(options?: Options<GetHealthData, ThrowOnError>): RequestResult<GetHealthResponses, GetHealthErrors, ThrowOnError> => (options?.client ?? client).get<GetHealthResponses, GetHealthErrors, ThrowOnError>({ url: '/healthz', ...options });

/**
 * Readiness
 *
 * The process and the database respond.
 */
export const getReadiness = <ThrowOnError extends boolean = false>(options?: Options<GetReadinessData, ThrowOnError>): RequestResult<GetReadinessResponses, GetReadinessErrors, ThrowOnError> => (options?.client ?? client).get<GetReadinessResponses, GetReadinessErrors, ThrowOnError>({ url: '/readyz', ...options });

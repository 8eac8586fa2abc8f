// Generated from openapi.yaml by `npm run generate`; do not edit.

import * as z from 'zod';

/**
 * Identifier of a job, assigned by the service; sorts by time of creation.
 */
export const zJobId = z.string().regex(/^job_[0-9a-hjkmnp-tv-z]{26}$/);

/**
 * Polling ends when it is `done` or `error`.
 */
export const zJobStatus = z.enum([
    'queued',
    'running',
    'done',
    'error'
]);

/**
 * Target resolution. `1080p` fits the video into 1920×1080 and `4k` into 3840×2160; a portrait video into the
 * same box turned. The aspect ratio is kept, sizes are even, nothing is cropped or padded; a source that is larger
 * than the box is reduced to it.
 *
 */
export const zResolution = z.enum(['1080p', '4k']);

/**
 * Privacy is the same on both; Secure adds signed deletion certificates, an audit log and retention.
 */
export const zTier = z.enum(['standard', 'secure']);

/**
 * RFC 3339, UTC with milliseconds.
 */
export const zTimestamp = z.iso.datetime().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/);

/**
 * A public http(s) URL without user name or password; an international host name in its ASCII form. Internal and
 * private addresses are blocked.
 *
 */
export const zPublicUrl = z.string().min(8).max(2048).regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/(((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])|([A-Za-z0-9_][A-Za-z0-9_-]{0,62}\.)*[A-Za-z][A-Za-z0-9_-]{0,62})(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([\/?#][^\s\x00-\x1f\x7f]*)?$/);

/**
 * `auto` lets the service choose from the video, `off` turns the stage off, a number from 0 to 1 sets it.
 */
export const zStrength = z.union([
    z.enum(['auto', 'off']),
    z.number().gte(0).lte(1)
]);

/**
 * How strong each stage is; what is left out is `auto`.
 */
export const zEnhancementsInput = z.strictObject({
    denoise: zStrength.optional(),
    sharpen: zStrength.optional(),
    face_restoration: zStrength.optional(),
    adaptive_contrast: zStrength.optional()
});

/**
 * The caller's own pairs, echoed in the job. At most 20; names of 1 to 40 letters, digits, `_`, `.`, `-`.
 */
export const zMetadataInput = z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/), z.string().max(500).regex(/^[^\x00]*$/)).refine(value => Object.keys(value).length <= 20, { error: 'Invalid input: expected at most 20 properties' });

export const zJobInput = z.strictObject({
    video_url: zPublicUrl,
    resolution: zResolution,
    duration_seconds: z.int().gte(1).lte(600).optional(),
    webhook_url: zPublicUrl.optional(),
    secure: z.boolean().optional(),
    enhancements: zEnhancementsInput.optional(),
    model: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/).optional(),
    metadata: zMetadataInput.optional()
});

/**
 * The caller's own pairs.
 */
export const zMetadata = z.record(z.string(), z.string());

export const zSource = z.object({
    container: z.string(),
    video_codec: z.string(),
    audio_codec: z.string().nullable(),
    width: z.int().gte(1),
    height: z.int().gte(1),
    frame_rate: z.number().gte(0),
    duration: z.number().gte(0),
    size_bytes: z.int().gte(0)
});

export const zOutput = z.object({
    width: z.int().gte(2),
    height: z.int().gte(2),
    size_bytes: z.int().gte(1),
    sha256: z.string().regex(/^[0-9a-f]{64}$/)
});

export const zJobError = z.object({
    code: z.enum([
        'source_changed',
        'processing_failed',
        'processing_timeout',
        'unreadable_video',
        'video_too_long',
        'video_too_large',
        'video_unreachable',
        'url_not_allowed'
    ]),
    message: z.string()
});

/**
 * From 0 (not applied) to 1.
 */
export const zAppliedStrength = z.number().gte(0).lte(1);

export const zAppliedEnhancements = z.object({
    denoise: zAppliedStrength,
    sharpen: zAppliedStrength,
    face_restoration: zAppliedStrength,
    adaptive_contrast: zAppliedStrength,
    model: z.string()
});

export const zJob = z.object({
    id: zJobId,
    status: zJobStatus,
    resolution: zResolution,
    duration_seconds: z.int().gte(1).lte(600),
    credits_charged: z.int().gte(0),
    credits_refunded: z.int().gte(0),
    sandbox: z.boolean(),
    tier: zTier,
    progress: z.number().gte(0).lte(1),
    eta_seconds: z.int().gte(0).nullable(),
    created_at: zTimestamp,
    started_at: zTimestamp.nullable(),
    finished_at: zTimestamp.nullable(),
    expires_at: zTimestamp,
    source: zSource.nullable(),
    output: zOutput.nullable(),
    error: zJobError.nullable(),
    enhancements: zAppliedEnhancements.nullable(),
    metadata: zMetadata
});

export const zJobList = z.object({
    data: z.array(zJob).max(100),
    has_more: z.boolean(),
    next_cursor: zJobId.nullable()
});

export const zRetentionReminder = z.object({
    auto_delete_at: zTimestamp,
    delete_now: z.string().regex(/^DELETE \/v1\/jobs\/job_[0-9a-hjkmnp-tv-z]{26}$/),
    reminder: z.string()
});

export const zJobResult = z.object({
    download_url: z.string().regex(/^https?:\/\//),
    expires_in: z.int().gte(1).lte(3600),
    retention: zRetentionReminder
});

/**
 * One server-sent event.
 */
export const zJobEvent = z.object({
    event: z.enum([
        'status',
        'progress',
        'deleted'
    ]),
    data: z.string()
});

export const zDeletedJob = z.object({
    id: zJobId,
    deleted: z.literal(true)
});

/**
 * What a job with the same body would cost and take.
 */
export const zQuote = z.object({
    duration_seconds: z.int().gte(1).lte(600),
    credits: z.int().gte(0),
    resolution: zResolution,
    tier: zTier,
    sandbox: z.boolean(),
    estimated_seconds: z.int().gte(1),
    source: zSource.nullable()
});

export const zAccountUpdate = z.strictObject({
    retention_days: z.int().gte(1).lte(365)
});

/**
 * JSON Web Signature in the compact form.
 */
export const zCompactJws = z.string().regex(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);

export const zJobDeletion = z.object({
    id: zJobId,
    deleted: z.literal(true),
    deleted_at: zTimestamp,
    refunded_credits: z.int().gte(0),
    certificate: zCompactJws.nullable()
});

/**
 * SHA-256 in lower-case hex.
 */
export const zSha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const zDestroyedObject = z.object({
    key: z.string(),
    role: z.enum(['original', 'output']),
    version: z.string().nullable(),
    sha256: zSha256.nullable(),
    size_bytes: z.int().gte(0).nullable(),
    verified_absent_at: zTimestamp
});

/**
 * Where the deletion stands in the account's audit log.
 */
export const zAuditPosition = z.object({
    sequence: z.int().gte(1),
    hash: zSha256
});

/**
 * What the certificate states, decoded. Trust it only after verifying `certificate`.
 */
export const zCertificatePayload = z.object({
    id: z.string().regex(/^cert_[0-9a-hjkmnp-tv-z]{26}$/),
    version: z.literal(1),
    job_id: zJobId,
    account_id: z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/),
    objects: z.array(zDestroyedObject),
    method: z.enum(['logical deletion, verified absent']),
    storage: z.enum(['filesystem', 's3']),
    actor: z.enum(['customer', 'retention']),
    deleted_at: zTimestamp,
    issued_at: zTimestamp,
    audit: zAuditPosition
});

export const zDeletionCertificate = z.object({
    certificate: zCompactJws,
    payload: zCertificatePayload
});

/**
 * `hash` is the SHA-256 of the canonical JSON (RFC 8785) of all the other fields.
 *
 */
export const zAuditEntry = z.object({
    account_id: z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/),
    sequence: z.int().gte(1),
    id: z.string().regex(/^evt_[0-9a-hjkmnp-tv-z]{26}$/),
    kind: z.string().regex(/^[a-z_]+(\.[a-z_]+)+$/),
    job_id: zJobId.nullable(),
    at: zTimestamp,
    data: z.record(z.string(), z.unknown()),
    previous_hash: zSha256,
    hash: zSha256
});

export const zAuditLog = z.object({
    data: z.array(zAuditEntry).max(100),
    has_more: z.boolean(),
    next_cursor: z.int().gte(1).nullable(),
    head: zCompactJws
});

export const zJwk = z.object({
    kty: z.enum(['OKP']),
    crv: z.enum(['Ed25519']),
    x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
    kid: z.string().min(1),
    alg: z.enum(['EdDSA']),
    use: z.enum(['sig'])
});

export const zJwks = z.object({
    keys: z.array(zJwk).min(1)
});

/**
 * Exactly these fields.
 */
export const zJobCompletedEvent = z.strictObject({
    event: z.enum(['job.completed']),
    job_id: zJobId,
    status: z.enum(['done'])
});

/**
 * Exactly these fields.
 */
export const zJobFailedEvent = z.strictObject({
    event: z.enum(['job.failed']),
    job_id: zJobId,
    status: z.enum(['error'])
});

/**
 * Dollars, by target resolution.
 */
export const zPriceByResolution = z.object({
    '1080p': z.number().gte(0),
    '4k': z.number().gte(0)
});

/**
 * Prices of processed video for the key's tier, billed per second to the cent.
 */
export const zPricing = z.object({
    currency: z.enum(['USD']),
    per_minute: zPriceByResolution,
    per_second: zPriceByResolution
});

export const zLimits = z.object({
    max_duration_seconds: z.int().gte(1),
    max_file_size_bytes: z.int().gte(1),
    resolutions: z.array(zResolution),
    link_validity_seconds: z.int().gte(1)
});

export const zAccount = z.object({
    id: z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/),
    plan: z.string(),
    tier: zTier,
    credits: z.int(),
    sandbox: z.boolean(),
    approval_status: z.enum([
        'pending',
        'approved',
        'rejected'
    ]),
    retention_days: z.int().gte(1).lte(365),
    pricing: zPricing,
    limits: zLimits
});

export const zHealth = z.object({
    status: z.enum(['ok'])
});

export const zOpenApiDocument = z.object({
    openapi: z.string().regex(/^3\.1\.[0-9]+$/),
    info: z.record(z.string(), z.unknown()),
    paths: z.record(z.string(), z.unknown())
});

export const zErrorDetail = z.object({
    code: z.enum([
        'invalid_request',
        'invalid_json',
        'unreadable_video',
        'video_too_long',
        'video_too_large',
        'video_unreachable',
        'url_not_allowed',
        'insufficient_credits',
        'missing_api_key',
        'invalid_api_key',
        'account_pending_approval',
        'secure_tier_required',
        'job_not_found',
        'not_found',
        'method_not_allowed',
        'job_not_done',
        'job_failed',
        'job_not_deleted',
        'certificate_pending',
        'idempotency_key_reused',
        'rate_limit_exceeded',
        'payload_too_large',
        'unsupported_media_type',
        'range_not_satisfiable',
        'link_expired',
        'link_invalid',
        'internal_error',
        'service_unavailable'
    ]),
    message: z.string().min(1),
    type: z.enum([
        'validation_error',
        'authentication_error',
        'billing_error',
        'permission_error',
        'not_found_error',
        'method_not_allowed_error',
        'conflict_error',
        'rate_limit_error',
        'api_error'
    ]),
    param: z.string().regex(/^\//).optional(),
    request_id: z.string().optional(),
    doc_url: z.string().regex(/^https?:\/\//).optional()
});

/**
 * Envelope of every error response.
 */
export const zError = z.object({
    error: zErrorDetail
});

/**
 * Id of the job. Anything that is no job of the account in the key's lane gives 404.
 */
export const zJobId2 = zJobId;

/**
 * Makes a repetition safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
 */
export const zIdempotencyKey = z.string().min(1).max(255).regex(/^[!-~]([ -~]*[!-~])?$/);

/**
 * Lower-case hex HMAC-SHA256 of the raw body. The key is the account's signing secret: the decoded base64 behind
 * `whsec_`. While a secret is rotated this header carries the signature of the new one.
 *
 */
export const zServiceSignature = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * Id of the event; the same at every try.
 */
export const zWebhookId = z.string().min(1);

/**
 * When this try was made, in seconds since the Unix epoch. Refuse what is more than 300 s off.
 */
export const zWebhookTimestamp = z.string().regex(/^[0-9]{1,12}$/);

/**
 * Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw body>` under the
 * same key; one for each valid secret, separated by spaces, while a secret is rotated.
 *
 */
export const zWebhookSignature = z.string().regex(/^v1,[A-Za-z0-9+\/]+=*( v1,[A-Za-z0-9+\/]+=*)*$/);

export const zListJobsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zJobId.optional(),
    status: zJobStatus.optional()
});

/**
 * What to enhance, and how. At most 64 KB.
 */
export const zCreateJobBody = zJobInput;

export const zCreateJobHeaders = z.object({
    'Idempotency-Key': z.string().min(1).max(255).regex(/^[!-~]([ -~]*[!-~])?$/).optional()
});

/**
 * The body of `POST /v1/jobs`. At most 64 KB.
 */
export const zCreateQuoteBody = zJobInput;

export const zDeleteJobPath = z.object({
    id: zJobId
});

export const zGetJobPath = z.object({
    id: zJobId
});

export const zGetJobResultPath = z.object({
    id: zJobId
});

export const zStreamJobEventsPath = z.object({
    id: zJobId
});

export const zGetDeletionCertificatePath = z.object({
    id: zJobId
});

/**
 * What to change. At most 64 KB.
 */
export const zUpdateAccountBody = zAccountUpdate;

export const zListAuditLogQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.int().gte(1).lte(999999999999).optional(),
    job_id: zJobId.optional()
});

export const zGetDocsFilePath = z.object({
    file: z.enum([
        'swagger-ui.css',
        'swagger-ui-bundle.js',
        'start.js',
        'favicon-32x32.png'
    ])
});

export const zDownloadFilePath = z.object({
    key: z.string().min(1).max(512).regex(/^[a-z0-9_\/.-]+$/)
});

export const zDownloadFileQuery = z.object({
    expires: z.string().regex(/^[0-9]{1,12}$/),
    name: z.string().min(1).max(200).regex(/^[^\x00-\x1f\x7f\/\\]+$/),
    type: z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/).optional(),
    signature: z.string().regex(/^[0-9a-f]{64}$/)
});

export const zJobCompletedWebhookRequest = z.object({
    body: zJobCompletedEvent,
    path: z.never().optional(),
    query: z.never().optional(),
    headers: z.object({
        'X-Service-Signature': z.string().regex(/^[0-9a-f]{64}$/),
        'webhook-id': z.string().min(1),
        'webhook-timestamp': z.string().regex(/^[0-9]{1,12}$/),
        'webhook-signature': z.string().regex(/^v1,[A-Za-z0-9+\/]+=*( v1,[A-Za-z0-9+\/]+=*)*$/)
    })
});

export const zJobFailedWebhookRequest = z.object({
    body: zJobFailedEvent,
    path: z.never().optional(),
    query: z.never().optional(),
    headers: z.object({
        'X-Service-Signature': z.string().regex(/^[0-9a-f]{64}$/),
        'webhook-id': z.string().min(1),
        'webhook-timestamp': z.string().regex(/^[0-9]{1,12}$/),
        'webhook-signature': z.string().regex(/^v1,[A-Za-z0-9+\/]+=*( v1,[A-Za-z0-9+\/]+=*)*$/)
    })
});

// Generated from openapi.yaml by `npm run generate`; do not edit.

import { characters } from './characters.ts';
import { exactlyOneOf } from './exactly-one.ts';
import * as z from 'zod';

/**
 * Id of a job, assigned by the service. Ids sort by creation time.
 */
export const zJobId = z.string().regex(/^job_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a job, such as job_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * Id of a preview, assigned by the service. Ids sort by creation time.
 */
export const zPreviewId = z.string().regex(/^prv_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a preview, such as prv_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * Id of a job (`job_…`) or of a preview (`prv_…`).
 */
export const zJobOrPreviewId = z.string().regex(/^(job|prv)_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a job or preview, such as job_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * `done` and `error` are final.
 */
export const zJobStatus = z.enum([
    'queued',
    'running',
    'done',
    'error'
]);

/**
 * Target resolution. `1080p` fits the video into 1920×1080, `4k` into 3840×2160. A portrait video is fitted into
 * the box turned by 90 degrees. The aspect ratio is kept and both sides are even; nothing is cropped or padded. A
 * source that is larger than the box is scaled down.
 *
 */
export const zResolution = z.enum(['1080p', '4k']);

/**
 * Privacy is the same in both tiers. Secure adds signed deletion certificates, an audit log and a retention
 * setting.
 *
 */
export const zTier = z.enum(['standard', 'secure']);

/**
 * RFC 3339, UTC with milliseconds.
 */
export const zTimestamp = z.iso.datetime({ offset: true }).regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/);

/**
 * RFC 3339, in UTC (`Z`) or with an offset. In a URL, the `+` of an offset is written `%2B`.
 */
export const zTime = z.iso.datetime({ offset: true }).regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/, 'must be a time, such as 2026-11-21T07:59:55Z');

/**
 * Id of an upload, assigned by the service. Ids sort by creation time.
 */
export const zUploadId = z.string().regex(/^upl_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of an upload, such as upl_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * Name of a file, without folders. The service keeps it to name downloads and never uses it as a path.
 *
 */
export const zFileName = z.string().check(characters({ min: 1, max: 255 })).regex(/^[^\x00-\x1f\x7f\/\\]+$/, 'must not have a slash, a backslash or control characters');

/**
 * `waiting` for parts, `verifying` the file, `ready` for jobs, or `failed` because the file differs from its
 * checksum.
 *
 */
export const zUploadStatus = z.enum([
    'waiting',
    'verifying',
    'ready',
    'failed'
]);

/**
 * A part that has not arrived. Send its bytes with `PUT` to `url`, without an API key.
 */
export const zUploadPart = z.object({
    number: z.int().gte(1),
    offset: z.int().gte(0),
    size_bytes: z.int().gte(1),
    url: z.url(),
    expires_in: z.int().gte(1)
});

export const zUploadError = z.object({
    code: z.enum(['checksum_mismatch']),
    message: z.string().check(characters({ min: 1 })),
    doc_url: z.string().regex(/^https?:\/\//).optional()
});

export const zUploadDeletion = z.object({
    id: zUploadId,
    deleted: z.literal(true),
    deleted_at: zTimestamp
});

export const zReceivedPart = z.object({
    number: z.int().gte(1),
    size_bytes: z.int().gte(1)
});

/**
 * A public http(s) URL without user name or password. Its host is a domain name (an international one in either
 * spelling), an IPv4 address, or an IPv6 address in brackets. The URL is parsed by the WHATWG URL standard, and
 * the normalised host is checked. Private and local hosts return `url_not_allowed`. Test mode checks them too,
 * although it sends no request and resolves no name. A domain name that resolves to a private address is refused
 * when live mode connects.
 *
 */
export const zPublicUrl = z.string().check(characters({ min: 8, max: 2048 })).regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\x00-\x20\x7f]+$/, 'must begin with http:// or https://, and must not have spaces or control characters');

/**
 * Id of a webhook endpoint, assigned by the service.
 */
export const zWebhookEndpointId = z.string().regex(/^hook_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a webhook endpoint, such as hook_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zWebhookEvent = z.enum(['job.completed', 'job.failed']);

/**
 * The events to send. Repeated names count once.
 */
export const zWebhookEvents = z.array(zWebhookEvent).min(1).max(20);

/**
 * A note for people.
 */
export const zWebhookEndpointDescription = z.string().check(characters({ max: 200 })).regex(/^[^\x00-\x1f\x7f]*$/, 'must not have control characters, such as line breaks');

export const zWebhookEndpointInput = z.strictObject({
    url: zPublicUrl,
    events: zWebhookEvents.optional(),
    description: zWebhookEndpointDescription.optional()
});

export const zWebhookEndpointUpdate = z.strictObject({
    url: zPublicUrl.optional(),
    events: zWebhookEvents.optional(),
    description: zWebhookEndpointDescription.optional(),
    enabled: z.boolean().optional()
});

/**
 * A URL of the account that gets the events of its jobs.
 */
export const zWebhookEndpoint = z.object({
    id: zWebhookEndpointId,
    url: z.string(),
    events: zWebhookEvents,
    description: z.string(),
    enabled: z.boolean(),
    sandbox: z.boolean(),
    created_at: zTimestamp
});

export const zWebhookEndpointList = z.object({
    data: z.array(zWebhookEndpoint).max(20)
});

export const zWebhookEndpointSecret = z.object({
    endpoint: zWebhookEndpoint,
    secret: z.string().regex(/^whsec_[A-Za-z0-9+\/]+=*$/),
    service_signature: z.object({
        switches_at: zTimestamp.nullable()
    })
});

export const zWebhookEndpointDeletion = z.object({
    id: zWebhookEndpointId,
    deleted: z.literal(true)
});

export const zWebhookEndpointTestInput = z.strictObject({
    event: zWebhookEvent
});

export const zLedgerEntry = z.object({
    id: z.int().gte(1),
    kind: z.enum([
        'grant',
        'withdrawal',
        'charge',
        'refund'
    ]),
    amount: z.int(),
    balance: z.int().gte(0),
    job_id: zJobOrPreviewId.nullable(),
    note: z.string(),
    at: zTimestamp
});

export const zLedger = z.object({
    data: z.array(zLedgerEntry).max(100),
    has_more: z.boolean(),
    next_cursor: z.int().gte(1).nullable()
});

/**
 * A day, UTC.
 */
export const zDay = z.iso.date().regex(/^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$/, 'must be a day, such as 2026-11-21');

export const zUsagePeriod = z.object({
    period: z.string().regex(/^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$/),
    jobs: z.int().gte(0),
    seconds: z.int().gte(0),
    credits: z.int().gte(0),
    refunded: z.int().gte(0)
});

export const zUsage = z.object({
    data: z.array(zUsagePeriod).max(367)
});

/**
 * `auto` lets the service choose from the video. `off` turns the stage off. A number from 0 to 1 sets the
 * strength.
 *
 */
export const zStrength = z.union([
    z.literal('auto'),
    z.literal('off'),
    z.number().gte(0).lte(1)
]);

/**
 * The strength of each stage. Omitted stages are `auto`.
 */
export const zEnhancementsInput = z.strictObject({
    denoise: zStrength.optional(),
    sharpen: zStrength.optional(),
    face_restoration: zStrength.optional(),
    adaptive_contrast: zStrength.optional()
});

/**
 * The encoder keeps one quality, and the bitrate follows the picture. A number is the constant rate factor (CRF) of
 * x264, the encoder on CPUs; on a GPU, NVENC gets it as its constant quality (`cq`). Lower means better and
 * larger: six less make the file about twice as large. Usual values are 14 to 28. `standard`, the default,
 * is the operator's setting, 16 unless changed: hard to distinguish from the frames before encoding.
 * `high` is 4 less, for videos that are edited or encoded again.
 *
 */
export const zOutputQuality = z.union([
    z.literal('standard'),
    z.literal('high'),
    z.number().gte(10).lte(40)
]);

/**
 * How the result is encoded. `POST /v1/quotes` predicts its size.
 */
export const zOutputInput = z.strictObject({
    quality: zOutputQuality.optional(),
    max_bitrate: z.int().gte(500000).lte(200000000).optional(),
    poster: z.boolean().optional(),
    thumbnails: z.int().gte(0).lte(20).optional()
});

/**
 * Your own key-value pairs, returned with the job. At most 20. Names have 1 to 40 letters, digits, `_`, `.` and
 * `-`, and are not `__proto__`.
 *
 */
export const zMetadataInput = z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/, 'must have 1 to 40 letters, digits, "_", "." and "-"'), z.string().check(characters({ max: 500 })).regex(/^[^\x00]*$/, 'must not have a NUL character')).refine(value => Object.keys(value).length <= 20, { error: 'Invalid input: expected at most 20 properties' });

/**
 * A video, given by exactly one of `video_url` and `upload_id`, and how to enhance it.
 */
export const zJobInput = z.strictObject({
    video_url: zPublicUrl.optional(),
    upload_id: zUploadId.optional(),
    resolution: zResolution,
    duration_seconds: z.number().gt(0).optional(),
    webhook_url: zPublicUrl.optional(),
    secure: z.boolean().optional(),
    max_credits: z.int().gte(0).lte(1000000000).optional(),
    enhancements: zEnhancementsInput.optional(),
    output: zOutputInput.optional(),
    model: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be "auto", "none" or the name of a model').optional(),
    metadata: zMetadataInput.optional()
}).check(exactlyOneOf('video_url', 'upload_id'));

/**
 * The settings of the request, as it sent them: fields that it omitted are omitted here. With `resolution`, `metadata`,
 * the video, `webhook_url` and, for a job of the Secure tier, `secure`, they are the body of the same job. The request's
 * URLs are not returned, because they may grant access.
 *
 */
export const zRequestedSettings = z.object({
    model: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be "auto", "none" or the name of a model').optional(),
    enhancements: zEnhancementsInput.optional(),
    output: zOutputInput.optional()
});

export const zPartialOutput = z.object({
    url: z.url(),
    expires_in: z.int().gte(1),
    start_seconds: z.number().gte(0),
    end_seconds: z.number().gte(0)
});

export const zJobSegment = z.object({
    start_seconds: z.number().gte(0),
    end_seconds: z.number().gte(0),
    status: z.enum([
        'waiting',
        'running',
        'done'
    ]),
    progress: z.number().gte(0).lte(1)
});

/**
 * One way to enhance the video. The fields are those of a job's body.
 */
export const zPreviewSetting = z.strictObject({
    resolution: zResolution,
    model: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be "auto", "none" or the name of a model').optional(),
    enhancements: zEnhancementsInput.optional(),
    output: zOutputInput.optional()
});

/**
 * A video, given by exactly one of `video_url` and `upload_id`, and the settings to compare.
 */
export const zPreviewInput = z.strictObject({
    video_url: zPublicUrl.optional(),
    upload_id: zUploadId.optional(),
    settings: z.array(zPreviewSetting).min(1).max(3),
    secure: z.boolean().optional(),
    max_credits: z.int().gte(0).lte(1000000000).optional()
}).check(exactlyOneOf('video_url', 'upload_id'));

/**
 * An MP4 (H.264) without sound.
 */
export const zPreviewClip = z.object({
    url: z.string().regex(/^https?:\/\//),
    width: z.int().gte(1),
    height: z.int().gte(1),
    size_bytes: z.int().gte(1)
});

export const zPreviewStretch = z.object({
    start: z.number().gte(0),
    duration: z.number().gt(0).lte(2),
    reason: z.enum([
        'face',
        'hardest_to_encode',
        'most_damaged',
        'evenly_spaced'
    ]),
    original: zPreviewClip,
    results: z.array(zPreviewClip).min(1).max(3)
});

/**
 * Your own key-value pairs.
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
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    quality: z.number().gte(0).lte(51).optional(),
    max_bitrate: z.int().gte(1).nullish()
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
    message: z.string(),
    doc_url: z.string().regex(/^https?:\/\//).optional()
});

export const zPreview = z.object({
    id: zPreviewId,
    status: zJobStatus,
    processed_seconds: z.int().gte(1),
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
    upload_id: zUploadId.nullable(),
    file_name: zFileName.nullable(),
    settings: z.array(zPreviewSetting).min(1).max(3),
    stretches: z.array(zPreviewStretch).min(1).max(3).nullable(),
    links_expire_in: z.int().gte(1).lte(43200).nullable(),
    error: zJobError.nullable()
});

export const zPreviewList = z.object({
    data: z.array(zPreview).max(100),
    has_more: z.boolean(),
    next_cursor: zPreviewId.nullable()
});

/**
 * From 0 (not applied) to 1.
 */
export const zAppliedStrength = z.number().gte(0).lte(1);

export const zPlannedStage = z.object({
    stage: z.string().check(characters({ max: 200 })),
    strength: zAppliedStrength,
    reason: z.string().check(characters({ max: 500 }))
});

export const zAppliedEnhancements = z.object({
    denoise: zAppliedStrength,
    sharpen: zAppliedStrength,
    face_restoration: zAppliedStrength,
    adaptive_contrast: zAppliedStrength,
    model: z.string(),
    device: z.string().check(characters({ max: 200 })),
    plan: z.array(zPlannedStage).max(20),
    condition: z.string().check(characters({ max: 200 })).optional()
});

export const zJob = z.object({
    id: zJobId,
    status: zJobStatus,
    resolution: zResolution,
    duration_seconds: z.int().gte(1).lte(21600),
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
    metadata: zMetadata,
    requested: zRequestedSettings,
    upload_id: zUploadId.nullable(),
    file_name: zFileName.nullable(),
    partial_output: zPartialOutput.nullish(),
    segments: z.array(zJobSegment).optional()
});

export const zJobList = z.object({
    data: z.array(zJob).max(100),
    has_more: z.boolean(),
    next_cursor: zJobId.nullable()
});

/**
 * A still picture of the result, as JPEG.
 */
export const zPicture = z.object({
    url: z.string().regex(/^https?:\/\//),
    time: z.number().gte(0),
    width: z.int().gte(1),
    height: z.int().gte(1),
    size_bytes: z.int().gte(1)
});

export const zRetentionReminder = z.object({
    auto_delete_at: zTimestamp,
    delete_now: z.string().regex(/^DELETE \/v1\/jobs\/job_[0-9a-hjkmnp-tv-z]{26}$/),
    reminder: z.string()
});

export const zJobResult = z.object({
    download_url: z.string().regex(/^https?:\/\//),
    expires_in: z.int().gte(1).lte(43200),
    poster: zPicture.nullable(),
    thumbnails: z.array(zPicture).max(20),
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
 * Seconds of processing, without the time in the queue. About eight of ten jobs are within the range:
 * machines differ, and videos need more or less restoration.
 *
 */
export const zTimeEstimate = z.object({
    min_seconds: z.int().gte(1),
    max_seconds: z.int().gte(1),
    basis: z.enum([
        'recent_jobs',
        'typical_rate',
        'test_mode'
    ])
});

/**
 * A range, since the size follows the picture: grain, noise and motion make a result many times as large as a still
 * and clean picture.
 *
 */
export const zSizeEstimate = z.object({
    min_bytes: z.int().gte(1),
    max_bytes: z.int().gte(1),
    basis: z.enum(['account_jobs', 'source_bitrate'])
});

/**
 * The price and duration of a job with the same body.
 */
export const zQuote = z.object({
    duration_seconds: z.int().gte(1).lte(21600),
    credits: z.int().gte(0),
    resolution: zResolution,
    tier: zTier,
    sandbox: z.boolean(),
    estimated_seconds: z.int().gte(1),
    estimated_time: zTimeEstimate,
    estimated_size: zSizeEstimate.nullable(),
    source: zSource.nullable()
});

export const zAccountUpdate = z.strictObject({
    retention_days: z.int().gte(1).lte(365)
});

/**
 * JSON Web Signature in the compact form.
 */
export const zCompactJws = z.string().regex(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);

export const zPreviewDeletion = z.object({
    id: zPreviewId,
    deleted: z.literal(true),
    deleted_at: zTimestamp,
    refunded_credits: z.int().gte(0),
    certificate: zCompactJws.nullable()
});

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
export const zSha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 lower-case hexadecimal digits');

export const zUploadInput = z.strictObject({
    file_name: zFileName,
    size_bytes: z.int().gte(1),
    sha256: zSha256.optional()
});

export const zUpload = z.object({
    id: zUploadId,
    status: zUploadStatus,
    file_name: zFileName,
    size_bytes: z.int().gte(1),
    sha256: zSha256.nullable(),
    sandbox: z.boolean(),
    part_size_bytes: z.int().gte(1),
    received_bytes: z.int().gte(0).nullable(),
    parts: z.array(zUploadPart).max(20),
    error: zUploadError.nullable(),
    created_at: zTimestamp,
    expires_at: zTimestamp
});

export const zUploadList = z.object({
    data: z.array(zUpload).max(100),
    has_more: z.boolean(),
    next_cursor: zUploadId.nullable()
});

export const zUploadCompletion = z.strictObject({
    sha256: zSha256.optional(),
    part_sha256: z.array(zSha256).min(1).max(900).optional()
});

export const zDestroyedObject = z.object({
    key: z.string(),
    role: z.enum([
        'original',
        'output',
        'segment',
        'upload',
        'poster',
        'thumbnail',
        'clip'
    ]),
    version: z.string().nullable(),
    sha256: zSha256.nullable(),
    size_bytes: z.int().gte(0).nullable(),
    verified_absent_at: zTimestamp
});

/**
 * Position of the deletion in the account's audit log.
 */
export const zAuditPosition = z.object({
    sequence: z.int().gte(1),
    hash: zSha256
});

/**
 * The decoded content of the certificate. Trust it only after you have verified `certificate`.
 */
export const zCertificatePayload = z.object({
    id: z.string().regex(/^cert_[0-9a-hjkmnp-tv-z]{26}$/),
    version: z.literal(1),
    job_id: zJobOrPreviewId,
    account_id: z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/),
    objects: z.array(zDestroyedObject),
    method: z.enum(['logical deletion, verified absent']),
    storage: z.enum(['filesystem', 's3']),
    actor: z.enum([
        'customer',
        'retention',
        'operator'
    ]),
    deleted_at: zTimestamp,
    issued_at: zTimestamp,
    audit: zAuditPosition
});

export const zDeletionCertificate = z.object({
    certificate: zCompactJws,
    payload: zCertificatePayload
});

/**
 * `hash` is the SHA-256 of the canonical JSON (RFC 8785) of all other fields.
 */
export const zAuditEntry = z.object({
    account_id: z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/),
    sequence: z.int().gte(1),
    id: z.string().regex(/^evt_[0-9a-hjkmnp-tv-z]{26}$/),
    kind: z.string().regex(/^[a-z_]+(\.[a-z_]+)+$/),
    job_id: zJobOrPreviewId.nullable(),
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
    kid: z.string().check(characters({ min: 1 })),
    alg: z.enum(['EdDSA']),
    use: z.enum(['sig'])
});

export const zJwks = z.object({
    keys: z.array(zJwk).min(1)
});

/**
 * The event has exactly these fields.
 */
export const zJobCompletedEvent = z.strictObject({
    event: z.enum(['job.completed']),
    job_id: zJobId,
    status: z.enum(['done'])
});

/**
 * The event has exactly these fields.
 */
export const zJobFailedEvent = z.strictObject({
    event: z.enum(['job.failed']),
    job_id: zJobId,
    status: z.enum(['error'])
});

/**
 * `full`: everything. `read_only`: every `GET`, and nothing else. `create_only`: creating jobs, quotes, previews and
 * uploads, getting and completing an upload, and nothing else.
 *
 */
export const zKeyAccess = z.enum([
    'full',
    'read_only',
    'create_only'
]);

/**
 * Name of the key, for people. Empty for none.
 */
export const zKeyName = z.string().check(characters({ max: 100 })).regex(/^[^\x00-\x1f\x7f]*$/, 'must not have control characters, such as line breaks');

/**
 * Id of an entry of the request log.
 */
export const zLogId = z.string().regex(/^log_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of an entry of the request log, such as log_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * A network that jobs can run.
 */
export const zModel = z.object({
    name: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    scales: z.array(z.int().gte(1)),
    relative_cost: z.number().gte(0).nullable(),
    license: z.string().nullable()
});

export const zModelList = z.object({
    data: z.array(zModel)
});

/**
 * US dollars, by target resolution.
 */
export const zPriceByResolution = z.object({
    '1080p': z.number().gte(0),
    '4k': z.number().gte(0)
});

export const zTierPrices = z.object({
    per_minute: zPriceByResolution,
    per_second: zPriceByResolution
});

/**
 * Prices of processed video for the key's tier, billed per second to the cent.
 */
export const zPricing = z.object({
    currency: z.enum(['USD']),
    per_minute: zPriceByResolution,
    per_second: zPriceByResolution,
    tiers: z.object({
        standard: zTierPrices,
        secure: zTierPrices.optional()
    }).optional()
});

export const zLimits = z.object({
    max_duration_seconds: z.int().gte(1),
    max_file_size_bytes: z.int().gte(1),
    resolutions: z.array(zResolution),
    link_validity_seconds: z.int().gte(1),
    models: z.array(z.string()),
    upload_quota_bytes: z.int().gte(1),
    jobs_per_day: z.int().gte(1).nullable(),
    parallel_enhancements: z.int().gte(1).nullable(),
    calls_per_minute: z.object({
        create: z.int().gte(1),
        read: z.int().gte(1),
        other: z.int().gte(1)
    })
});

/**
 * `test`: nothing is processed or charged. `live`: jobs are processed and charged.
 */
export const zMode = z.enum(['test', 'live']);

export const zConsoleWebhookEndpointInput = z.strictObject({
    mode: zMode,
    request: zWebhookEndpointInput
});

export const zConsoleUserId = z.string().regex(/^user_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a person, such as user_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zConsoleSessionId = z.string().regex(/^sess_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a session, such as sess_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zAccountId = z.string().regex(/^acct_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of an account, such as acct_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zKeyId = z.string().regex(/^key_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a key, such as key_01jdq4s9xkf5v8t2m6w0c3rhbz');

/**
 * The key of the request.
 */
export const zAccountKey = z.object({
    id: zKeyId,
    name: z.string(),
    access: zKeyAccess,
    last_used_at: zTimestamp.nullable()
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
    limits: zLimits,
    key: zAccountKey
});

/**
 * One request and its outcome.
 */
export const zRequestLogEntry = z.object({
    id: zLogId,
    request_id: z.string(),
    at: zTimestamp,
    key_id: zKeyId,
    sandbox: z.boolean(),
    method: z.string(),
    path: z.string(),
    resource_id: z.string().nullable(),
    status: z.int().gte(100).lte(599),
    duration_ms: z.int().gte(0),
    error: z.object({
        code: z.string(),
        message: z.string(),
        param: z.string().nullable()
    }).nullable(),
    request_body: z.record(z.string(), z.unknown()).nullable()
});

export const zRequestLogPage = z.object({
    data: z.array(zRequestLogEntry).max(100),
    has_more: z.boolean(),
    next_cursor: zLogId.nullable()
});

export const zEventId = z.string().regex(/^evt_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of an event, such as evt_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zWebhookEndpointTestResult = z.object({
    delivery_id: zEventId
});

/**
 * Compared case-insensitively.
 */
export const zEmail = z.string().check(characters({ min: 3, max: 254 })).regex(/^[A-Za-z0-9.!#$%&'*+\/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}([.][A-Za-z0-9-]{1,63}){0,8}$/, 'must be an email address, such as ann@example.com');

export const zConsoleSignUpInput = z.strictObject({
    email: zEmail,
    password: z.string().check(characters({ min: 12, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    name: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character').optional()
});

/**
 * The same for a known and an unknown email.
 */
export const zConsoleSignUpResult = z.object({
    accepted: z.literal(true)
});

export const zConsolePasswordChange = z.strictObject({
    current_password: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    new_password: z.string().check(characters({ min: 12, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zConsoleAccount = z.object({
    id: zAccountId,
    name: z.string(),
    plan: z.string(),
    approval_status: z.enum([
        'pending',
        'approved',
        'rejected'
    ]),
    credits: z.int().gte(0),
    test_credits: z.int().gte(0),
    retention_days: z.int().gte(1).lte(365),
    created_at: zTimestamp
});

/**
 * Optional features of this service.
 */
export const zConsoleCapabilities = z.object({
    sample_url: z.object({
        live: z.string().nullable(),
        test: z.string()
    })
});

export const zConsoleSignedOut = z.object({
    signed_out: z.literal(true)
});

export const zConsoleSessionEntry = z.object({
    id: zConsoleSessionId,
    current: z.boolean(),
    user_agent: z.string(),
    created_at: zTimestamp,
    last_seen_at: zTimestamp,
    expires_at: zTimestamp
});

export const zConsoleSessionList = z.object({
    data: z.array(zConsoleSessionEntry).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

export const zConsolePasswordLinkInput = z.strictObject({
    token: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    new_password: z.string().check(characters({ min: 12, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zConsolePasswordLinkUsed = z.object({
    changed: z.literal(true)
});

/**
 * Six digits of the authenticator app, or a recovery code. Spaces and hyphens do not count.
 */
export const zConsoleCode = z.string().check(characters({ min: 1, max: 40 })).regex(/^[0-9A-Za-z -]*$/, 'must have only letters, digits, spaces and hyphens');

export const zConsoleCredentials = z.strictObject({
    email: zEmail,
    password: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    code: zConsoleCode.optional()
});

export const zConsolePasswordProof = z.strictObject({
    password: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zConsoleCodeProof = z.strictObject({
    code: zConsoleCode
});

export const zConsoleFullProof = z.strictObject({
    password: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    code: zConsoleCode
});

export const zConsoleTwoFactor = z.object({
    enabled: z.boolean(),
    enabled_at: zTimestamp.nullable(),
    recovery_codes_left: z.int().gte(0)
});

export const zConsoleTwoFactorEnrolment = z.object({
    secret: z.string().regex(/^[A-Z2-7]{32}$/),
    uri: z.string().regex(/^otpauth:\/\/totp\//)
});

export const zConsoleRecoveryCodes = z.object({
    recovery_codes: z.array(z.string().regex(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/))
});

/**
 * What a user may do in the account. `member`: jobs, previews, uploads, and reading. `admin`: also keys, webhooks,
 * retention and people.
 *
 */
export const zRole = z.enum(['admin', 'member']);

export const zConsoleUser = z.object({
    id: zConsoleUserId,
    email: z.string(),
    operator: z.boolean(),
    role: zRole,
    created_at: zTimestamp
});

/**
 * The signed-in user, and what the page needs to know about the service.
 */
export const zConsoleSession = z.object({
    id: zConsoleSessionId,
    csrf_token: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
    expires_at: zTimestamp,
    user: zConsoleUser,
    account: zConsoleAccount,
    pricing: z.object({
        standard: zPricing,
        secure: zPricing
    }),
    limits: zLimits,
    standard_retention_days: z.int().gte(1).lte(365),
    capabilities: zConsoleCapabilities
});

export const zConsoleInvitationId = z.string().regex(/^inv_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of an invitation, such as inv_01jdq4s9xkf5v8t2m6w0c3rhbz');

export const zConsolePerson = z.object({
    id: zConsoleUserId,
    email: z.string(),
    role: zRole,
    operator: z.boolean(),
    two_factor: z.boolean(),
    created_at: zTimestamp
});

export const zConsolePersonList = z.object({
    data: z.array(zConsolePerson),
    has_more: z.boolean(),
    next_cursor: zConsoleUserId.nullable()
});

export const zConsoleRoleChange = z.strictObject({
    role: zRole
});

export const zConsoleRemoved = z.object({
    removed: z.literal(true)
});

export const zConsoleInvitation = z.object({
    id: zConsoleInvitationId,
    email: z.string(),
    role: zRole,
    created_by: zConsoleUserId.nullable(),
    created_at: zTimestamp,
    expires_at: zTimestamp
});

export const zConsoleInvitationList = z.object({
    data: z.array(zConsoleInvitation),
    has_more: z.boolean(),
    next_cursor: zConsoleInvitationId.nullable()
});

export const zConsoleInvitationInput = z.strictObject({
    email: zEmail,
    role: zRole
});

export const zConsoleNewInvitation = z.object({
    invitation: zConsoleInvitation,
    url: z.string().regex(/^https?:\/\//)
});

export const zConsoleInvitationToken = z.strictObject({
    token: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zConsoleInvitationDetail = z.object({
    account_name: z.string(),
    email: z.string(),
    role: zRole,
    expires_at: zTimestamp
});

export const zConsoleInvitationAcceptance = z.strictObject({
    token: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character'),
    password: z.string().check(characters({ min: 12, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zConsoleSessionsEnded = z.object({
    ended: z.int().gte(0)
});

/**
 * An API key, without its secret.
 */
export const zConsoleKey = z.object({
    id: zKeyId,
    mode: zMode,
    tier: zTier,
    name: zKeyName,
    access: zKeyAccess,
    last_four: z.string(),
    state: z.enum([
        'active',
        'expiring',
        'expired',
        'revoked'
    ]),
    created_at: zTimestamp,
    last_used_at: zTimestamp.nullable(),
    expires_at: zTimestamp.nullable(),
    revoked_at: zTimestamp.nullable()
});

export const zConsoleKeyList = z.object({
    data: z.array(zConsoleKey).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

export const zConsoleKeyInput = z.strictObject({
    mode: zMode,
    tier: zTier,
    name: zKeyName.optional(),
    access: zKeyAccess.optional()
});

export const zConsoleKeyUpdate = z.strictObject({
    name: zKeyName
});

export const zConsoleNewKey = z.object({
    key: zConsoleKey,
    secret: z.string().regex(/^svc_(test|live)_[0-9A-Za-z]{38}$/)
});

export const zConsoleKeyRotationInput = z.strictObject({
    overlap_days: z.int().gte(0).lte(7)
});

export const zConsoleRotatedKey = z.object({
    key: zConsoleKey,
    secret: z.string().regex(/^svc_(test|live)_[0-9A-Za-z]{38}$/),
    replaced: zConsoleKey
});

/**
 * A job request and its mode.
 */
export const zConsoleJobInput = z.strictObject({
    mode: zMode,
    request: zJobInput
});

/**
 * A request for a preview and its mode.
 */
export const zConsolePreviewInput = z.strictObject({
    mode: zMode,
    request: zPreviewInput
});

/**
 * A job as an item of lists.
 */
export const zConsoleJob = z.object({
    id: zJobId,
    mode: zMode,
    tier: zTier,
    status: zJobStatus,
    resolution: zResolution,
    source_name: z.string(),
    progress: z.number().gte(0).lte(1),
    eta_seconds: z.int().gte(0).nullable(),
    duration_seconds: z.int().gte(0),
    credits_charged: z.int().gte(0),
    credits_refunded: z.int().gte(0),
    created_at: zTimestamp,
    started_at: zTimestamp.nullable(),
    finished_at: zTimestamp.nullable(),
    expires_at: zTimestamp,
    error: zJobError.nullable()
});

export const zConsoleJobList = z.object({
    data: z.array(zConsoleJob).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

/**
 * A preview with its mode and its request.
 */
export const zConsolePreview = z.object({
    preview: zPreview,
    mode: zMode,
    source_name: z.string(),
    video_url: z.string().nullable()
});

export const zConsolePreviewList = z.object({
    data: z.array(zConsolePreview).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

/**
 * An event of the job: an entry of the audit log.
 */
export const zConsoleTimelineEvent = z.object({
    at: zTimestamp,
    kind: z.string().regex(/^[a-z_]+(\.[a-z_]+)+$/),
    text: z.string(),
    data: z.record(z.string(), z.unknown())
});

export const zConsoleJobCharge = z.object({
    id: z.int().gte(1),
    kind: z.enum(['charge', 'refund']),
    amount: z.int(),
    balance: z.int().gte(0),
    at: zTimestamp
});

/**
 * A job with its request, timeline and charges.
 */
export const zConsoleJobDetail = z.object({
    job: zJob,
    mode: zMode,
    source_name: z.string(),
    video_url: z.string().nullable(),
    upload_expires_at: zTimestamp.nullable(),
    webhook_url: z.string().nullable(),
    model: z.string().nullable(),
    requested: zEnhancementsInput,
    error_help: z.string().nullable(),
    timeline: z.array(zConsoleTimelineEvent),
    charges: z.array(zConsoleJobCharge),
    segments: z.array(zJobSegment)
});

export const zConsoleLink = z.object({
    url: z.string().check(characters({ min: 1 })),
    expires_in: z.int().gte(1).lte(43200),
    file_name: z.string(),
    size_bytes: z.int().gte(0).nullable()
});

export const zConsolePicture = z.object({
    kind: z.enum(['poster', 'thumbnail']),
    time: z.number().gte(0),
    width: z.int().gte(1),
    height: z.int().gte(1),
    link: zConsoleLink
});

/**
 * Fresh links to the videos and pictures. A video that is not stored has null.
 */
export const zConsoleJobLinks = z.object({
    pictures: z.array(zConsolePicture).max(21),
    result: zConsoleLink.nullable(),
    source: zConsoleLink.nullable()
});

/**
 * One server-sent event.
 */
export const zConsoleJobEvent = z.object({
    event: z.enum(['job', 'deleted']),
    data: z.string()
});

/**
 * An upload and its mode.
 */
export const zConsoleUploadInput = z.strictObject({
    mode: zMode,
    request: zUploadInput
});

export const zConsoleWebhookSecret = z.object({
    secret: z.string().regex(/^whsec_[A-Za-z0-9+\/]+=*$/),
    service_signature: z.object({
        secret: z.string().regex(/^whsec_[A-Za-z0-9+\/]+=*$/),
        switches_at: zTimestamp.nullable()
    }),
    replaced: z.array(z.object({
        secret: z.string(),
        expires_at: zTimestamp
    }))
});

/**
 * One attempt to deliver a webhook.
 */
export const zConsoleDeliveryAttempt = z.object({
    number: z.int().gte(1),
    at: zTimestamp,
    duration_ms: z.int().gte(0),
    status: z.int().gte(0).nullable(),
    failure: z.string().nullable(),
    response_body: z.string().nullable()
});

/**
 * The delivery of a webhook.
 */
export const zConsoleDelivery = z.object({
    id: zEventId,
    job_id: zJobId.nullable(),
    endpoint_id: zWebhookEndpointId.nullable(),
    event: z.enum(['job.completed', 'job.failed']),
    url: z.string().nullable(),
    state: z.enum([
        'pending',
        'delivered',
        'dead',
        'stopped'
    ]),
    failed_attempts: z.int().gte(0),
    next_at: zTimestamp.nullable(),
    created_at: zTimestamp,
    settled_at: zTimestamp.nullable(),
    last_attempt: zConsoleDeliveryAttempt.nullable()
});

export const zConsoleDeliveryList = z.object({
    data: z.array(zConsoleDelivery).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

export const zConsoleDeliveryDetail = z.object({
    delivery: zConsoleDelivery,
    request: z.object({
        method: z.enum(['POST']),
        url: z.string().nullable(),
        headers: z.record(z.string(), z.string()),
        body: z.string()
    }),
    attempts: z.array(zConsoleDeliveryAttempt)
});

export const zConsoleWebhookTestInput = z.strictObject({
    url: zPublicUrl,
    event: z.enum(['job.completed', 'job.failed'])
});

export const zConsoleWebhookTest = z.object({
    job_id: zJobId
});

export const zConsoleUsageDay = z.object({
    date: z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/),
    jobs: z.int().gte(0),
    seconds: z.int().gte(0),
    credits: z.int().gte(0),
    refunded: z.int().gte(0)
});

export const zConsoleUsage = z.object({
    days: z.array(zConsoleUsageDay)
});

export const zConsoleCertificate = z.object({
    id: z.string().regex(/^cert_[0-9a-hjkmnp-tv-z]{26}$/),
    job_id: zJobOrPreviewId,
    issued_at: zTimestamp,
    certificate: zCompactJws
});

export const zConsoleCertificateList = z.object({
    data: z.array(zConsoleCertificate).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

/**
 * The whole log with its signed head and the public keys. Nothing else is needed to verify it.
 */
export const zAuditExport = z.object({
    account_id: zAccountId,
    entries: z.array(zAuditEntry),
    head: zCompactJws,
    jwks: zJwks
});

export const zOperatorQuotas = z.object({
    jobs_per_day: z.int().gte(1).nullable(),
    parallel_enhancements: z.int().gte(1).nullable(),
    upload_quota_bytes: z.int().gte(1).nullable(),
    create_per_minute: z.int().gte(1).nullable(),
    read_per_minute: z.int().gte(1).nullable(),
    other_per_minute: z.int().gte(1).nullable()
});

/**
 * Quotas to change. null removes a quota; omitted ones stay.
 */
export const zOperatorQuotaChanges = z.strictObject({
    jobs_per_day: z.int().gte(1).lte(1000000).nullish(),
    parallel_enhancements: z.int().gte(1).lte(10000).nullish(),
    upload_quota_bytes: z.int().gte(1).lte(1000000000000000).nullish(),
    create_per_minute: z.int().gte(1).lte(1000000).nullish(),
    read_per_minute: z.int().gte(1).lte(1000000).nullish(),
    other_per_minute: z.int().gte(1).lte(1000000).nullish()
});

export const zOperatorDecision = z.strictObject({
    decision: z.enum(['approved', 'rejected'])
});

export const zOperatorPlan = z.strictObject({
    plan: z.string().regex(/^[0-9A-Za-z_-]{1,50}$/, 'must have 1 to 50 letters, digits, "-" and "_"')
});

export const zOperatorClosure = z.strictObject({
    name: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character')
});

export const zOperatorAccountClosed = z.object({
    closed: z.literal(true)
});

export const zOperatorHistoryStep = z.object({
    from: zTimestamp,
    queued: z.int().gte(0),
    finished: z.int().gte(0),
    failed: z.int().gte(0)
});

export const zOperatorDeviceHistory = z.object({
    device: z.string(),
    video_seconds: z.array(z.int().gte(0))
});

export const zOperatorFailureCount = z.object({
    code: z.string(),
    jobs: z.int().gte(1)
});

export const zOperatorHistory = z.object({
    period: z.enum(['day', 'week']),
    steps: z.array(zOperatorHistoryStep),
    devices: z.array(zOperatorDeviceHistory),
    failures: z.array(zOperatorFailureCount)
});

export const zOperatorPerson = z.object({
    id: zConsoleUserId,
    email: z.string(),
    role: zRole,
    operator: z.boolean(),
    two_factor: z.boolean()
});

export const zOperatorAccount = z.object({
    id: zAccountId,
    name: z.string(),
    plan: z.string(),
    approval_status: z.enum([
        'pending',
        'approved',
        'rejected'
    ]),
    credits: z.int().gte(0),
    test_credits: z.int().gte(0),
    retention_days: z.int().gte(1).lte(365),
    created_at: zTimestamp,
    emails: z.array(z.string()),
    people: z.array(zOperatorPerson),
    active_keys: z.int().gte(0),
    quotas: zOperatorQuotas,
    default_quotas: zOperatorQuotas
});

export const zOperatorAccountList = z.object({
    data: z.array(zOperatorAccount).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

export const zOperatorPasswordLink = z.object({
    url: z.string().regex(/^https?:\/\//),
    expires_at: zTimestamp
});

export const zOperatorTwoFactorReset = z.object({
    reset: z.literal(true)
});

export const zOperatorGrant = z.strictObject({
    credits: z.int().gte(1).lte(1000000000),
    note: z.string().check(characters({ max: 200 })).regex(/^[^\x00]*$/, 'must not have a NUL character').optional()
});

export const zOperatorQueue = z.object({
    task: z.string(),
    waiting: z.int().gte(0),
    later: z.int().gte(0),
    running: z.int().gte(0),
    oldest_seconds: z.int().gte(0).nullable()
});

/**
 * State of the service.
 */
export const zOperatorOverview = z.object({
    queue: z.array(zOperatorQueue),
    jobs: z.object({
        queued: z.int().gte(0),
        running: z.int().gte(0),
        oldest_queued_seconds: z.int().gte(0).nullable(),
        failed_last_day: z.int().gte(0)
    }),
    webhooks: z.object({
        pending: z.int().gte(0),
        overdue: z.int().gte(0)
    }),
    workers_alive: z.int().gte(0),
    accounts_pending: z.int().gte(0)
});

export const zOperatorDevice = z.object({
    id: z.string(),
    name: z.string(),
    usable: z.boolean(),
    reason: z.string(),
    threads: z.int().gte(0),
    simd: z.string(),
    encoder: z.string(),
    inference: z.array(z.string())
});

export const zOperatorLease = z.object({
    id: zJobOrPreviewId,
    step: z.enum([
        'ingest',
        'enhance',
        'segments',
        'join',
        'test_mode'
    ]),
    progress: z.number().gte(0).lte(1),
    lease_expires_at: zTimestamp
});

/**
 * A worker process.
 */
export const zOperatorWorker = z.object({
    id: z.string(),
    host: z.string().nullable(),
    started_at: zTimestamp,
    last_heartbeat_at: zTimestamp,
    alive: z.boolean(),
    concurrency: z.int().gte(0).nullable(),
    devices: z.array(zOperatorDevice),
    jobs: z.array(zOperatorLease)
});

export const zOperatorWorkerList = z.object({
    data: z.array(zOperatorWorker).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
});

/**
 * A job that ended in error. Contains no URL of the customer's.
 */
export const zOperatorFailure = z.object({
    job_id: zJobOrPreviewId,
    account_id: zAccountId,
    mode: zMode,
    tier: zTier,
    resolution: zResolution,
    duration_seconds: z.int().gte(0),
    code: z.string(),
    message: z.string(),
    attempts: z.int().gte(0),
    finished_at: zTimestamp
});

export const zOperatorFailureList = z.object({
    data: z.array(zOperatorFailure).max(100),
    has_more: z.boolean(),
    next_cursor: z.string().nullable()
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
        'max_credits_exceeded',
        'missing_api_key',
        'invalid_api_key',
        'missing_session',
        'invalid_session',
        'invalid_credentials',
        'csrf_token_invalid',
        'cross_site_request',
        'operator_required',
        'operator_protected',
        'admin_required',
        'sign_up_closed',
        'wrong_password',
        'one_time_link_invalid',
        'second_factor_required',
        'wrong_code',
        'two_factor_enabled',
        'two_factor_not_enabled',
        'last_admin',
        'people_limit_reached',
        'key_not_active',
        'key_limit_reached',
        'delivery_not_resendable',
        'webhook_endpoint_not_found',
        'webhook_endpoint_limit_reached',
        'account_pending_approval',
        'secure_tier_required',
        'key_access_denied',
        'job_not_found',
        'preview_not_found',
        'upload_not_found',
        'not_found',
        'method_not_allowed',
        'job_not_done',
        'job_failed',
        'job_not_deleted',
        'certificate_pending',
        'idempotency_key_reused',
        'upload_incomplete',
        'upload_not_ready',
        'upload_failed',
        'upload_quota_exceeded',
        'rate_limit_exceeded',
        'payload_too_large',
        'unsupported_media_type',
        'range_not_satisfiable',
        'link_expired',
        'link_invalid',
        'internal_error',
        'service_unavailable'
    ]),
    message: z.string().check(characters({ min: 1 })),
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
 * Id of the job. An id that is unknown to the account in the key's mode returns 404.
 */
export const zJobId2 = zJobId;

/**
 * Id of the job or preview. An id that is unknown to the account in the key's mode returns 404.
 */
export const zJobOrPreviewId2 = zJobOrPreviewId;

/**
 * Id of the preview. An id that is unknown to the account in the key's mode returns 404.
 */
export const zPreviewId2 = zPreviewId;

/**
 * Id of the webhook endpoint. An unknown id returns 404.
 */
export const zWebhookEndpointId2 = zWebhookEndpointId;

/**
 * Id of the upload. An id that is unknown to the account in the key's mode returns 404.
 */
export const zUploadId2 = zUploadId;

/**
 * Makes retries safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
 */
export const zIdempotencyKey = z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end');

export const zListJobsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zJobId.optional(),
    status: zJobStatus.optional(),
    created_after: zTime.optional(),
    created_before: zTime.optional(),
    metadata: z.string().check(characters({ max: 541 })).regex(/^[A-Za-z0-9_.-]{1,40}=[^\x00]*$/, 'must be a name of 1 to 40 letters, digits, "_", "." and "-", then "=" and a value without NUL characters, such as order=A-1001').optional()
});

/**
 * The video and how to enhance it. At most 64 KB.
 */
export const zCreateJobBody = zJobInput;

export const zCreateJobHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
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
    id: zJobOrPreviewId
});

export const zListPreviewsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zPreviewId.optional(),
    status: zJobStatus.optional()
});

/**
 * The video and the settings. At most 64 KB.
 */
export const zCreatePreviewBody = zPreviewInput;

export const zCreatePreviewHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zDeletePreviewPath = z.object({
    id: zPreviewId
});

export const zGetPreviewPath = z.object({
    id: zPreviewId
});

export const zListUploadsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zUploadId.optional()
});

/**
 * The name and size of the file. At most 64 KB.
 */
export const zCreateUploadBody = zUploadInput;

export const zCreateUploadHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zDeleteUploadPath = z.object({
    id: zUploadId
});

export const zGetUploadPath = z.object({
    id: zUploadId
});

/**
 * The checksum; an empty object if the creation had it. At most 64 KB.
 */
export const zCompleteUploadBody = zUploadCompletion;

export const zCompleteUploadPath = z.object({
    id: zUploadId
});

/**
 * The bytes of the part.
 */
export const zUploadPartBody = z.string();

export const zUploadPartPath = z.object({
    key: z.string().check(characters({ min: 1, max: 512 })).regex(/^[a-z0-9_\/.-]+$/)
});

export const zUploadPartQuery = z.object({
    upload: z.string().regex(/^[0-9a-f]{32}$/),
    number: z.string().regex(/^[1-9][0-9]{0,3}$/),
    size: z.string().regex(/^[1-9][0-9]{0,9}$/),
    expires: z.string().regex(/^[0-9]{1,12}$/),
    signature: z.string().regex(/^[0-9a-f]{64}$/)
});

/**
 * The fields to change. At most 64 KB.
 */
export const zUpdateAccountBody = zAccountUpdate;

export const zListLedgerQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.int().gte(1).lte(9007199254740991).optional()
});

export const zGetUsageQuery = z.object({
    interval: z.enum(['day', 'month']).optional().default('day'),
    from: zDay.optional(),
    to: zDay.optional()
});

/**
 * At most 64 KB.
 */
export const zCreateWebhookEndpointBody = zWebhookEndpointInput;

export const zDeleteWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

export const zGetWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

/**
 * At most 64 KB.
 */
export const zUpdateWebhookEndpointBody = zWebhookEndpointUpdate;

export const zUpdateWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

export const zRotateWebhookEndpointSecretPath = z.object({
    id: zWebhookEndpointId
});

export const zSwitchWebhookEndpointSecretPath = z.object({
    id: zWebhookEndpointId
});

/**
 * At most 64 KB.
 */
export const zTestWebhookEndpointBody = zWebhookEndpointTestInput;

export const zTestWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

export const zListRequestLogQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zLogId.optional(),
    key_id: zKeyId.optional(),
    request_id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, 'must have 1 to 128 letters, digits, ".", "_" and "-"').optional(),
    resource_id: z.string().regex(/^(job|prv|upl|hook)_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a job, preview, upload or webhook endpoint, such as job_01jdq4s9xkf5v8t2m6w0c3rhbz').optional(),
    status: z.string().regex(/^([1-5]xx|[1-5][0-9][0-9])$/, 'must be a status such as 404, or a class of statuses such as 4xx').optional()
});

export const zListAuditLogQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.int().gte(1).lte(999999999999).optional(),
    job_id: zJobOrPreviewId.optional()
});

export const zGetOpenApiJsonQuery = z.object({
    console: z.boolean().optional().default(true)
});

export const zDownloadFilePath = z.object({
    key: z.string().check(characters({ min: 1, max: 512 })).regex(/^[a-z0-9_\/.-]+$/)
});

export const zDownloadFileQuery = z.object({
    expires: z.string().regex(/^[0-9]{1,12}$/),
    name: z.string().check(characters({ min: 1, max: 200 })).regex(/^[^\x00-\x1f\x7f\/\\]+$/),
    type: z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/).optional(),
    signature: z.string().regex(/^[0-9a-f]{64}$/)
});

/**
 * At most 64 KB.
 */
export const zConsoleSignUpBody = zConsoleSignUpInput;

/**
 * At most 64 KB.
 */
export const zConsoleSignInBody = zConsoleCredentials;

/**
 * At most 64 KB.
 */
export const zConsoleChangePasswordBody = zConsolePasswordChange;

/**
 * At most 64 KB.
 */
export const zConsoleUsePasswordLinkBody = zConsolePasswordLinkInput;

/**
 * At most 64 KB.
 */
export const zConsoleBeginTwoFactorBody = zConsolePasswordProof;

/**
 * At most 64 KB.
 */
export const zConsoleConfirmTwoFactorBody = zConsoleCodeProof;

/**
 * At most 64 KB.
 */
export const zConsoleReplaceRecoveryCodesBody = zConsoleFullProof;

/**
 * At most 64 KB.
 */
export const zConsoleDisableTwoFactorBody = zConsoleFullProof;

export const zConsoleListSessionsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zConsoleSessionId.optional()
});

export const zConsoleEndSessionPath = z.object({
    id: zConsoleSessionId
});

/**
 * At most 64 KB.
 */
export const zConsoleUpdateAccountBody = zAccountUpdate;

export const zConsoleListPeopleQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zConsoleUserId.optional()
});

export const zConsoleRemovePersonPath = z.object({
    id: zConsoleUserId
});

/**
 * At most 64 KB.
 */
export const zConsoleChangeRoleBody = zConsoleRoleChange;

export const zConsoleChangeRolePath = z.object({
    id: zConsoleUserId
});

export const zConsoleListInvitationsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zConsoleInvitationId.optional()
});

/**
 * At most 64 KB.
 */
export const zConsoleInviteBody = zConsoleInvitationInput;

export const zConsoleRevokeInvitationPath = z.object({
    id: zConsoleInvitationId
});

/**
 * At most 64 KB.
 */
export const zConsoleGetInvitationBody = zConsoleInvitationToken;

/**
 * At most 64 KB.
 */
export const zConsoleAcceptInvitationBody = zConsoleInvitationAcceptance;

export const zConsoleListKeysQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zKeyId.optional()
});

/**
 * At most 64 KB.
 */
export const zConsoleCreateKeyBody = zConsoleKeyInput;

export const zConsoleRevokeKeyPath = z.object({
    id: zKeyId
});

/**
 * At most 64 KB.
 */
export const zConsoleRenameKeyBody = zConsoleKeyUpdate;

export const zConsoleRenameKeyPath = z.object({
    id: zKeyId
});

/**
 * At most 64 KB.
 */
export const zConsoleRotateKeyBody = zConsoleKeyRotationInput;

export const zConsoleRotateKeyPath = z.object({
    id: zKeyId
});

export const zConsoleListJobsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zJobId.optional(),
    mode: zMode.optional(),
    status: zJobStatus.optional(),
    q: z.string().check(characters({ min: 1, max: 100 })).regex(/^[^\x00]+$/, 'must not have a NUL character').optional()
});

/**
 * At most 64 KB.
 */
export const zConsoleCreateJobBody = zConsoleJobInput;

export const zConsoleCreateJobHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

/**
 * At most 64 KB.
 */
export const zConsoleCreateQuoteBody = zConsoleJobInput;

export const zConsoleDeleteJobPath = z.object({
    id: zJobId
});

export const zConsoleGetJobPath = z.object({
    id: zJobId
});

export const zConsoleGetJobLinksPath = z.object({
    id: zJobId
});

export const zConsoleListPreviewsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zPreviewId.optional()
});

/**
 * At most 64 KB.
 */
export const zConsoleCreatePreviewBody = zConsolePreviewInput;

export const zConsoleCreatePreviewHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zConsoleDeletePreviewPath = z.object({
    id: zPreviewId
});

export const zConsoleGetPreviewPath = z.object({
    id: zPreviewId
});

/**
 * At most 64 KB.
 */
export const zConsoleCreateUploadBody = zConsoleUploadInput;

export const zConsoleCreateUploadHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zConsoleDeleteUploadPath = z.object({
    id: zUploadId
});

export const zConsoleGetUploadPath = z.object({
    id: zUploadId
});

/**
 * At most 64 KB.
 */
export const zConsoleCompleteUploadBody = zUploadCompletion;

export const zConsoleCompleteUploadPath = z.object({
    id: zUploadId
});

export const zConsoleListDeliveriesQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zEventId.optional(),
    state: z.enum([
        'pending',
        'delivered',
        'dead',
        'stopped'
    ]).optional(),
    job_id: zJobOrPreviewId.optional()
});

export const zConsoleGetDeliveryPath = z.object({
    id: zEventId
});

export const zConsoleResendDeliveryPath = z.object({
    id: zEventId
});

/**
 * At most 64 KB.
 */
export const zConsoleTestWebhookBody = zConsoleWebhookTestInput;

/**
 * At most 64 KB.
 */
export const zConsoleCreateWebhookEndpointBody = zConsoleWebhookEndpointInput;

export const zConsoleDeleteWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

/**
 * At most 64 KB.
 */
export const zConsoleUpdateWebhookEndpointBody = zWebhookEndpointUpdate;

export const zConsoleUpdateWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

export const zConsoleRotateWebhookEndpointSecretPath = z.object({
    id: zWebhookEndpointId
});

export const zConsoleSwitchWebhookEndpointSecretPath = z.object({
    id: zWebhookEndpointId
});

/**
 * At most 64 KB.
 */
export const zConsoleTestWebhookEndpointBody = zWebhookEndpointTestInput;

export const zConsoleTestWebhookEndpointPath = z.object({
    id: zWebhookEndpointId
});

export const zConsoleListRequestLogQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zLogId.optional(),
    key_id: zKeyId.optional(),
    request_id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, 'must have 1 to 128 letters, digits, ".", "_" and "-"').optional(),
    resource_id: z.string().regex(/^(job|prv|upl|hook)_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a job, preview, upload or webhook endpoint, such as job_01jdq4s9xkf5v8t2m6w0c3rhbz').optional(),
    status: z.string().regex(/^([1-5]xx|[1-5][0-9][0-9])$/, 'must be a status such as 404, or a class of statuses such as 4xx').optional(),
    mode: zMode.optional()
});

export const zConsoleListLedgerQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.int().gte(1).lte(9007199254740991).optional()
});

export const zConsoleGetUsageQuery = z.object({
    days: z.int().gte(1).lte(90).optional().default(30)
});

export const zConsoleListAuditLogQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(50),
    starting_after: z.int().gte(1).lte(9007199254740991).optional(),
    job_id: zJobOrPreviewId.optional()
});

export const zConsoleListCertificatesQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.string().regex(/^cert_[0-9a-hjkmnp-tv-z]{26}$/, 'must be the id of a certificate, such as cert_01jdq4s9xkf5v8t2m6w0c3rhbz').optional(),
    job_id: zJobOrPreviewId.optional()
});

export const zOperatorGetHistoryQuery = z.object({
    period: z.enum(['day', 'week']).optional().default('day')
});

export const zOperatorListAccountsQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zAccountId.optional(),
    state: z.enum([
        'pending',
        'approved',
        'rejected'
    ]).optional(),
    q: z.string().check(characters({ min: 1, max: 254 })).regex(/^[^\x00]*$/, 'must not have a NUL character').optional()
});

/**
 * At most 64 KB.
 */
export const zOperatorDecideBody = zOperatorDecision;

export const zOperatorDecidePath = z.object({
    id: zAccountId
});

/**
 * At most 64 KB.
 */
export const zOperatorGrantBody = zOperatorGrant;

export const zOperatorGrantHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zOperatorGrantPath = z.object({
    id: zAccountId
});

/**
 * At most 64 KB.
 */
export const zOperatorWithdrawBody = zOperatorGrant;

export const zOperatorWithdrawHeaders = z.object({
    'Idempotency-Key': z.string().check(characters({ min: 1, max: 255 })).regex(/^[!-~]([ -~]*[!-~])?$/, 'must have only printable ASCII characters, and no space at its start or end').optional()
});

export const zOperatorWithdrawPath = z.object({
    id: zAccountId
});

/**
 * At most 64 KB.
 */
export const zOperatorSetPlanBody = zOperatorPlan;

export const zOperatorSetPlanPath = z.object({
    id: zAccountId
});

/**
 * At most 64 KB.
 */
export const zOperatorSetQuotasBody = zOperatorQuotaChanges;

export const zOperatorSetQuotasPath = z.object({
    id: zAccountId
});

/**
 * At most 64 KB.
 */
export const zOperatorCloseAccountBody = zOperatorClosure;

export const zOperatorCloseAccountPath = z.object({
    id: zAccountId
});

export const zOperatorRemovePersonPath = z.object({
    id: zConsoleUserId
});

/**
 * At most 64 KB.
 */
export const zOperatorChangeRoleBody = zConsoleRoleChange;

export const zOperatorChangeRolePath = z.object({
    id: zConsoleUserId
});

export const zOperatorCreatePasswordLinkPath = z.object({
    id: zConsoleUserId
});

export const zOperatorResetTwoFactorPath = z.object({
    id: zConsoleUserId
});

export const zOperatorListWorkersQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: z.string().check(characters({ min: 1, max: 100 })).regex(/^[A-Za-z0-9._-]+$/, 'must have only letters, digits, ".", "_" and "-"').optional()
});

export const zOperatorListFailuresQuery = z.object({
    limit: z.int().gte(1).lte(100).optional().default(20),
    starting_after: zJobOrPreviewId.optional()
});

export const zJobCompletedWebhookRequest = z.object({
    body: zJobCompletedEvent,
    path: z.never().optional(),
    query: z.never().optional(),
    headers: z.object({
        'X-Service-Signature': z.string().regex(/^[0-9a-f]{64}$/),
        'webhook-id': z.string().check(characters({ min: 1 })),
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
        'webhook-id': z.string().check(characters({ min: 1 })),
        'webhook-timestamp': z.string().regex(/^[0-9]{1,12}$/),
        'webhook-signature': z.string().regex(/^v1,[A-Za-z0-9+\/]+=*( v1,[A-Za-z0-9+\/]+=*)*$/)
    })
});

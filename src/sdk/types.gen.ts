// Generated from openapi.yaml by `npm run generate`; do not edit.

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

export type Webhooks = JobCompletedWebhookRequest | JobFailedWebhookRequest;

/**
 * Id of a job, assigned by the service. Ids sort by creation time.
 */
export type JobId = string;

/**
 * Id of a preview, assigned by the service. Ids sort by creation time.
 */
export type PreviewId = string;

/**
 * Id of a job (`job_…`) or of a preview (`prv_…`).
 */
export type JobOrPreviewId = string;

/**
 * `done` and `error` are final.
 */
export type JobStatus = 'queued' | 'running' | 'done' | 'error';

/**
 * Target resolution. `1080p` fits the video into 1920×1080, `4k` into 3840×2160. A portrait video is fitted into
 * the box turned by 90 degrees. The aspect ratio is kept and both sides are even; nothing is cropped or padded. A
 * source that is larger than the box is scaled down.
 *
 */
export type Resolution = '1080p' | '4k';

/**
 * Privacy is the same in both tiers. Secure adds signed deletion certificates, an audit log and a retention
 * setting.
 *
 */
export type Tier = 'standard' | 'secure';

/**
 * RFC 3339, UTC with milliseconds.
 */
export type Timestamp = string;

/**
 * RFC 3339, in UTC (`Z`) or with an offset. In a URL, the `+` of an offset is written `%2B`.
 */
export type Time = string;

/**
 * Id of an upload, assigned by the service. Ids sort by creation time.
 */
export type UploadId = string;

/**
 * Name of a file, without folders. The service keeps it to name downloads and never uses it as a path.
 *
 */
export type FileName = string;

export type UploadInput = {
    file_name: FileName;
    /**
     * Exact size of the file. `limits.max_file_size_bytes` of `GET /v1/account` says how large it may be (by default
     * 2,000,000,000 bytes); more returns `video_too_large`.
     *
     */
    size_bytes: number;
    /**
     * SHA-256 of the file, if it is known already. Otherwise the completion brings a checksum.
     */
    sha256?: Sha256;
};

/**
 * `waiting` for parts, `verifying` the file, `ready` for jobs, or `failed` because the file differs from its
 * checksum.
 *
 */
export type UploadStatus = 'waiting' | 'verifying' | 'ready' | 'failed';

export type Upload = {
    id: UploadId;
    status: UploadStatus;
    file_name: FileName;
    /**
     * Size of the file.
     */
    size_bytes: number;
    /**
     * SHA-256 of the file: measured by the service once the upload is `ready`; before that the
     * client's value, or null.
     *
     */
    sha256: Sha256 | null;
    /**
     * Whether the upload was created in test mode.
     */
    sandbox: boolean;
    /**
     * Bytes of every part but the last; more for very large files, which have at most 900 parts.
     */
    part_size_bytes: number;
    /**
     * Bytes of the parts that have arrived. Null in lists.
     */
    received_bytes: number | null;
    /**
     * The next missing parts of a waiting upload. Empty in lists, and for a `read_only` key, which may not send
     * any.
     *
     */
    parts: Array<UploadPart>;
    /**
     * Why the upload failed; null otherwise.
     */
    error: UploadError | null;
    created_at: Timestamp;
    /**
     * When the service deletes the file.
     */
    expires_at: Timestamp;
};

/**
 * A part that has not arrived. Send its bytes with `PUT` to `url`, without an API key.
 */
export type UploadPart = {
    /**
     * 1, 2, 3, …
     */
    number: number;
    /**
     * Position of the first byte in the file.
     */
    offset: number;
    size_bytes: number;
    /**
     * Signed URL. Use it unchanged.
     */
    url: string;
    /**
     * Seconds of validity of the URL.
     */
    expires_in: number;
};

export type UploadError = {
    /**
     * Machine-readable code. More may be added.
     */
    code: 'checksum_mismatch';
    /**
     * Human-readable text.
     */
    message: string;
    /**
     * Documentation of the error.
     */
    doc_url?: string;
};

export type UploadList = {
    /**
     * Newest first.
     */
    data: Array<Upload>;
    /**
     * Whether there are older uploads.
     */
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: UploadId | null;
};

export type UploadCompletion = {
    /**
     * SHA-256 of the file.
     */
    sha256?: Sha256;
    /**
     * SHA-256 of each part, in the order of their numbers.
     */
    part_sha256?: Array<Sha256>;
};

export type UploadDeletion = {
    id: UploadId;
    /**
     * Always `true`.
     */
    deleted: true;
    deleted_at: Timestamp;
};

export type ReceivedPart = {
    number: number;
    size_bytes: number;
};

/**
 * A public http(s) URL without user name or password. Its host is a domain name (an international one in either
 * spelling), an IPv4 address, or an IPv6 address in brackets. The URL is parsed by the WHATWG URL standard, and
 * the normalised host is checked. Private and local hosts return `url_not_allowed`. Test mode checks them too,
 * although it sends no request and resolves no name. A domain name that resolves to a private address is refused
 * when live mode connects.
 *
 */
export type PublicUrl = string;

/**
 * Id of a webhook endpoint, assigned by the service.
 */
export type WebhookEndpointId = string;

export type WebhookEvent = 'job.completed' | 'job.failed';

/**
 * The events to send. Repeated names count once.
 */
export type WebhookEvents = Array<WebhookEvent>;

/**
 * A note for people.
 */
export type WebhookEndpointDescription = string;

export type WebhookEndpointInput = {
    /**
     * Where events are sent. The URL is checked again at every attempt.
     */
    url: PublicUrl;
    /**
     * All events if it is omitted.
     */
    events?: WebhookEvents;
    description?: WebhookEndpointDescription;
};

export type WebhookEndpointUpdate = {
    url?: PublicUrl;
    events?: WebhookEvents;
    description?: WebhookEndpointDescription;
    enabled?: boolean;
};

/**
 * A URL of the account that gets the events of its jobs.
 */
export type WebhookEndpoint = {
    id: WebhookEndpointId;
    url: string;
    events: WebhookEvents;
    description: string;
    /**
     * Whether new events are sent.
     */
    enabled: boolean;
    /**
     * Whether it gets the events of test jobs; otherwise those of live jobs.
     */
    sandbox: boolean;
    created_at: Timestamp;
};

export type WebhookEndpointList = {
    /**
     * All endpoints, newest first. There are at most 10 in each mode.
     */
    data: Array<WebhookEndpoint>;
};

export type WebhookEndpointSecret = {
    endpoint: WebhookEndpoint;
    /**
     * The newest secret: `whsec_` and base64. It is not shown again.
     */
    secret: string;
    service_signature: {
        /**
         * When `X-Service-Signature` switches to this secret by itself; null if this secret signs it already.
         *
         */
        switches_at: Timestamp | null;
    };
};

export type WebhookEndpointDeletion = {
    id: WebhookEndpointId;
    /**
     * Always `true`.
     */
    deleted: true;
};

export type WebhookEndpointTestInput = {
    event: WebhookEvent;
};

export type WebhookEndpointTestResult = {
    /**
     * `webhook-id` of the event. The console shows the delivery with its attempts.
     */
    delivery_id: EventId;
};

export type LedgerEntry = {
    /**
     * Number of the transfer.
     */
    id: number;
    kind: 'grant' | 'withdrawal' | 'charge' | 'refund';
    /**
     * Credits. Charges are negative.
     */
    amount: number;
    /**
     * Balance after the transfer.
     */
    balance: number;
    job_id: JobOrPreviewId | null;
    /**
     * The operator's note on the transfer.
     */
    note: string;
    at: Timestamp;
};

export type Ledger = {
    /**
     * Newest first.
     */
    data: Array<LedgerEntry>;
    /**
     * Whether there are more items.
     */
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: number | null;
};

/**
 * A day, UTC.
 */
export type Day = string;

export type Usage = {
    /**
     * Oldest first. One item per period, including those without jobs.
     */
    data: Array<UsagePeriod>;
};

export type UsagePeriod = {
    /**
     * The day (`2026-11-21`) or month (`2026-11`), UTC. If `from` or `to` is inside a month, the sums of that month cover only those days.
     */
    period: string;
    /**
     * Number of charged jobs and previews.
     */
    jobs: number;
    /**
     * Billed seconds of these jobs.
     */
    seconds: number;
    /**
     * Credits charged.
     */
    credits: number;
    /**
     * Credits refunded in this period.
     */
    refunded: number;
};

/**
 * `auto` lets the service choose from the video. `off` turns the stage off. A number from 0 to 1 sets the
 * strength.
 *
 */
export type Strength = 'auto' | 'off' | number;

/**
 * The strength of each stage. Omitted stages are `auto`.
 */
export type EnhancementsInput = {
    denoise?: Strength;
    sharpen?: Strength;
    face_restoration?: Strength;
    adaptive_contrast?: Strength;
};

/**
 * The encoder keeps one quality, and the bitrate follows the picture. A number is the constant rate factor (CRF) of
 * x264, the encoder on CPUs; on a GPU, NVENC gets it as its constant quality (`cq`). Lower means better and
 * larger: six less make the file about twice as large. Usual values are 14 to 28. `standard`, the default,
 * is the operator's setting, 16 unless changed: hard to distinguish from the frames before encoding.
 * `high` is 4 less, for videos that are edited or encoded again.
 *
 */
export type OutputQuality = 'standard' | 'high' | number;

/**
 * How the result is encoded. `POST /v1/quotes` predicts its size.
 */
export type OutputInput = {
    quality?: OutputQuality;
    /**
     * The highest bitrate of the video stream, in bits per second. It is held with a buffer of half a
     * second: a single second may exceed it by half, the whole video by half a second's worth (each of
     * its parts, if several workers made it). Pictures that would need more lose quality; all others
     * keep the quality that `quality` sets. Sound is not counted. Common values are 8,000,000 to
     * 16,000,000 at 1080p and 35,000,000 to 60,000,000 at 4K. A limit far below these may be exceeded,
     * because the coarsest picture still has some size.
     *
     */
    max_bitrate?: number;
    /**
     * Also makes a poster of the result: the most detailed of a few frames, as JPEG of at most 1280 × 1280
     * pixels. Not in test mode.
     *
     */
    poster?: boolean;
    /**
     * Also makes this many thumbnails of the result, evenly spaced over its duration, as JPEG of at most 320 × 320
     * pixels. Not in test mode.
     *
     */
    thumbnails?: number;
};

/**
 * Your own key-value pairs, returned with the job. At most 20. Names have 1 to 40 letters, digits, `_`, `.` and
 * `-`, and are not `__proto__`.
 *
 */
export type MetadataInput = {
    [key: string]: string;
};

/**
 * A video, given by exactly one of `video_url` and `upload_id`, and how to enhance it.
 */
export type JobInput = {
    video_url?: PublicUrl;
    /**
     * An upload that is `ready`. It can be used for several jobs until it expires.
     */
    upload_id?: UploadId;
    resolution: Resolution;
    /**
     * A hint, in seconds. Live mode measures and bills the real duration. Test mode uses the hint as the duration
     * of the job, rounded up and at most the longest allowed one, or 10 if it is omitted.
     *
     */
    duration_seconds?: number;
    /**
     * The service sends a signed event to this URL when the job ends.
     */
    webhook_url?: PublicUrl;
    /**
     * Creates the job in the Secure tier. Needs a key of that tier.
     */
    secure?: boolean;
    /**
     * The most that the job may cost. A job that costs more is refused with 402 `max_credits_exceeded` before anything
     * is stored or charged. Quotes ignore it. In test mode, which charges nothing, it is compared with what the
     * duration of the test job would cost in live mode.
     *
     */
    max_credits?: number;
    enhancements?: EnhancementsInput;
    output?: OutputInput;
    /**
     * `auto` lets the service choose, `none` uses filters only. Any other value names an installed model; see
     * `GET /v1/models`.
     *
     */
    model?: string;
    metadata?: MetadataInput;
};

export type Job = {
    id: JobId;
    status: JobStatus;
    resolution: Resolution;
    /**
     * Measured duration of the video in seconds, rounded up. This is the billed duration.
     */
    duration_seconds: number;
    /**
     * Credits charged when the job was accepted; 0 in test mode. One credit is one US cent.
     */
    credits_charged: number;
    /**
     * Credits refunded since.
     */
    credits_refunded: number;
    /**
     * Whether the job was created in test mode.
     */
    sandbox: boolean;
    tier: Tier;
    /**
     * Completed part of the work, from 0 to 1. Decreases only if parts of the result are lost and made again.
     */
    progress: number;
    /**
     * Estimated seconds until the job ends; null while unknown.
     */
    eta_seconds: number | null;
    created_at: Timestamp;
    /**
     * When processing started.
     */
    started_at: Timestamp | null;
    /**
     * When the job became `done` or `error`.
     */
    finished_at: Timestamp | null;
    /**
     * When the service deletes the job's files; by default 30 days after creation.
     */
    expires_at: Timestamp;
    /**
     * The measured properties of the video; null in test mode.
     */
    source: Source | null;
    /**
     * The enhanced video; null until the job is done.
     */
    output: Output | null;
    /**
     * Why the job ended in `error`; null otherwise.
     */
    error: JobError | null;
    /**
     * The enhancements that were applied; null until the job is done.
     */
    enhancements: AppliedEnhancements | null;
    metadata: Metadata;
    requested: RequestedSettings;
    /**
     * The upload that the job was created from; null for a job with a `video_url`.
     */
    upload_id: UploadId | null;
    /**
     * Name of the uploaded file; the download is named after it. Null for a job with a `video_url`.
     */
    file_name: FileName | null;
    /**
     * The earliest segment that is already enhanced, to look at before the job ends; null while there is none. Only in the
     * response of Get a job, while the job runs. A video that is enhanced in one piece has none.
     *
     */
    partial_output?: PartialOutput | null;
    /**
     * The parts of the video that are enhanced on their own, in order; empty when it is enhanced in one piece. Only in the
     * response of Get a job, while the job runs.
     *
     */
    segments?: Array<JobSegment>;
};

/**
 * The settings of the request, as it sent them: fields that it omitted are omitted here. With `resolution`, `metadata`,
 * the video, `webhook_url` and, for a job of the Secure tier, `secure`, they are the body of the same job. The request's
 * URLs are not returned, because they may grant access.
 *
 */
export type RequestedSettings = {
    /**
     * The model, or `auto` or `none`. The `enhancements` of a done job name the model that was applied.
     */
    model?: string;
    enhancements?: EnhancementsInput;
    output?: OutputInput;
};

export type PartialOutput = {
    /**
     * Signed URL of an MP4 with the pictures of the segment, without sound. It stops working when the job ends. The audit
     * log records it as an access to the result, once an hour for each segment and key.
     *
     */
    url: string;
    /**
     * Validity of the URL in seconds.
     */
    expires_in: number;
    /**
     * Where the segment begins in the video.
     */
    start_seconds: number;
    end_seconds: number;
};

export type JobSegment = {
    /**
     * Where the segment begins in the video.
     */
    start_seconds: number;
    end_seconds: number;
    status: 'waiting' | 'running' | 'done';
    /**
     * Completed part of the segment.
     */
    progress: number;
};

/**
 * One way to enhance the video. The fields are those of a job's body.
 */
export type PreviewSetting = {
    resolution: Resolution;
    /**
     * As in the body of a job.
     */
    model?: string;
    enhancements?: EnhancementsInput;
    /**
     * As in the body of a job. A preview has no poster and no thumbnails; a job with this setting has.
     */
    output?: OutputInput;
};

/**
 * A video, given by exactly one of `video_url` and `upload_id`, and the settings to compare.
 */
export type PreviewInput = {
    video_url?: PublicUrl;
    /**
     * An upload that is `ready`. A job can use it afterwards.
     */
    upload_id?: UploadId;
    /**
     * One to three settings, compared side by side.
     */
    settings: Array<PreviewSetting>;
    /**
     * Creates the preview in the Secure tier. Needs a key of that tier.
     */
    secure?: boolean;
    /**
     * The most that the preview may cost. One that costs more is refused with 402 `max_credits_exceeded` before
     * anything is stored or charged. In test mode, which charges nothing, it is compared with what the preview would
     * cost in live mode.
     *
     */
    max_credits?: number;
};

export type Preview = {
    id: PreviewId;
    status: JobStatus;
    /**
     * Billed seconds, the stretches of all settings together.
     */
    processed_seconds: number;
    /**
     * Credits charged when the preview was accepted; 0 in test mode. One credit is one US cent.
     */
    credits_charged: number;
    /**
     * Credits refunded since.
     */
    credits_refunded: number;
    /**
     * Whether the preview was created in test mode. Its clips are then the service's sample.
     */
    sandbox: boolean;
    tier: Tier;
    /**
     * Completed part of the work, from 0 to 1. Never decreases.
     */
    progress: number;
    /**
     * Estimated seconds until the preview ends; null while unknown.
     */
    eta_seconds: number | null;
    created_at: Timestamp;
    /**
     * When processing started.
     */
    started_at: Timestamp | null;
    /**
     * When the preview became `done` or `error`.
     */
    finished_at: Timestamp | null;
    /**
     * When the service deletes the preview's files; by default 30 days after creation.
     */
    expires_at: Timestamp;
    /**
     * The measured properties of the video; null in test mode.
     */
    source: Source | null;
    /**
     * The upload that the preview was created from; null for one with a `video_url`.
     */
    upload_id: UploadId | null;
    /**
     * Name of the uploaded file; null for a preview with a `video_url`.
     */
    file_name: FileName | null;
    /**
     * The settings of the request. Each can be used in the body of a job.
     */
    settings: Array<PreviewSetting>;
    /**
     * In order of time; null until the preview is done, in lists, and in the response of Create a preview.
     */
    stretches: Array<PreviewStretch> | null;
    /**
     * Seconds until the links expire; null until there are any. Get the preview again for fresh ones.
     */
    links_expire_in: number | null;
    /**
     * Why the preview ended in `error`; null otherwise.
     */
    error: JobError | null;
};

export type PreviewStretch = {
    /**
     * Its first frame, in seconds from the first frame of the video.
     */
    start: number;
    /**
     * Seconds.
     */
    duration: number;
    /**
     * Why it was chosen: `face` (the most faces per frame), `hardest_to_encode` (the most bytes at one quality),
     * `most_damaged` (the strongest planned restoration), or `evenly_spaced` (none of these). More may be added.
     *
     */
    reason: 'face' | 'hardest_to_encode' | 'most_damaged' | 'evenly_spaced';
    /**
     * The untouched stretch, encoded almost without loss so that browsers play it.
     */
    original: PreviewClip;
    /**
     * One for each of `settings`, in their order.
     */
    results: Array<PreviewClip>;
};

/**
 * An MP4 (H.264) without sound.
 */
export type PreviewClip = {
    /**
     * Signed URL of the clip.
     */
    url: string;
    width: number;
    height: number;
    size_bytes: number;
};

export type PreviewList = {
    /**
     * Newest first, without links.
     */
    data: Array<Preview>;
    /**
     * Whether there are older previews.
     */
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: PreviewId | null;
};

export type PreviewDeletion = {
    id: PreviewId;
    /**
     * Always `true`.
     */
    deleted: true;
    deleted_at: Timestamp;
    /**
     * Credits refunded by this call.
     */
    refunded_credits: number;
    /**
     * As in the deletion of a job; `GET /v1/jobs/{id}/deletion-certificate` takes the preview's id too.
     */
    certificate: CompactJws | null;
};

/**
 * Your own key-value pairs.
 */
export type Metadata = {
    [key: string]: string;
};

export type Source = {
    /**
     * Container format as FFmpeg names its demuxer, such as `mov,mp4,m4a,3gp,3g2,mj2` or `matroska,webm`.
     *
     */
    container: string;
    video_codec: string;
    /**
     * null if the video has no audio.
     */
    audio_codec: string | null;
    /**
     * Display width in square pixels, after rotation.
     */
    width: number;
    height: number;
    /**
     * Average frame rate in frames per second; 0 if unknown.
     */
    frame_rate: number;
    /**
     * Presentation duration of the video stream in seconds, not rounded.
     */
    duration: number;
    size_bytes: number;
};

export type Output = {
    width: number;
    height: number;
    size_bytes: number;
    /**
     * SHA-256 of the file, in lower-case hex.
     */
    sha256: string;
    /**
     * The CRF that the video was encoded with; see `OutputQuality`. Absent in test mode.
     *
     */
    quality?: number;
    /**
     * The limit of the video's bitrate in bits per second; null without one. Absent if `quality` is.
     */
    max_bitrate?: number | null;
};

export type JobError = {
    /**
     * Machine-readable code. More may be added.
     */
    code: 'source_changed' | 'processing_failed' | 'processing_timeout' | 'unreadable_video' | 'video_too_long' | 'video_too_large' | 'video_unreachable' | 'url_not_allowed';
    /**
     * Human-readable text.
     */
    message: string;
    /**
     * Documentation of the error.
     */
    doc_url?: string;
};

/**
 * From 0 (not applied) to 1.
 */
export type AppliedStrength = number;

export type AppliedEnhancements = {
    denoise: AppliedStrength;
    sharpen: AppliedStrength;
    face_restoration: AppliedStrength;
    adaptive_contrast: AppliedStrength;
    /**
     * The model that was used, or `none`.
     */
    model: string;
    /**
     * The device that processed the job: `cpu`, or `cuda:N` with the GPU's name.
     */
    device: string;
    /**
     * The plan that was made before the first frame, stage by stage. An applied strength can be lower than the
     * planned one: `face_restoration` is 0 if no face was found.
     *
     */
    plan: Array<PlannedStage>;
    /**
     * The damage of the source, in words: compression, an earlier enlargement, blur, noise, flat
     * levels; `clean` if there is none. Estimated from a few of its pictures. Absent if they showed too
     * little.
     *
     */
    condition?: string;
};

export type PlannedStage = {
    /**
     * `denoise`, `model`, `face_restoration`, `sharpen` or `adaptive_contrast`. More may be added.
     */
    stage: string;
    strength: AppliedStrength;
    /**
     * The measurements behind the decision, as text.
     */
    reason: string;
};

export type JobList = {
    /**
     * Newest first.
     */
    data: Array<Job>;
    /**
     * Whether there are older jobs.
     */
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: JobId | null;
};

export type JobDeletion = {
    id: JobId;
    /**
     * Always `true`.
     */
    deleted: true;
    deleted_at: Timestamp;
    /**
     * Credits refunded by this call.
     */
    refunded_credits: number;
    /**
     * Signed proof of the deletion of a Secure job. Null for Standard jobs, with a Standard key, and if the storage has
     * not confirmed the deletion within a few seconds; get it from `GET /v1/jobs/{id}/deletion-certificate` then.
     *
     */
    certificate: CompactJws | null;
};

export type JobResult = {
    /**
     * Signed URL of the enhanced video.
     */
    download_url: string;
    /**
     * Seconds until the links expire.
     */
    expires_in: number;
    /**
     * The poster, if the job requested one.
     */
    poster: Picture | null;
    /**
     * In order of time; as many as the job requested.
     */
    thumbnails: Array<Picture>;
    retention: RetentionReminder;
};

/**
 * A still picture of the result, as JPEG.
 */
export type Picture = {
    /**
     * Signed URL of the picture.
     */
    url: string;
    /**
     * Its position in the video, in seconds from the first frame.
     */
    time: number;
    width: number;
    height: number;
    size_bytes: number;
};

export type RetentionReminder = {
    auto_delete_at: Timestamp;
    /**
     * The call that deletes the job now.
     */
    delete_now: string;
    /**
     * Human-readable advice to delete the job after the download.
     */
    reminder: string;
};

/**
 * One server-sent event.
 */
export type JobEvent = {
    event: 'status' | 'progress' | 'deleted';
    /**
     * The job, or `{"id", "deleted"}` for a deleted one, as JSON.
     */
    data: string;
};

export type DeletedJob = {
    id: JobId;
    /**
     * Always `true`.
     */
    deleted: true;
};

/**
 * The price and duration of a job with the same body.
 */
export type Quote = {
    /**
     * Measured duration of the video in seconds, rounded up. A job would be billed for it.
     */
    duration_seconds: number;
    /**
     * Credits that a job would cost; 0 in test mode. One credit is one US cent.
     */
    credits: number;
    resolution: Resolution;
    tier: Tier;
    /**
     * Whether the key is a test key.
     */
    sandbox: boolean;
    /**
     * Estimated seconds of processing, without the time in the queue: the likeliest figure. `estimated_time` has the
     * range.
     *
     */
    estimated_seconds: number;
    estimated_time: TimeEstimate;
    /**
     * The predicted size of the result; null in test mode, whose results are samples.
     */
    estimated_size: SizeEstimate | null;
    /**
     * The measured properties of the video; null in test mode.
     */
    source: Source | null;
};

/**
 * Seconds of processing, without the time in the queue. About eight of ten jobs are within the range:
 * machines differ, and videos need more or less restoration.
 *
 */
export type TimeEstimate = {
    min_seconds: number;
    max_seconds: number;
    /**
     * Where the range comes from. `recent_jobs`: the latest jobs of this installation, converted to this video's
     * frames and size. `typical_rate`: a machine with two cores, because there are no such jobs. `test_mode`: the
     * fixed time of a test job. More may be added.
     *
     */
    basis: 'recent_jobs' | 'typical_rate' | 'test_mode';
};

/**
 * A range, since the size follows the picture: grain, noise and motion make a result many times as large as a still
 * and clean picture.
 *
 */
export type SizeEstimate = {
    min_bytes: number;
    max_bytes: number;
    /**
     * Where the range comes from. `account_jobs`: the results of the account's latest jobs, converted to this video's
     * size, frame rate and quality. `source_bitrate`: the bitrate of the video itself, because there are fewer than
     * five such jobs. About eight of ten results are within the range. Still pictures and screen
     * recordings are smaller, grainy videos larger. More may be added.
     *
     */
    basis: 'account_jobs' | 'source_bitrate';
};

export type AccountUpdate = {
    /**
     * Days that the service keeps the files of a new job with `secure: true`. Files of other jobs are kept for 30
     * days, unless the operator has set another number.
     *
     */
    retention_days: number;
};

/**
 * JSON Web Signature in the compact form.
 */
export type CompactJws = string;

/**
 * SHA-256 in lower-case hex.
 */
export type Sha256 = string;

export type DeletionCertificate = {
    /**
     * The proof. Verify its signature with the keys at `/.well-known/jwks.json`.
     */
    certificate: CompactJws;
    payload: CertificatePayload;
};

/**
 * The decoded content of the certificate. Trust it only after you have verified `certificate`.
 */
export type CertificatePayload = {
    id: string;
    /**
     * Version of this format.
     */
    version: 1;
    job_id: JobOrPreviewId;
    account_id: string;
    /**
     * All objects that were ever stored for the job, with the upload that it was created from. Empty for a test
     * job without an upload, which stores nothing: its result is a sample that all test jobs share.
     *
     */
    objects: Array<DestroyedObject>;
    /**
     * How the object was deleted. Makes no statement about the medium below the storage, or about backups.
     *
     */
    method: 'logical deletion, verified absent';
    storage: 'filesystem' | 's3';
    /**
     * Who caused the deletion: a call of the customer, the end of the retention, or the operator who closed the
     * account.
     *
     */
    actor: 'customer' | 'retention' | 'operator';
    deleted_at: Timestamp;
    issued_at: Timestamp;
    audit: AuditPosition;
};

export type DestroyedObject = {
    /**
     * Opaque storage key.
     */
    key: string;
    role: 'original' | 'output' | 'segment' | 'upload' | 'poster' | 'thumbnail' | 'clip';
    /**
     * Version id of an S3 object; null if the storage keeps no versions.
     */
    version: string | null;
    /**
     * SHA-256 of the stored bytes; null if the upload never finished.
     */
    sha256: Sha256 | null;
    size_bytes: number | null;
    /**
     * When the storage confirmed that the object does not exist.
     */
    verified_absent_at: Timestamp;
};

/**
 * Position of the deletion in the account's audit log.
 */
export type AuditPosition = {
    sequence: number;
    hash: Sha256;
};

/**
 * `hash` is the SHA-256 of the canonical JSON (RFC 8785) of all other fields.
 */
export type AuditEntry = {
    account_id: string;
    /**
     * 1, 2, 3, … without gaps, per account.
     */
    sequence: number;
    id: string;
    /**
     * The event, such as `job.created`, `job.completed`, `job.failed`, `result.accessed`, `source.accessed`, `job.deleted`,
     * `preview.created`, `preview.completed`, `preview.failed`, `preview.deleted`,
     * `upload.created`, `upload.ready`, `upload.deleted`, `upload.destroyed` (the storage has confirmed that the file
     * is absent), `retention.changed`. More may be added. One `result.accessed` covers every link to the result that the
     * same key or user got for the job within the following hour. `source.accessed` is the same for the source, which only the
     * console shows.
     *
     */
    kind: string;
    /**
     * The job or preview that the entry is about; null if it is about the account.
     */
    job_id: JobOrPreviewId | null;
    at: Timestamp;
    /**
     * Details, depending on `kind`.
     */
    data: {
        [key: string]: unknown;
    };
    /**
     * Hash of the previous entry; 64 zeros in the first entry.
     */
    previous_hash: Sha256;
    hash: Sha256;
};

export type AuditLog = {
    /**
     * Newest first.
     */
    data: Array<AuditEntry>;
    /**
     * Whether there are older entries.
     */
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: number | null;
    /**
     * Signed `{account_id, size, hash, signed_at}` of the whole log: the number of entries and the hash of the
     * newest one. An empty log has 0 entries and 64 zeros.
     *
     */
    head: CompactJws;
};

export type Jwks = {
    keys: Array<Jwk>;
};

export type Jwk = {
    kty: 'OKP';
    crv: 'Ed25519';
    /**
     * The public key, base64url.
     */
    x: string;
    /**
     * Thumbprint of the key (RFC 7638).
     */
    kid: string;
    alg: 'EdDSA';
    use: 'sig';
};

/**
 * The event has exactly these fields.
 */
export type JobCompletedEvent = {
    event: 'job.completed';
    job_id: JobId;
    status: 'done';
};

/**
 * The event has exactly these fields.
 */
export type JobFailedEvent = {
    event: 'job.failed';
    job_id: JobId;
    status: 'error';
};

export type Account = {
    id: string;
    plan: string;
    tier: Tier;
    /**
     * Balance of the key's mode. One credit is one US cent. Test credits are never spent.
     */
    credits: number;
    /**
     * Whether the key is a test key.
     */
    sandbox: boolean;
    /**
     * Live keys work if it is `approved`.
     */
    approval_status: 'pending' | 'approved' | 'rejected';
    /**
     * Days that the service keeps the files of a new job: with a Standard key 30, unless the operator has set another number. With a Secure key, the account's
     * setting, which applies to jobs with `secure: true`.
     *
     */
    retention_days: number;
    pricing: Pricing;
    limits: Limits;
    key: AccountKey;
};

/**
 * The key of the request.
 */
export type AccountKey = {
    id: KeyId;
    /**
     * Empty if the key has none.
     */
    name: string;
    access: KeyAccess;
    /**
     * The last use that was recorded before this request; uses are recorded at most once a minute.
     */
    last_used_at: Timestamp | null;
};

/**
 * `full`: everything. `read_only`: every `GET`, and nothing else. `create_only`: creating jobs, quotes, previews and
 * uploads, getting and completing an upload, and nothing else.
 *
 */
export type KeyAccess = 'full' | 'read_only' | 'create_only';

/**
 * Id of an entry of the request log.
 */
export type LogId = string;

/**
 * One request and its outcome.
 */
export type RequestLogEntry = {
    id: LogId;
    /**
     * `X-Request-Id` of the response.
     */
    request_id: string;
    at: Timestamp;
    key_id: KeyId;
    /**
     * Whether the key is a test key.
     */
    sandbox: boolean;
    method: string;
    /**
     * The path as this document writes it, such as `/v1/jobs/{id}`.
     */
    path: string;
    /**
     * The job, preview, upload or webhook endpoint that the request named or created.
     */
    resource_id: string | null;
    status: number;
    /**
     * Milliseconds until the response began.
     */
    duration_ms: number;
    /**
     * The error of the response, without URLs; null for a success.
     */
    error: {
        code: string;
        message: string;
        param: string | null;
    } | null;
    /**
     * The JSON body without secrets; null if there was none, or one of more than 8 KB.
     */
    request_body: {
        [key: string]: unknown;
    } | null;
};

export type RequestLogPage = {
    /**
     * Newest first.
     */
    data: Array<RequestLogEntry>;
    has_more: boolean;
    /**
     * Pass this as `starting_after` to get the next page; null on the last page.
     */
    next_cursor: LogId | null;
};

/**
 * Prices of processed video for the key's tier, billed per second to the cent.
 */
export type Pricing = {
    currency: 'USD';
    per_minute: PriceByResolution;
    per_second: PriceByResolution;
    /**
     * Prices of each tier that the key can use. A Secure key pays `secure` prices for jobs with `secure: true`,
     * and `standard` prices for others.
     *
     */
    tiers?: {
        standard: TierPrices;
        secure?: TierPrices;
    };
};

export type ModelList = {
    /**
     * By name. `auto` and `none` are not listed.
     */
    data: Array<Model>;
};

/**
 * A network that jobs can run.
 */
export type Model = {
    /**
     * The value of `model` in a job.
     */
    name: string;
    title: string;
    /**
     * What it is for; null if the operator has not stated it.
     */
    description: string | null;
    /**
     * Factors of the enlargement of each side, largest first; 1 restores at the same size. The service resizes from
     * there to the target.
     *
     */
    scales: Array<number>;
    /**
     * Its time for a frame on a CPU, as a multiple of the time of `fast`; null if it was not measured.
     */
    relative_cost: number | null;
    /**
     * SPDX identifier; null if the operator has not stated it.
     */
    license: string | null;
};

export type TierPrices = {
    per_minute: PriceByResolution;
    per_second: PriceByResolution;
};

/**
 * US dollars, by target resolution.
 */
export type PriceByResolution = {
    '1080p': number;
    '4k': number;
};

export type Limits = {
    max_duration_seconds: number;
    max_file_size_bytes: number;
    resolutions: Array<Resolution>;
    link_validity_seconds: number;
    /**
     * Allowed values of `model`: `auto`, `none` and the installed models.
     */
    models: Array<string>;
    /**
     * Limit of the bytes of all files of the account's uploads, in the mode of the key.
     */
    upload_quota_bytes: number;
    /**
     * Live jobs and previews that the account can create per day. null if there is no limit.
     */
    jobs_per_day: number | null;
    /**
     * Videos and segments of the account that are enhanced at a time; the others wait. null if there is no limit.
     */
    parallel_enhancements: number | null;
    /**
     * Calls of each class that one key can make per minute. All keys of the account together can make five times as many.
     */
    calls_per_minute: {
        create: number;
        read: number;
        other: number;
    };
};

export type KeyId = string;

export type EventId = string;

export type Health = {
    status: 'ok';
};

export type OpenApiDocument = {
    openapi: string;
    info: {
        [key: string]: unknown;
    };
    paths: {
        [key: string]: unknown;
    };
    [key: string]: unknown;
};

/**
 * Envelope of every error response.
 */
export type Error = {
    error: ErrorDetail;
};

export type ErrorDetail = {
    /**
     * Machine-readable code. More may be added.
     */
    code: 'invalid_request' | 'invalid_json' | 'unreadable_video' | 'video_too_long' | 'video_too_large' | 'video_unreachable' | 'url_not_allowed' | 'insufficient_credits' | 'max_credits_exceeded' | 'missing_api_key' | 'invalid_api_key' | 'missing_session' | 'invalid_session' | 'invalid_credentials' | 'csrf_token_invalid' | 'cross_site_request' | 'operator_required' | 'operator_protected' | 'admin_required' | 'sign_up_closed' | 'wrong_password' | 'one_time_link_invalid' | 'second_factor_required' | 'wrong_code' | 'two_factor_enabled' | 'two_factor_not_enabled' | 'last_admin' | 'people_limit_reached' | 'key_not_active' | 'key_limit_reached' | 'delivery_not_resendable' | 'webhook_endpoint_not_found' | 'webhook_endpoint_limit_reached' | 'account_pending_approval' | 'secure_tier_required' | 'key_access_denied' | 'job_not_found' | 'preview_not_found' | 'upload_not_found' | 'not_found' | 'method_not_allowed' | 'job_not_done' | 'job_failed' | 'job_not_deleted' | 'certificate_pending' | 'idempotency_key_reused' | 'upload_incomplete' | 'upload_not_ready' | 'upload_failed' | 'upload_quota_exceeded' | 'rate_limit_exceeded' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'link_expired' | 'link_invalid' | 'internal_error' | 'service_unavailable';
    /**
     * Human-readable text.
     */
    message: string;
    /**
     * Category, by status.
     */
    type: 'validation_error' | 'authentication_error' | 'billing_error' | 'permission_error' | 'not_found_error' | 'method_not_allowed_error' | 'conflict_error' | 'rate_limit_error' | 'api_error';
    /**
     * JSON Pointer of the invalid field of the body, or `/name` of the invalid parameter or header.
     */
    param?: string;
    /**
     * The same as the header `X-Request-Id`.
     */
    request_id?: string;
    /**
     * Documentation of the error.
     */
    doc_url?: string;
};

/**
 * Id of the job. An id that is unknown to the account in the key's mode returns 404.
 */
export type JobId2 = JobId;

/**
 * Id of the job or preview. An id that is unknown to the account in the key's mode returns 404.
 */
export type JobOrPreviewId2 = JobOrPreviewId;

/**
 * Id of the preview. An id that is unknown to the account in the key's mode returns 404.
 */
export type PreviewId2 = PreviewId;

/**
 * Id of the webhook endpoint. An unknown id returns 404.
 */
export type WebhookEndpointId2 = WebhookEndpointId;

/**
 * Id of the upload. An id that is unknown to the account in the key's mode returns 404.
 */
export type UploadId2 = UploadId;

/**
 * Makes retries safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
 */
export type IdempotencyKey = string;

export type ListJobsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of jobs per page.
         */
        limit?: number;
        /**
         * Id of the last job of the previous page.
         */
        starting_after?: JobId;
        /**
         * Only jobs with this status.
         */
        status?: JobStatus;
        /**
         * Only jobs that were created at this time or later.
         */
        created_after?: Time;
        /**
         * Only jobs that were created before this time.
         */
        created_before?: Time;
        /**
         * Only jobs with this pair in their metadata, written `name=value`.
         */
        metadata?: string;
    };
    url: '/v1/jobs';
};

export type ListJobsErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListJobsError = ListJobsErrors[keyof ListJobsErrors];

export type ListJobsResponses = {
    /**
     * One page of jobs.
     */
    200: JobList;
};

export type ListJobsResponse = ListJobsResponses[keyof ListJobsResponses];

export type CreateJobData = {
    /**
     * The video and how to enhance it. At most 64 KB.
     */
    body: JobInput;
    headers?: {
        /**
         * Makes retries safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/jobs';
};

export type CreateJobErrors = {
    /**
     * The request or the video was refused, and nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, invalid or unknown
     * field, which `param` names; or a body that did not arrive within 30 s), `url_not_allowed` (the URL is malformed,
     * private or blocked; the message says why), `video_unreachable`, `unreadable_video` (the file has no decodable
     * video, is encrypted, has too large frames, or has more than 250 frames per billed second), `video_too_long` (over 600 s),
     * `video_too_large` (over 2,000,000,000 bytes). An installation may have other limits; `limits` of
     * `GET /v1/account` has them.
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The job costs more than the balance or the request allows. Codes: `insufficient_credits` (the balance does not
     * cover it), `max_credits_exceeded` (it costs more than `max_credits`).
     *
     */
    402: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not
     * approved), `secure_tier_required` (`secure` is true but the key belongs to the Standard tier),
     * `key_access_denied` (a restricted key that may only read).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * The `Idempotency-Key` was used with another request body or for what was deleted since, or the upload cannot be used.
     * Codes: `idempotency_key_reused`, `upload_not_ready` (it waits for parts or is being verified),
     * `upload_failed` (the file differs from its checksum).
     *
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CreateJobError = CreateJobErrors[keyof CreateJobErrors];

export type CreateJobResponses = {
    /**
     * The job was accepted and charged, or already existed under the same `Idempotency-Key`.
     */
    201: Job;
};

export type CreateJobResponse = CreateJobResponses[keyof CreateJobResponses];

export type CreateQuoteData = {
    /**
     * The body of `POST /v1/jobs`. At most 64 KB.
     */
    body: JobInput;
    path?: never;
    query?: never;
    url: '/v1/quotes';
};

export type CreateQuoteErrors = {
    /**
     * The request or the video was refused, and nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, invalid or unknown
     * field, which `param` names; or a body that did not arrive within 30 s), `url_not_allowed` (the URL is malformed,
     * private or blocked; the message says why), `video_unreachable`, `unreadable_video` (the file has no decodable
     * video, is encrypted, has too large frames, or has more than 250 frames per billed second), `video_too_long` (over 600 s),
     * `video_too_large` (over 2,000,000,000 bytes). An installation may have other limits; `limits` of
     * `GET /v1/account` has them.
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (the operation needs a key of the Secure tier), `key_access_denied` (a restricted key
     * whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * The upload cannot be used. Codes: `upload_not_ready` (it waits for parts or is being verified), `upload_failed`
     * (the file differs from its checksum).
     *
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CreateQuoteError = CreateQuoteErrors[keyof CreateQuoteErrors];

export type CreateQuoteResponses = {
    /**
     * The price and the estimate.
     */
    200: Quote;
};

export type CreateQuoteResponse = CreateQuoteResponses[keyof CreateQuoteResponses];

export type DeleteJobData = {
    body?: never;
    path: {
        /**
         * Id of the job. An id that is unknown to the account in the key's mode returns 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}';
};

export type DeleteJobErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type DeleteJobError = DeleteJobErrors[keyof DeleteJobErrors];

export type DeleteJobResponses = {
    /**
     * The job was deleted.
     */
    200: JobDeletion;
};

export type DeleteJobResponse = DeleteJobResponses[keyof DeleteJobResponses];

export type GetJobData = {
    body?: never;
    path: {
        /**
         * Id of the job. An id that is unknown to the account in the key's mode returns 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}';
};

export type GetJobErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetJobError = GetJobErrors[keyof GetJobErrors];

export type GetJobResponses = {
    /**
     * The job.
     */
    200: Job;
};

export type GetJobResponse = GetJobResponses[keyof GetJobResponses];

export type GetJobResultData = {
    body?: never;
    path: {
        /**
         * Id of the job. An id that is unknown to the account in the key's mode returns 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}/result';
};

export type GetJobResultErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * There is no result. Codes: `job_not_done` (the job is queued or running), `job_failed` (the job ended in
     * error).
     *
     */
    409: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetJobResultError = GetJobResultErrors[keyof GetJobResultErrors];

export type GetJobResultResponses = {
    /**
     * A fresh download link.
     */
    200: JobResult;
};

export type GetJobResultResponse = GetJobResultResponses[keyof GetJobResultResponses];

export type StreamJobEventsData = {
    body?: never;
    path: {
        /**
         * Id of the job. An id that is unknown to the account in the key's mode returns 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}/events';
};

export type StreamJobEventsErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type StreamJobEventsError = StreamJobEventsErrors[keyof StreamJobEventsErrors];

export type StreamJobEventsResponses = {
    /**
     * The event stream.
     */
    200: JobEvent;
};

export type StreamJobEventsResponse = StreamJobEventsResponses[keyof StreamJobEventsResponses];

export type GetDeletionCertificateData = {
    body?: never;
    path: {
        /**
         * Id of the job or preview. An id that is unknown to the account in the key's mode returns 404.
         */
        id: JobOrPreviewId;
    };
    query?: never;
    url: '/v1/jobs/{id}/deletion-certificate';
};

export type GetDeletionCertificateErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (the operation needs a key of the Secure tier), `key_access_denied` (a restricted key
     * whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The mode of the key never had this job, or the job is deleted and was not of the Secure tier.
     * Code: `job_not_found`.
     *
     */
    404: Error;
    /**
     * There is no certificate yet. Codes: `job_not_deleted` (the job, of either tier, still exists),
     * `certificate_pending` (the job is deleted, but the storage has not confirmed yet that every object is gone;
     * retry after `Retry-After`).
     *
     */
    409: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetDeletionCertificateError = GetDeletionCertificateErrors[keyof GetDeletionCertificateErrors];

export type GetDeletionCertificateResponses = {
    /**
     * The certificate.
     */
    200: DeletionCertificate;
};

export type GetDeletionCertificateResponse = GetDeletionCertificateResponses[keyof GetDeletionCertificateResponses];

export type ListPreviewsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of previews per page.
         */
        limit?: number;
        /**
         * Id of the last preview of the previous page.
         */
        starting_after?: PreviewId;
        /**
         * Only previews with this status.
         */
        status?: JobStatus;
    };
    url: '/v1/previews';
};

export type ListPreviewsErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListPreviewsError = ListPreviewsErrors[keyof ListPreviewsErrors];

export type ListPreviewsResponses = {
    /**
     * One page of previews.
     */
    200: PreviewList;
};

export type ListPreviewsResponse = ListPreviewsResponses[keyof ListPreviewsResponses];

export type CreatePreviewData = {
    /**
     * The video and the settings. At most 64 KB.
     */
    body: PreviewInput;
    headers?: {
        /**
         * Makes retries safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/previews';
};

export type CreatePreviewErrors = {
    /**
     * The request or the video was refused, and nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, invalid or unknown
     * field, which `param` names; or a body that did not arrive within 30 s), `url_not_allowed` (the URL is malformed,
     * private or blocked; the message says why), `video_unreachable`, `unreadable_video` (the file has no decodable
     * video, is encrypted, has too large frames, or has more than 250 frames per billed second), `video_too_long` (over 600 s),
     * `video_too_large` (over 2,000,000,000 bytes). An installation may have other limits; `limits` of
     * `GET /v1/account` has them.
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The preview costs more than the balance or the request allows. Codes: `insufficient_credits` (the balance does not
     * cover it), `max_credits_exceeded` (it costs more than `max_credits`).
     *
     */
    402: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not
     * approved), `secure_tier_required` (`secure` is true but the key belongs to the Standard tier),
     * `key_access_denied` (a restricted key that may only read).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * The `Idempotency-Key` was used with another request body or for what was deleted since, or the upload cannot be used.
     * Codes: `idempotency_key_reused`, `upload_not_ready` (it waits for parts or is being verified),
     * `upload_failed` (the file differs from its checksum).
     *
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CreatePreviewError = CreatePreviewErrors[keyof CreatePreviewErrors];

export type CreatePreviewResponses = {
    /**
     * The preview was accepted and charged, or already existed under the same `Idempotency-Key`.
     */
    201: Preview;
};

export type CreatePreviewResponse = CreatePreviewResponses[keyof CreatePreviewResponses];

export type DeletePreviewData = {
    body?: never;
    path: {
        /**
         * Id of the preview. An id that is unknown to the account in the key's mode returns 404.
         */
        id: PreviewId;
    };
    query?: never;
    url: '/v1/previews/{id}';
};

export type DeletePreviewErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such preview. Code: `preview_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type DeletePreviewError = DeletePreviewErrors[keyof DeletePreviewErrors];

export type DeletePreviewResponses = {
    /**
     * The preview was deleted.
     */
    200: PreviewDeletion;
};

export type DeletePreviewResponse = DeletePreviewResponses[keyof DeletePreviewResponses];

export type GetPreviewData = {
    body?: never;
    path: {
        /**
         * Id of the preview. An id that is unknown to the account in the key's mode returns 404.
         */
        id: PreviewId;
    };
    query?: never;
    url: '/v1/previews/{id}';
};

export type GetPreviewErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such preview. Code: `preview_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetPreviewError = GetPreviewErrors[keyof GetPreviewErrors];

export type GetPreviewResponses = {
    /**
     * The preview.
     */
    200: Preview;
};

export type GetPreviewResponse = GetPreviewResponses[keyof GetPreviewResponses];

export type ListUploadsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of uploads per page.
         */
        limit?: number;
        /**
         * Id of the last upload of the previous page.
         */
        starting_after?: UploadId;
    };
    url: '/v1/uploads';
};

export type ListUploadsErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListUploadsError = ListUploadsErrors[keyof ListUploadsErrors];

export type ListUploadsResponses = {
    /**
     * One page of uploads.
     */
    200: UploadList;
};

export type ListUploadsResponse = ListUploadsResponses[keyof ListUploadsResponses];

export type CreateUploadData = {
    /**
     * The name and size of the file. At most 64 KB.
     */
    body: UploadInput;
    headers?: {
        /**
         * Makes retries safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/uploads';
};

export type CreateUploadErrors = {
    /**
     * The request is not valid. Codes: `invalid_json` (malformed JSON, a duplicate name, deep nesting, U+0000 or a
     * lone surrogate), `invalid_request` (a missing, invalid or unknown field, which `param` names; or a body that
     * did not arrive within 30 s), `video_too_large` (over `limits.max_file_size_bytes`).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The `Idempotency-Key` was used with another request body or for what was deleted since, or the files of the
     * account's uploads would be too large together, or there are too many. Delete uploads that you no longer need, or
     * wait until they expire. Codes: `idempotency_key_reused`, `upload_quota_exceeded`.
     *
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CreateUploadError = CreateUploadErrors[keyof CreateUploadErrors];

export type CreateUploadResponses = {
    /**
     * The upload waits for its parts, or already existed under the same `Idempotency-Key`.
     */
    201: Upload;
};

export type CreateUploadResponse = CreateUploadResponses[keyof CreateUploadResponses];

export type DeleteUploadData = {
    body?: never;
    path: {
        /**
         * Id of the upload. An id that is unknown to the account in the key's mode returns 404.
         */
        id: UploadId;
    };
    query?: never;
    url: '/v1/uploads/{id}';
};

export type DeleteUploadErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type DeleteUploadError = DeleteUploadErrors[keyof DeleteUploadErrors];

export type DeleteUploadResponses = {
    /**
     * The upload was deleted.
     */
    200: UploadDeletion;
};

export type DeleteUploadResponse = DeleteUploadResponses[keyof DeleteUploadResponses];

export type GetUploadData = {
    body?: never;
    path: {
        /**
         * Id of the upload. An id that is unknown to the account in the key's mode returns 404.
         */
        id: UploadId;
    };
    query?: never;
    url: '/v1/uploads/{id}';
};

export type GetUploadErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetUploadError = GetUploadErrors[keyof GetUploadErrors];

export type GetUploadResponses = {
    /**
     * The upload.
     */
    200: Upload;
};

export type GetUploadResponse = GetUploadResponses[keyof GetUploadResponses];

export type CompleteUploadData = {
    /**
     * The checksum; an empty object if the creation had it. At most 64 KB.
     */
    body: UploadCompletion;
    path: {
        /**
         * Id of the upload. An id that is unknown to the account in the key's mode returns 404.
         */
        id: UploadId;
    };
    query?: never;
    url: '/v1/uploads/{id}/complete';
};

export type CompleteUploadErrors = {
    /**
     * The request is not valid. Codes: `invalid_json` (malformed JSON, a duplicate name, deep nesting, U+0000 or a
     * lone surrogate), `invalid_request` (an invalid or unknown field, which `param` names; or a body that did not
     * arrive within 30 s).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such upload. Code: `upload_not_found`.
     */
    404: Error;
    /**
     * Parts are missing (`GET /v1/uploads/{id}` lists them), or the checksum is missing or does not
     * cover all parts; the message says which. Code: `upload_incomplete`.
     *
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CompleteUploadError = CompleteUploadErrors[keyof CompleteUploadErrors];

export type CompleteUploadResponses = {
    /**
     * The file is being verified, or was before.
     */
    200: Upload;
};

export type CompleteUploadResponse = CompleteUploadResponses[keyof CompleteUploadResponses];

export type UploadPartData = {
    /**
     * The bytes of the part.
     */
    body: Blob | File;
    path: {
        /**
         * Opaque name of the file. It may contain slashes.
         */
        key: string;
    };
    query: {
        /**
         * Opaque name of the transfer.
         */
        upload: string;
        /**
         * Number of the part.
         */
        number: string;
        /**
         * Bytes of the part.
         */
        size: string;
        /**
         * When the URL expires, in seconds since the Unix epoch.
         */
        expires: string;
        /**
         * Signature over the URL's other parts.
         */
        signature: string;
    };
    url: '/v1/upload-parts/{key}';
};

export type UploadPartErrors = {
    /**
     * The part did not arrive in full, or is shorter than its URL says. Send it again. Code: `invalid_request`.
     *
     */
    400: Error;
    /**
     * The URL is not valid. Codes: `link_expired`, `link_invalid`.
     */
    403: Error;
    /**
     * The upload takes no parts any more: it is complete, deleted or expired. Code: `not_found`.
     */
    404: Error;
    /**
     * The part is longer than its URL says. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * Too many parts of the upload arrive at the same time; retry after `Retry-After`.
     * Code: `rate_limit_exceeded`.
     *
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type UploadPartError = UploadPartErrors[keyof UploadPartErrors];

export type UploadPartResponses = {
    /**
     * The part is stored.
     */
    200: ReceivedPart;
};

export type UploadPartResponse = UploadPartResponses[keyof UploadPartResponses];

export type ListModelsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/models';
};

export type ListModelsErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListModelsError = ListModelsErrors[keyof ListModelsErrors];

export type ListModelsResponses = {
    /**
     * The installed models.
     */
    200: ModelList;
};

export type ListModelsResponse = ListModelsResponses[keyof ListModelsResponses];

export type GetAccountData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/account';
};

export type GetAccountErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetAccountError = GetAccountErrors[keyof GetAccountErrors];

export type GetAccountResponses = {
    /**
     * The account that owns the key.
     */
    200: Account;
};

export type GetAccountResponse = GetAccountResponses[keyof GetAccountResponses];

export type UpdateAccountData = {
    /**
     * The fields to change. At most 64 KB.
     */
    body: AccountUpdate;
    path?: never;
    query?: never;
    url: '/v1/account';
};

export type UpdateAccountErrors = {
    /**
     * The request was refused, and nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, invalid or unknown field, which `param`
     * names; or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (the operation needs a key of the Secure tier), `key_access_denied` (a restricted key
     * whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type UpdateAccountError = UpdateAccountErrors[keyof UpdateAccountErrors];

export type UpdateAccountResponses = {
    /**
     * The updated account.
     */
    200: Account;
};

export type UpdateAccountResponse = UpdateAccountResponses[keyof UpdateAccountResponses];

export type ListLedgerData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of transfers per page.
         */
        limit?: number;
        /**
         * Number of the last transfer of the previous page.
         */
        starting_after?: number;
    };
    url: '/v1/ledger';
};

export type ListLedgerErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListLedgerError = ListLedgerErrors[keyof ListLedgerErrors];

export type ListLedgerResponses = {
    /**
     * One page of transfers.
     */
    200: Ledger;
};

export type ListLedgerResponse = ListLedgerResponses[keyof ListLedgerResponses];

export type GetUsageData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Length of a period.
         */
        interval?: 'day' | 'month';
        /**
         * First day, at most 366 days before the last one. Default: the 30 days, or with `interval=month` the 12 months, that end with `to`.
         *
         */
        from?: Day;
        /**
         * Last day. By default, today.
         */
        to?: Day;
    };
    url: '/v1/usage';
};

export type GetUsageErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetUsageError = GetUsageErrors[keyof GetUsageErrors];

export type GetUsageResponses = {
    /**
     * The usage of each period.
     */
    200: Usage;
};

export type GetUsageResponse = GetUsageResponses[keyof GetUsageResponses];

export type ListWebhookEndpointsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/webhook-endpoints';
};

export type ListWebhookEndpointsErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListWebhookEndpointsError = ListWebhookEndpointsErrors[keyof ListWebhookEndpointsErrors];

export type ListWebhookEndpointsResponses = {
    /**
     * All webhook endpoints.
     */
    200: WebhookEndpointList;
};

export type ListWebhookEndpointsResponse = ListWebhookEndpointsResponses[keyof ListWebhookEndpointsResponses];

export type CreateWebhookEndpointData = {
    /**
     * At most 64 KB.
     */
    body: WebhookEndpointInput;
    path?: never;
    query?: never;
    url: '/v1/webhook-endpoints';
};

export type CreateWebhookEndpointErrors = {
    /**
     * The request was refused, and nothing was changed. Codes: `invalid_json`, `invalid_request` (a missing, invalid
     * or unknown field, which `param` names; or a body that did not arrive within 30 s), `url_not_allowed` (the URL is
     * malformed, private or blocked; the message says why).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There are 10 webhook endpoints in this mode already; delete one first. Code: `webhook_endpoint_limit_reached`.
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type CreateWebhookEndpointError = CreateWebhookEndpointErrors[keyof CreateWebhookEndpointErrors];

export type CreateWebhookEndpointResponses = {
    /**
     * The endpoint and its secret, which is shown only now.
     */
    201: WebhookEndpointSecret;
};

export type CreateWebhookEndpointResponse = CreateWebhookEndpointResponses[keyof CreateWebhookEndpointResponses];

export type DeleteWebhookEndpointData = {
    body?: never;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}';
};

export type DeleteWebhookEndpointErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type DeleteWebhookEndpointError = DeleteWebhookEndpointErrors[keyof DeleteWebhookEndpointErrors];

export type DeleteWebhookEndpointResponses = {
    /**
     * The endpoint is deleted.
     */
    200: WebhookEndpointDeletion;
};

export type DeleteWebhookEndpointResponse = DeleteWebhookEndpointResponses[keyof DeleteWebhookEndpointResponses];

export type GetWebhookEndpointData = {
    body?: never;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}';
};

export type GetWebhookEndpointErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetWebhookEndpointError = GetWebhookEndpointErrors[keyof GetWebhookEndpointErrors];

export type GetWebhookEndpointResponses = {
    /**
     * The endpoint.
     */
    200: WebhookEndpoint;
};

export type GetWebhookEndpointResponse = GetWebhookEndpointResponses[keyof GetWebhookEndpointResponses];

export type UpdateWebhookEndpointData = {
    /**
     * At most 64 KB.
     */
    body: WebhookEndpointUpdate;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}';
};

export type UpdateWebhookEndpointErrors = {
    /**
     * The request was refused, and nothing was changed. Codes: `invalid_json`, `invalid_request` (a missing, invalid
     * or unknown field, which `param` names; or a body that did not arrive within 30 s), `url_not_allowed` (the URL is
     * malformed, private or blocked; the message says why).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type UpdateWebhookEndpointError = UpdateWebhookEndpointErrors[keyof UpdateWebhookEndpointErrors];

export type UpdateWebhookEndpointResponses = {
    /**
     * The changed endpoint.
     */
    200: WebhookEndpoint;
};

export type UpdateWebhookEndpointResponse = UpdateWebhookEndpointResponses[keyof UpdateWebhookEndpointResponses];

export type RotateWebhookEndpointSecretData = {
    body?: never;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}/secret/rotation';
};

export type RotateWebhookEndpointSecretErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type RotateWebhookEndpointSecretError = RotateWebhookEndpointSecretErrors[keyof RotateWebhookEndpointSecretErrors];

export type RotateWebhookEndpointSecretResponses = {
    /**
     * The endpoint and its new secret, which is shown only now.
     */
    201: WebhookEndpointSecret;
};

export type RotateWebhookEndpointSecretResponse = RotateWebhookEndpointSecretResponses[keyof RotateWebhookEndpointSecretResponses];

export type SwitchWebhookEndpointSecretData = {
    body?: never;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}/secret/switch';
};

export type SwitchWebhookEndpointSecretErrors = {
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type SwitchWebhookEndpointSecretError = SwitchWebhookEndpointSecretErrors[keyof SwitchWebhookEndpointSecretErrors];

export type SwitchWebhookEndpointSecretResponses = {
    /**
     * The endpoint.
     */
    200: WebhookEndpoint;
};

export type SwitchWebhookEndpointSecretResponse = SwitchWebhookEndpointSecretResponses[keyof SwitchWebhookEndpointSecretResponses];

export type TestWebhookEndpointData = {
    /**
     * At most 64 KB.
     */
    body: WebhookEndpointTestInput;
    path: {
        /**
         * Id of the webhook endpoint. An unknown id returns 404.
         */
        id: WebhookEndpointId;
    };
    query?: never;
    url: '/v1/webhook-endpoints/{id}/test';
};

export type TestWebhookEndpointErrors = {
    /**
     * The request was refused, and nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, invalid or unknown field, which `param`
     * names; or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * There is no such webhook endpoint. Code: `webhook_endpoint_not_found`.
     */
    404: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8, or it is compressed. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type TestWebhookEndpointError = TestWebhookEndpointErrors[keyof TestWebhookEndpointErrors];

export type TestWebhookEndpointResponses = {
    /**
     * The delivery is queued.
     */
    202: WebhookEndpointTestResult;
};

export type TestWebhookEndpointResponse = TestWebhookEndpointResponses[keyof TestWebhookEndpointResponses];

export type ListRequestLogData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries per page.
         */
        limit?: number;
        /**
         * Id of the last entry of the previous page.
         */
        starting_after?: LogId;
        /**
         * Only requests with this key.
         */
        key_id?: KeyId;
        /**
         * Only requests with this `X-Request-Id`.
         */
        request_id?: string;
        /**
         * Only requests about this job, preview, upload or webhook endpoint.
         */
        resource_id?: string;
        /**
         * Only requests with this status (`404`), or of this class (`4xx`).
         */
        status?: string;
    };
    url: '/v1/request-log';
};

export type ListRequestLogErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `key_access_denied` (a restricted key whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListRequestLogError = ListRequestLogErrors[keyof ListRequestLogErrors];

export type ListRequestLogResponses = {
    /**
     * One page of requests.
     */
    200: RequestLogPage;
};

export type ListRequestLogResponse = ListRequestLogResponses[keyof ListRequestLogResponses];

export type ListAuditLogData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries per page.
         */
        limit?: number;
        /**
         * Sequence number of the last entry of the previous page.
         */
        starting_after?: number;
        /**
         * Only entries about this job or preview. Their sequence numbers have gaps.
         */
        job_id?: JobOrPreviewId;
    };
    url: '/v1/audit-log';
};

export type ListAuditLogErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or invalid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked or
     * expired key, or more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key lacks the permission. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (the operation needs a key of the Secure tier), `key_access_denied` (a restricted key
     * whose access does not cover the operation).
     *
     */
    403: Error;
    /**
     * The key or its account exceeded a limit; retry after `Retry-After`. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type ListAuditLogError = ListAuditLogErrors[keyof ListAuditLogErrors];

export type ListAuditLogResponses = {
    /**
     * One page of the log.
     */
    200: AuditLog;
};

export type ListAuditLogResponse = ListAuditLogResponses[keyof ListAuditLogResponses];

export type GetJwksData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/.well-known/jwks.json';
};

export type GetJwksErrors = {
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetJwksError = GetJwksErrors[keyof GetJwksErrors];

export type GetJwksResponses = {
    /**
     * The key set.
     */
    200: Jwks;
};

export type GetJwksResponse = GetJwksResponses[keyof GetJwksResponses];

export type GetOpenApiJsonData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Whether the document has the operations of the tag Console.
         */
        console?: boolean;
    };
    url: '/v1/openapi.json';
};

export type GetOpenApiJsonErrors = {
    /**
     * A parameter is invalid; `param` names it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
};

export type GetOpenApiJsonError = GetOpenApiJsonErrors[keyof GetOpenApiJsonErrors];

export type GetOpenApiJsonResponses = {
    /**
     * This document.
     */
    200: OpenApiDocument;
};

export type GetOpenApiJsonResponse = GetOpenApiJsonResponses[keyof GetOpenApiJsonResponses];

export type GetOpenApiYamlData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/openapi.yaml';
};

export type GetOpenApiYamlErrors = {
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
};

export type GetOpenApiYamlError = GetOpenApiYamlErrors[keyof GetOpenApiYamlErrors];

export type GetOpenApiYamlResponses = {
    /**
     * This document.
     */
    200: OpenApiDocument;
};

export type GetOpenApiYamlResponse = GetOpenApiYamlResponses[keyof GetOpenApiYamlResponses];

export type GetDocsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/docs';
};

export type GetDocsErrors = {
    /**
     * The service runs without built documents. Code: `not_found`.
     */
    404: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
};

export type GetDocsError = GetDocsErrors[keyof GetDocsErrors];

export type GetDocsResponses = {
    /**
     * The page.
     */
    200: string;
};

export type GetDocsResponse = GetDocsResponses[keyof GetDocsResponses];

export type DownloadFileData = {
    body?: never;
    path: {
        /**
         * Opaque name of the file. It may contain slashes.
         */
        key: string;
    };
    query: {
        /**
         * When the link expires, in seconds since the Unix epoch.
         */
        expires: string;
        /**
         * File name that the browser uses for the download.
         */
        name: string;
        /**
         * Content type of the file. Absent in links to MP4 files.
         */
        type?: string;
        /**
         * Signature over the link's other parts.
         */
        signature: string;
    };
    url: '/v1/downloads/{key}';
};

export type DownloadFileErrors = {
    /**
     * The link is not valid. Codes: `link_expired`, `link_invalid`.
     */
    403: Error;
    /**
     * The file no longer exists. Code: `not_found`.
     */
    404: Error;
    /**
     * The range lies outside the file. Code: `range_not_satisfiable`.
     */
    416: Error;
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type DownloadFileError = DownloadFileErrors[keyof DownloadFileErrors];

export type DownloadFileResponses = {
    /**
     * The whole file.
     */
    200: Blob | File;
    /**
     * The requested bytes.
     */
    206: Blob | File;
};

export type DownloadFileResponse = DownloadFileResponses[keyof DownloadFileResponses];

export type GetHealthData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/healthz';
};

export type GetHealthErrors = {
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
};

export type GetHealthError = GetHealthErrors[keyof GetHealthErrors];

export type GetHealthResponses = {
    /**
     * Alive.
     */
    200: Health;
};

export type GetHealthResponse = GetHealthResponses[keyof GetHealthResponses];

export type GetReadinessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/readyz';
};

export type GetReadinessErrors = {
    /**
     * The service failed. Code: `internal_error`. Its log has the cause under the request id.
     */
    500: Error;
    /**
     * A dependency of the service does not respond, disk space for an upload is short, or too many videos are being
     * measured; retry later. Code: `service_unavailable`.
     *
     */
    503: Error;
};

export type GetReadinessError = GetReadinessErrors[keyof GetReadinessErrors];

export type GetReadinessResponses = {
    /**
     * Ready for requests.
     */
    200: Health;
};

export type GetReadinessResponse = GetReadinessResponses[keyof GetReadinessResponses];

/**
 * The event.
 */
export type JobCompletedWebhookPayload = JobCompletedEvent;

export type JobCompletedWebhookRequest = {
    body: JobCompletedWebhookPayload;
    key: 'job.completed';
    path?: never;
    query?: never;
};

/**
 * The event.
 */
export type JobFailedWebhookPayload = JobFailedEvent;

export type JobFailedWebhookRequest = {
    body: JobFailedWebhookPayload;
    key: 'job.failed';
    path?: never;
    query?: never;
};

// Generated from openapi.yaml by `npm run generate`; do not edit.

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

export type Webhooks = JobCompletedWebhookRequest | JobFailedWebhookRequest;

/**
 * Identifier of a job, assigned by the service; sorts by time of creation.
 */
export type JobId = string;

/**
 * Polling ends when it is `done` or `error`.
 */
export type JobStatus = 'queued' | 'running' | 'done' | 'error';

/**
 * Target resolution. `1080p` fits the video into 1920×1080 and `4k` into 3840×2160; a portrait video into the
 * same box turned. The aspect ratio is kept, sizes are even, nothing is cropped or padded; a source that is larger
 * than the box is reduced to it.
 *
 */
export type Resolution = '1080p' | '4k';

/**
 * Privacy is the same on both; Secure adds signed deletion certificates, an audit log and retention.
 */
export type Tier = 'standard' | 'secure';

/**
 * RFC 3339, UTC with milliseconds.
 */
export type Timestamp = string;

/**
 * A public http(s) URL without user name or password: a host name (an international one in either spelling), an
 * IPv4 address, or an IPv6 address in brackets. It is read as the WHATWG URL standard says, and its host is judged
 * in the normalised form. Private and local addresses are refused with `url_not_allowed` in the sandbox as well,
 * which sends no request and resolves no name; a name that leads to a private address is refused when the live
 * mode connects.
 *
 */
export type PublicUrl = string;

/**
 * `auto` lets the service choose from the video, `off` turns the stage off, a number from 0 to 1 sets it.
 */
export type Strength = 'auto' | 'off' | number;

/**
 * How strong each stage is; what is left out is `auto`.
 */
export type EnhancementsInput = {
    denoise?: Strength;
    sharpen?: Strength;
    face_restoration?: Strength;
    adaptive_contrast?: Strength;
};

/**
 * The caller's own pairs, echoed in the job. At most 20; names of 1 to 40 letters, digits, `_`, `.`, `-`, but not
 * `__proto__`.
 *
 */
export type MetadataInput = {
    [key: string]: string;
};

export type JobInput = {
    video_url: PublicUrl;
    resolution: Resolution;
    /**
     * A hint only, in seconds; the service measures the real duration and bills that. In the sandbox, where
     * nothing is measured, it is the job's duration, rounded up and at most 600 (10 without it).
     *
     */
    duration_seconds?: number;
    /**
     * The service sends a signed event to this address when the job finishes.
     */
    webhook_url?: PublicUrl;
    /**
     * Makes this a job of the Secure tier; needs a key of that tier.
     */
    secure?: boolean;
    enhancements?: EnhancementsInput;
    /**
     * `auto` lets the service choose, `none` keeps to plain filters, anything else names an installed model.
     */
    model?: string;
    metadata?: MetadataInput;
};

export type Job = {
    id: JobId;
    status: JobStatus;
    resolution: Resolution;
    /**
     * Measured duration of the video in seconds, rounded up; what is billed.
     */
    duration_seconds: number;
    /**
     * Amount charged when the job was accepted; 0 in the sandbox. One credit is one US cent.
     */
    credits_charged: number;
    /**
     * Amount given back since.
     */
    credits_refunded: number;
    /**
     * Whether the job was made with a sandbox key.
     */
    sandbox: boolean;
    tier: Tier;
    /**
     * Part of the work that is done, from 0 to 1; never falls.
     */
    progress: number;
    /**
     * Estimated seconds until the job is finished; null while unknown.
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
     * When the job's files are deleted automatically; 30 days after creation by default.
     */
    expires_at: Timestamp;
    /**
     * The video as measured; null in the sandbox.
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
     * What was applied; null until the job is done.
     */
    enhancements: AppliedEnhancements | null;
    metadata: Metadata;
};

/**
 * The caller's own pairs.
 */
export type Metadata = {
    [key: string]: string;
};

export type Source = {
    /**
     * Container format as FFmpeg names its reader, such as `mov,mp4,m4a,3gp,3g2,mj2` or `matroska,webm`.
     */
    container: string;
    video_codec: string;
    /**
     * null without an audio stream.
     */
    audio_codec: string | null;
    /**
     * Pixels as displayed (rotation applied, square pixels).
     */
    width: number;
    height: number;
    /**
     * Average frames per second; 0 when unknown.
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
     * The network that was used, or `none`.
     */
    model: string;
    /**
     * The processor that did the work, `cpu` or `cuda:N` with the GPU's name. Absent on jobs from before it was noted.
     */
    device?: string;
    /**
     * What was decided before the first frame, stage by stage. A strength above may be lower than the planned one:
     * `face_restoration` is 0 when no face was found. Absent on jobs from before it was noted.
     *
     */
    plan?: Array<PlannedStage>;
};

export type PlannedStage = {
    /**
     * `denoise`, `model`, `face_restoration`, `sharpen` or `adaptive_contrast`; there may be more one day.
     */
    stage: string;
    strength: AppliedStrength;
    /**
     * The figures that decided, for people.
     */
    reason: string;
};

export type JobList = {
    /**
     * Newest first.
     */
    data: Array<Job>;
    /**
     * Whether older jobs follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: JobId | null;
};

export type JobDeletion = {
    id: JobId;
    deleted: true;
    deleted_at: Timestamp;
    /**
     * Credits given back by this call.
     */
    refunded_credits: number;
    /**
     * Signed proof of the destruction of a job of the Secure tier. Null on Standard, and null where the storage has
     * not confirmed the destruction within a few seconds: fetch it from
     * `GET /v1/jobs/{id}/deletion-certificate` then.
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
     * Seconds of validity of the link.
     */
    expires_in: number;
    retention: RetentionReminder;
};

export type RetentionReminder = {
    auto_delete_at: Timestamp;
    /**
     * The call that deletes the job now.
     */
    delete_now: string;
    /**
     * Human-readable advice to delete the job once it is downloaded.
     */
    reminder: string;
};

/**
 * One server-sent event.
 */
export type JobEvent = {
    event: 'status' | 'progress' | 'deleted';
    /**
     * The job, or `{"id", "deleted"}` of a deleted one, as JSON.
     */
    data: string;
};

export type DeletedJob = {
    id: JobId;
    deleted: true;
};

/**
 * What a job with the same body would cost and take.
 */
export type Quote = {
    /**
     * Measured duration of the video in seconds, rounded up; what would be billed.
     */
    duration_seconds: number;
    /**
     * What would be charged; 0 in the sandbox. One credit is one US cent.
     */
    credits: number;
    resolution: Resolution;
    tier: Tier;
    /**
     * Whether the key is a sandbox key.
     */
    sandbox: boolean;
    /**
     * Estimated seconds of processing, without the wait for a free worker: from the account's latest jobs of the
     * same target where there are any, else from a typical rate.
     *
     */
    estimated_seconds: number;
    /**
     * The video as measured; null in the sandbox.
     */
    source: Source | null;
};

export type AccountUpdate = {
    /**
     * Days that the files of a new job are kept: 30 with a Standard key; with a Secure key what the account has set,
     * which applies to jobs with `secure` set.
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
     * The proof itself; its signature is verified with the keys at `/.well-known/jwks.json`.
     */
    certificate: CompactJws;
    payload: CertificatePayload;
};

/**
 * What the certificate states, decoded. Trust it only after verifying `certificate`.
 */
export type CertificatePayload = {
    id: string;
    /**
     * Version of this form.
     */
    version: 1;
    job_id: JobId;
    account_id: string;
    /**
     * Everything that was ever stored for the job. Empty for a sandbox job, for which nothing is stored: its
     * result is a sample that all sandbox jobs share.
     *
     */
    objects: Array<DestroyedObject>;
    /**
     * How it was destroyed. It is no claim about the medium below the storage, nor about backups.
     */
    method: 'logical deletion, verified absent';
    storage: 'filesystem' | 's3';
    /**
     * Who caused it, the customer's call, the end of the retention, or the operator who closed the account.
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
    role: 'original' | 'output';
    /**
     * Version id of an S3 object; null where the storage keeps none.
     */
    version: string | null;
    /**
     * Of the stored bytes; null when the upload never finished.
     */
    sha256: Sha256 | null;
    size_bytes: number | null;
    /**
     * When the storage answered that the object does not exist.
     */
    verified_absent_at: Timestamp;
};

/**
 * Where the deletion stands in the account's audit log.
 */
export type AuditPosition = {
    sequence: number;
    hash: Sha256;
};

/**
 * `hash` is the SHA-256 of the canonical JSON (RFC 8785) of all the other fields.
 *
 */
export type AuditEntry = {
    account_id: string;
    /**
     * 1, 2, 3 … without gaps, per account.
     */
    sequence: number;
    id: string;
    /**
     * What happened, such as `job.created`, `job.completed`, `job.failed`, `result.accessed`, `job.deleted`,
     * `retention.changed`. More may be added. One `result.accessed` stands for every link that the same key was
     * given for that job within the hour after it.
     *
     */
    kind: string;
    /**
     * The job it was about; null for the account.
     */
    job_id: JobId | null;
    at: Timestamp;
    /**
     * Details, by kind.
     */
    data: {
        [key: string]: unknown;
    };
    /**
     * Hash of the entry before; 64 zeros in the first.
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
     * Whether older entries follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: number | null;
    /**
     * Signed `{account_id, size, hash, signed_at}` of the whole log: the number of its entries and the hash of the
     * newest (0 and 64 zeros of an empty one).
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
     * RFC 7638 thumbprint.
     */
    kid: string;
    alg: 'EdDSA';
    use: 'sig';
};

/**
 * Exactly these fields.
 */
export type JobCompletedEvent = {
    event: 'job.completed';
    job_id: JobId;
    status: 'done';
};

/**
 * Exactly these fields.
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
     * Balance of the key's mode. One credit is one US cent; sandbox credits are never taken.
     */
    credits: number;
    /**
     * Whether the key is a sandbox key.
     */
    sandbox: boolean;
    /**
     * Live keys work when it is `approved`.
     */
    approval_status: 'pending' | 'approved' | 'rejected';
    /**
     * Days that the files of a new job with `secure` set are kept; those of others are kept for 30.
     */
    retention_days: number;
    pricing: Pricing;
    limits: Limits;
};

/**
 * Prices of processed video for the key's tier, billed per second to the cent.
 */
export type Pricing = {
    currency: 'USD';
    per_minute: PriceByResolution;
    per_second: PriceByResolution;
    /**
     * The prices of each tier that the key may use. A Secure key pays those of `secure` for jobs with `secure` set,
     * else those of `standard`.
     *
     */
    tiers?: {
        standard: TierPrices;
        secure?: TierPrices;
    };
};

export type TierPrices = {
    per_minute: PriceByResolution;
    per_second: PriceByResolution;
};

/**
 * Dollars, by target resolution.
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
     * What `model` of a job may name; `auto`, `none` and the installed networks.
     */
    models: Array<string>;
};

/**
 * `test`: the sandbox; `live`: real work, charged.
 */
export type Mode = 'test' | 'live';

export type ConsoleUserId = string;

export type ConsoleSessionId = string;

export type AccountId = string;

export type KeyId = string;

export type EventId = string;

/**
 * Compared without regard to case.
 */
export type Email = string;

export type ConsoleSignUpInput = {
    email: Email;
    /**
     * 12 to 200 characters.
     */
    password: string;
    /**
     * Name of the account, such as the company's; the email's where there is none.
     */
    name?: string;
};

/**
 * The same whether or not the address was known.
 */
export type ConsoleSignUpResult = {
    accepted: true;
};

export type ConsoleCredentials = {
    email: Email;
    /**
     * The password.
     */
    password: string;
};

export type ConsolePasswordChange = {
    /**
     * The password.
     */
    current_password: string;
    /**
     * 12 to 200 characters.
     */
    new_password: string;
};

export type ConsoleUser = {
    id: ConsoleUserId;
    /**
     * As given at sign-up.
     */
    email: string;
    /**
     * Whether the operator pages are open.
     */
    operator: boolean;
    created_at: Timestamp;
};

export type ConsoleAccount = {
    id: AccountId;
    /**
     * Whose account it is.
     */
    name: string;
    /**
     * Name of the plan.
     */
    plan: string;
    /**
     * Live jobs run when it is `approved`.
     */
    approval_status: 'pending' | 'approved' | 'rejected';
    /**
     * Live balance; one credit is one US cent.
     */
    credits: number;
    /**
     * Never taken.
     */
    sandbox_credits: number;
    /**
     * Days that the files of a new job with `secure` set are kept; those of others are kept for 30.
     */
    retention_days: number;
    created_at: Timestamp;
};

/**
 * Who is signed in, and what the page needs to know of the service.
 */
export type ConsoleSession = {
    id: ConsoleSessionId;
    /**
     * To be sent as `X-CSRF-Token` with every call that changes something; it belongs to this session.
     */
    csrf_token: string;
    /**
     * The session ends then at the latest; one that is not used ends sooner.
     */
    expires_at: Timestamp;
    user: ConsoleUser;
    account: ConsoleAccount;
    /**
     * Prices by tier.
     */
    pricing: {
        standard: Pricing;
        secure: Pricing;
    };
    limits: Limits;
    capabilities: ConsoleCapabilities;
};

/**
 * What this service offers beside the usual.
 */
export type ConsoleCapabilities = {
    /**
     * Whether `POST /console/api/uploads` takes files (a local demo).
     */
    upload: boolean;
    /**
     * Address of the bundled sample, by mode.
     */
    sample_url: {
        /**
         * null where the service cannot fetch it.
         */
        live: string | null;
        /**
         * Any address does in the sandbox, which fetches nothing.
         */
        test: string;
    };
};

export type ConsoleSignedOut = {
    signed_out: true;
};

export type ConsoleSessionEntry = {
    id: ConsoleSessionId;
    /**
     * Whether it is the one that asks.
     */
    current: boolean;
    /**
     * What the browser said of itself, at most 200 characters.
     */
    user_agent: string;
    created_at: Timestamp;
    last_seen_at: Timestamp;
    expires_at: Timestamp;
};

export type ConsoleSessionList = {
    /**
     * Newest first.
     */
    data: Array<ConsoleSessionEntry>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

export type ConsoleSessionsEnded = {
    /**
     * How many sessions were ended.
     */
    ended: number;
};

/**
 * An API key, without its secret.
 */
export type ConsoleKey = {
    id: KeyId;
    mode: Mode;
    tier: Tier;
    /**
     * Last four characters of the key.
     */
    last_four: string;
    /**
     * `expiring`: replaced, and works until `expires_at`.
     */
    state: 'active' | 'expiring' | 'expired' | 'revoked';
    created_at: Timestamp;
    last_used_at: Timestamp | null;
    expires_at: Timestamp | null;
    revoked_at: Timestamp | null;
};

export type ConsoleKeyList = {
    /**
     * Newest first.
     */
    data: Array<ConsoleKey>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

export type ConsoleKeyInput = {
    mode: Mode;
    tier: Tier;
};

export type ConsoleNewKey = {
    key: ConsoleKey;
    /**
     * The API key itself. It is shown this once.
     */
    secret: string;
};

export type ConsoleKeyRotationInput = {
    /**
     * Days that both keys work; 0 ends the old one at once.
     */
    overlap_days: number;
};

export type ConsoleRotatedKey = {
    key: ConsoleKey;
    /**
     * The new API key itself. It is shown this once.
     */
    secret: string;
    replaced: ConsoleKey;
};

/**
 * A job and the mode it is made in.
 */
export type ConsoleJobInput = {
    mode: Mode;
    request: JobInput;
};

/**
 * A job as lists show it.
 */
export type ConsoleJob = {
    id: JobId;
    mode: Mode;
    tier: Tier;
    status: JobStatus;
    resolution: Resolution;
    /**
     * Last part of the path of the source, at most 120 characters.
     */
    source_name: string;
    /**
     * Part that is done.
     */
    progress: number;
    /**
     * Estimated seconds that are left.
     */
    eta_seconds: number | null;
    /**
     * Billed seconds.
     */
    duration_seconds: number;
    /**
     * Credits taken.
     */
    credits_charged: number;
    /**
     * Credits given back.
     */
    credits_refunded: number;
    created_at: Timestamp;
    started_at: Timestamp | null;
    finished_at: Timestamp | null;
    expires_at: Timestamp;
    error: JobError | null;
};

export type ConsoleJobList = {
    /**
     * Newest first.
     */
    data: Array<ConsoleJob>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

/**
 * All that is known of a job.
 */
export type ConsoleJobDetail = {
    job: Job;
    mode: Mode;
    /**
     * Last part of the path of the source.
     */
    source_name: string;
    /**
     * As it was asked for.
     */
    video_url: string;
    /**
     * Where its end is told.
     */
    webhook_url: string | null;
    /**
     * As it was asked for.
     */
    model: string | null;
    requested: EnhancementsInput;
    /**
     * What to do about the error, in plain words; null without one.
     */
    error_help: string | null;
    /**
     * Oldest first.
     */
    timeline: Array<ConsoleJobMoment>;
    /**
     * Oldest first; empty in the sandbox.
     */
    charges: Array<ConsoleJobCharge>;
};

/**
 * Something that happened to a job; an entry of the audit log.
 */
export type ConsoleJobMoment = {
    at: Timestamp;
    /**
     * As in the audit log.
     */
    kind: string;
    /**
     * The same in plain words.
     */
    text: string;
    /**
     * Details, by kind.
     */
    data: {
        [key: string]: unknown;
    };
};

export type ConsoleJobCharge = {
    /**
     * Number of the transfer.
     */
    id: number;
    kind: 'charge' | 'refund';
    /**
     * Credits; negative when taken.
     */
    amount: number;
    /**
     * Balance after it.
     */
    balance: number;
    at: Timestamp;
};

/**
 * Fresh links for players; a link that is not there is null.
 */
export type ConsoleJobLinks = {
    result: ConsoleLink | null;
    source: ConsoleLink | null;
};

export type ConsoleLink = {
    /**
     * Relative to this service where it stores the files itself, else of the bucket.
     */
    url: string;
    /**
     * Seconds of validity.
     */
    expires_in: number;
    /**
     * Name under which a browser saves it.
     */
    file_name: string;
    /**
     * Size of the file.
     */
    size_bytes: number | null;
};

/**
 * One server-sent event.
 */
export type ConsoleJobEvent = {
    event: 'job' | 'deleted';
    /**
     * A `ConsoleJob`, or `{"id", "deleted"}` of a deleted one, as JSON.
     */
    data: string;
};

export type ConsoleUpload = {
    /**
     * Address under which a job of this service may use the file.
     */
    video_url: string;
    /**
     * Bytes that were received.
     */
    size_bytes: number;
};

export type ConsoleWebhookSecret = {
    /**
     * The newest secret. It signs the webhooks; `whsec_` and base64.
     */
    secret: string;
    /**
     * What signs `X-Service-Signature`, which has one signature alone.
     */
    service_signature: {
        /**
         * The secret that signs the header now.
         */
        secret: string;
        /**
         * When the header switches to the next secret by itself; null when the newest signs it.
         */
        switches_at: Timestamp | null;
    };
    /**
     * For 24 hours after a rotation, newest first.
     */
    replaced: Array<{
        /**
         * A replaced secret that still signs.
         */
        secret: string;
        expires_at: Timestamp;
    }>;
};

/**
 * A webhook, and how it fares.
 */
export type ConsoleDelivery = {
    id: EventId;
    job_id: JobId;
    event: 'job.completed' | 'job.failed';
    /**
     * null when the job was deleted.
     */
    url: string | null;
    /**
     * `dead`: given up; `stopped`: the receiver answered 410, or the job was deleted.
     */
    state: 'pending' | 'delivered' | 'dead' | 'stopped';
    /**
     * Failed attempts since the delivery was created or last resent.
     */
    failed_attempts: number;
    next_at: Timestamp | null;
    created_at: Timestamp;
    settled_at: Timestamp | null;
    last_attempt: ConsoleDeliveryAttempt | null;
};

/**
 * One try.
 */
export type ConsoleDeliveryAttempt = {
    /**
     * 1, 2, 3 …
     */
    number: number;
    at: Timestamp;
    /**
     * Milliseconds until the answer, or until it failed.
     */
    duration_ms: number;
    /**
     * Status of the answer; null when there was none.
     */
    status: number | null;
    /**
     * Why it does not count as delivered; null when it does.
     */
    failure: string | null;
    /**
     * Beginning of the answer's body, at most 2 KB.
     */
    reply: string | null;
};

export type ConsoleDeliveryList = {
    /**
     * Newest first.
     */
    data: Array<ConsoleDelivery>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

export type ConsoleDeliveryDetail = {
    delivery: ConsoleDelivery;
    /**
     * What is sent at every try. The time and the signatures differ from try to try and are not kept.
     */
    request: {
        method: 'POST';
        /**
         * null when the job was deleted.
         */
        url: string | null;
        /**
         * Headers that are the same in every try.
         */
        headers: {
            [key: string]: string;
        };
        /**
         * The exact body.
         */
        body: string;
    };
    /**
     * Oldest first.
     */
    attempts: Array<ConsoleDeliveryAttempt>;
};

export type ConsoleWebhookTestInput = {
    url: PublicUrl;
    /**
     * Which event is sent.
     */
    event: 'job.completed' | 'job.failed';
};

export type ConsoleWebhookTest = {
    /**
     * The sandbox job whose end is told.
     */
    job_id: JobId;
};

export type ConsoleLedgerEntry = {
    /**
     * Number of the transfer.
     */
    id: number;
    kind: 'grant' | 'withdrawal' | 'charge' | 'refund';
    /**
     * Credits; negative when taken.
     */
    amount: number;
    /**
     * Balance after it.
     */
    balance: number;
    job_id: JobId | null;
    /**
     * The operator's note on a grant or a withdrawal.
     */
    note: string;
    at: Timestamp;
};

export type ConsoleLedger = {
    /**
     * Newest first.
     */
    data: Array<ConsoleLedgerEntry>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: number | null;
};

export type ConsoleUsage = {
    /**
     * Oldest first, one for each day (UTC) up to today, also where nothing happened.
     */
    days: Array<ConsoleUsageDay>;
};

export type ConsoleUsageDay = {
    /**
     * The day, UTC.
     */
    date: string;
    /**
     * Live jobs that were charged.
     */
    jobs: number;
    /**
     * Billed seconds of them.
     */
    seconds: number;
    /**
     * Credits taken.
     */
    credits: number;
    /**
     * Credits given back that day.
     */
    refunded: number;
};

export type ConsoleCertificate = {
    id: string;
    job_id: JobId;
    issued_at: Timestamp;
    certificate: CompactJws;
};

export type ConsoleCertificateList = {
    /**
     * Newest first.
     */
    data: Array<ConsoleCertificate>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

/**
 * The whole log with its signed head and the public keys: all that a verification needs.
 */
export type AuditExport = {
    account_id: AccountId;
    /**
     * Oldest first.
     */
    entries: Array<AuditEntry>;
    head: CompactJws;
    jwks: Jwks;
};

export type OperatorAccount = {
    id: AccountId;
    /**
     * Whose account it is.
     */
    name: string;
    /**
     * Name of the plan.
     */
    plan: string;
    approval_status: 'pending' | 'approved' | 'rejected';
    /**
     * Live balance.
     */
    credits: number;
    /**
     * Never taken.
     */
    sandbox_credits: number;
    retention_days: number;
    created_at: Timestamp;
    /**
     * Of its users.
     */
    emails: Array<string>;
    /**
     * Keys that work.
     */
    active_keys: number;
};

export type OperatorAccountList = {
    /**
     * Newest first.
     */
    data: Array<OperatorAccount>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

export type OperatorDecision = {
    decision: 'approved' | 'rejected';
};

export type OperatorGrant = {
    /**
     * Live credits to add; one is one US cent.
     */
    credits: number;
    /**
     * Kept in the ledger.
     */
    note?: string;
};

/**
 * State of the service.
 */
export type OperatorOverview = {
    /**
     * By task.
     */
    queue: Array<OperatorQueue>;
    /**
     * Jobs of all accounts.
     */
    jobs: {
        /**
         * Wait.
         */
        queued: number;
        /**
         * Are worked on.
         */
        running: number;
        /**
         * Age of the one that waits longest.
         */
        oldest_queued_seconds: number | null;
        /**
         * Ended in error in the last 24 hours.
         */
        failed_last_day: number;
    };
    webhooks: {
        /**
         * To be delivered.
         */
        pending: number;
        /**
         * Due for more than a minute.
         */
        overdue: number;
    };
    /**
     * Worker processes that report.
     */
    workers_alive: number;
    /**
     * Accounts that wait for approval.
     */
    accounts_pending: number;
};

export type OperatorQueue = {
    /**
     * Name of the task.
     */
    task: string;
    /**
     * Due and not taken.
     */
    waiting: number;
    /**
     * Due later.
     */
    later: number;
    /**
     * Taken.
     */
    running: number;
    /**
     * How long the longest waiting is due.
     */
    oldest_seconds: number | null;
};

/**
 * A worker process.
 */
export type OperatorWorker = {
    /**
     * Names it in leases and logs.
     */
    id: string;
    /**
     * Name of its machine.
     */
    host: string | null;
    started_at: Timestamp;
    /**
     * When it last reported.
     */
    seen_at: Timestamp;
    /**
     * Whether it reported in the last 30 s.
     */
    alive: boolean;
    /**
     * Media jobs at a time.
     */
    concurrency: number | null;
    /**
     * Processors that its engine can use; empty until it has told.
     */
    devices: Array<OperatorDevice>;
    /**
     * What it works on.
     */
    jobs: Array<OperatorLease>;
};

export type OperatorDevice = {
    /**
     * `cpu`, `cuda:0` …
     */
    id: string;
    /**
     * As the driver names it.
     */
    name: string;
    /**
     * Whether it can be used.
     */
    usable: boolean;
    /**
     * Why not; empty when it can.
     */
    reason: string;
    /**
     * Threads of a CPU; 0 of others.
     */
    threads: number;
    /**
     * Vector instructions of a CPU.
     */
    simd: string;
    /**
     * Encoder that it has.
     */
    encoder: string;
    /**
     * Ways to run networks on it.
     */
    inference: Array<string>;
};

export type OperatorLease = {
    id: JobId;
    step: 'ingest' | 'enhance' | 'sandbox';
    progress: number;
    lease_expires_at: Timestamp;
};

export type OperatorWorkerList = {
    /**
     * Newest first.
     */
    data: Array<OperatorWorker>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

/**
 * A job that ended in error; no address of the customer.
 */
export type OperatorFailure = {
    job_id: JobId;
    account_id: AccountId;
    mode: Mode;
    tier: Tier;
    resolution: Resolution;
    /**
     * Billed seconds.
     */
    duration_seconds: number;
    /**
     * As in `JobError`.
     */
    code: string;
    /**
     * As the customer reads it.
     */
    message: string;
    /**
     * How often it was taken up.
     */
    attempts: number;
    finished_at: Timestamp;
};

export type OperatorFailureList = {
    /**
     * Newest first.
     */
    data: Array<OperatorFailure>;
    /**
     * Whether more follow.
     */
    has_more: boolean;
    /**
     * What to pass as `starting_after` to read on; null on the last page.
     */
    next_cursor: string | null;
};

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
    code: 'invalid_request' | 'invalid_json' | 'unreadable_video' | 'video_too_long' | 'video_too_large' | 'video_unreachable' | 'url_not_allowed' | 'insufficient_credits' | 'missing_api_key' | 'invalid_api_key' | 'missing_session' | 'invalid_session' | 'invalid_credentials' | 'csrf_token_invalid' | 'cross_site_request' | 'operator_required' | 'sign_up_closed' | 'wrong_password' | 'key_not_active' | 'key_limit_reached' | 'delivery_not_resendable' | 'account_pending_approval' | 'secure_tier_required' | 'job_not_found' | 'not_found' | 'method_not_allowed' | 'job_not_done' | 'job_failed' | 'job_not_deleted' | 'certificate_pending' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'link_expired' | 'link_invalid' | 'internal_error' | 'service_unavailable';
    /**
     * Human-readable text.
     */
    message: string;
    /**
     * Category, by status.
     */
    type: 'validation_error' | 'authentication_error' | 'billing_error' | 'permission_error' | 'not_found_error' | 'method_not_allowed_error' | 'conflict_error' | 'rate_limit_error' | 'api_error';
    /**
     * JSON Pointer of the bad field of the body, or `/name` of the bad parameter or header.
     */
    param?: string;
    /**
     * The same as the header `X-Request-Id`.
     */
    request_id?: string;
    /**
     * Where the error is explained.
     */
    doc_url?: string;
};

/**
 * Id of the job. Anything that is no job of the account in the key's mode gives 404.
 */
export type JobId2 = JobId;

/**
 * Makes a repetition safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
 */
export type IdempotencyKey = string;

/**
 * Lower-case hex HMAC-SHA256 of the raw body. The key is the account's signing secret exactly as it is shown, as
 * UTF-8 characters, `whsec_` included: `openssl dgst -sha256 -hmac "$SECRET"` prints the same. After a rotation the
 * old secret keeps signing this header until the account switches, or until the overlap of 24 hours ends.
 *
 */
export type ServiceSignature = string;

/**
 * Id of the event; the same at every try.
 */
export type WebhookId = string;

/**
 * When this try was made, in seconds since the Unix epoch. Refuse what is more than 300 s off.
 */
export type WebhookTimestamp = string;

/**
 * Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw body>`. The key is
 * the decoded base64 behind `whsec_`. While one secret replaces another there is one for each, separated by spaces.
 *
 */
export type WebhookSignature = string;

export type ListJobsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of jobs on a page.
         */
        limit?: number;
        /**
         * Id of the last job of the page before; the answer starts behind it.
         */
        starting_after?: JobId;
        /**
         * Only jobs in this state.
         */
        status?: JobStatus;
    };
    url: '/v1/jobs';
};

export type ListJobsErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
     * What to enhance, and how. At most 64 KB.
     */
    body: JobInput;
    headers?: {
        /**
         * Makes a repetition safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/jobs';
};

export type CreateJobErrors = {
    /**
     * The request or the video was refused; nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown
     * field; `param` points at it; or a body that did not arrive within 30 s), `url_not_allowed` (the address is
     * malformed, private or blocked; the message says why), `video_unreachable`, `unreadable_video` (no video that
     * can be decoded, an encrypted one, or more than 250 frames for each billed second), `video_too_long` (over
     * 600 s), `video_too_large` (over 2,000,000,000 bytes).
     *
     */
    400: Error;
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The balance does not cover the charge. Code: `insufficient_credits`.
     */
    402: Error;
    /**
     * The key may not do this. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (`secure` is true and the key is a Standard one).
     *
     */
    403: Error;
    /**
     * The `Idempotency-Key` was used with another body. Code: `idempotency_key_reused`.
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type CreateJobError = CreateJobErrors[keyof CreateJobErrors];

export type CreateJobResponses = {
    /**
     * The job was accepted and charged, or is the one made earlier under the same `Idempotency-Key`.
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
     * The request or the video was refused; nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown
     * field; `param` points at it; or a body that did not arrive within 30 s), `url_not_allowed` (the address is
     * malformed, private or blocked; the message says why), `video_unreachable`, `unreadable_video` (no video that
     * can be decoded, an encrypted one, or more than 250 frames for each billed second), `video_too_long` (over
     * 600 s), `video_too_large` (over 2,000,000,000 bytes).
     *
     */
    400: Error;
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key may not do this. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (it needs a key of the Secure tier).
     *
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
         * Id of the job. Anything that is no job of the account in the key's mode gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}';
};

export type DeleteJobErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
         * Id of the job. Anything that is no job of the account in the key's mode gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}';
};

export type GetJobErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
         * Id of the job. Anything that is no job of the account in the key's mode gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}/result';
};

export type GetJobResultErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * There is no result. Codes: `job_not_done` (the job is queued or running), `job_failed` (it ended in error).
     *
     */
    409: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
         * Id of the job. Anything that is no job of the account in the key's mode gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}/events';
};

export type StreamJobEventsErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type StreamJobEventsError = StreamJobEventsErrors[keyof StreamJobEventsErrors];

export type StreamJobEventsResponses = {
    /**
     * The stream.
     */
    200: JobEvent;
};

export type StreamJobEventsResponse = StreamJobEventsResponses[keyof StreamJobEventsResponses];

export type GetDeletionCertificateData = {
    body?: never;
    path: {
        /**
         * Id of the job. Anything that is no job of the account in the key's mode gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/v1/jobs/{id}/deletion-certificate';
};

export type GetDeletionCertificateErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key may not do this. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (it needs a key of the Secure tier).
     *
     */
    403: Error;
    /**
     * There was never such a job in the key's mode, or it is deleted and was not of the Secure tier.
     * Code: `job_not_found`.
     *
     */
    404: Error;
    /**
     * There is no certificate yet. Codes: `job_not_deleted` (the job still exists, of whatever tier),
     * `certificate_pending` (it was deleted, and the storage has not yet confirmed that every object is gone; retry after `Retry-After`).
     *
     */
    409: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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

export type GetAccountData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/account';
};

export type GetAccountErrors = {
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * A live key of an account that is not approved. Code: `account_pending_approval`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type GetAccountError = GetAccountErrors[keyof GetAccountErrors];

export type GetAccountResponses = {
    /**
     * The account behind the key.
     */
    200: Account;
};

export type GetAccountResponse = GetAccountResponses[keyof GetAccountResponses];

export type UpdateAccountData = {
    /**
     * What to change. At most 64 KB.
     */
    body: AccountUpdate;
    path?: never;
    query?: never;
    url: '/v1/account';
};

export type UpdateAccountErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key may not do this. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (it needs a key of the Secure tier).
     *
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type UpdateAccountError = UpdateAccountErrors[keyof UpdateAccountErrors];

export type UpdateAccountResponses = {
    /**
     * The account as it is now.
     */
    200: Account;
};

export type UpdateAccountResponse = UpdateAccountResponses[keyof UpdateAccountResponses];

export type ListAuditLogData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Sequence number of the last entry of the page before; the answer starts behind it.
         */
        starting_after?: number;
        /**
         * Only entries of this job. Sequence numbers have gaps then.
         */
        job_id?: JobId;
    };
    url: '/v1/audit-log';
};

export type ListAuditLogErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * The key is missing or not valid. Codes: `missing_api_key`, `invalid_api_key` (malformed, unknown, revoked, or
     * more than one `Authorization` header).
     *
     */
    401: Error;
    /**
     * The key may not do this. Codes: `account_pending_approval` (a live key of an account that is not approved),
     * `secure_tier_required` (it needs a key of the Secure tier).
     *
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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
    query?: never;
    url: '/v1/openapi.json';
};

export type GetOpenApiJsonErrors = {
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
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
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
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
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
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

export type GetDocsFileData = {
    body?: never;
    path: {
        /**
         * Name of the file. Anything else gives 404.
         */
        file: 'swagger-ui.css' | 'swagger-ui-bundle.js' | 'page.css' | 'start.js' | 'favicon-32x32.png';
    };
    query?: never;
    url: '/docs/{file}';
};

export type GetDocsFileErrors = {
    /**
     * The page has no such file. Code: `not_found`.
     */
    404: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
};

export type GetDocsFileError = GetDocsFileErrors[keyof GetDocsFileErrors];

export type GetDocsFileResponses = {
    /**
     * The file.
     */
    200: Blob | File;
};

export type GetDocsFileResponse = GetDocsFileResponses[keyof GetDocsFileResponses];

export type DownloadFileData = {
    body?: never;
    path: {
        /**
         * Opaque name of the file; may contain slashes.
         */
        key: string;
    };
    query: {
        /**
         * End of the link's validity, in seconds since the Unix epoch.
         */
        expires: string;
        /**
         * File name under which the download is saved.
         */
        name: string;
        /**
         * Content type of the file; absent in links to MP4 files.
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
     * The file does not exist any more. Code: `not_found`.
     */
    404: Error;
    /**
     * The range lies outside of the file. Code: `range_not_satisfiable`.
     */
    416: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
};

export type DownloadFileError = DownloadFileErrors[keyof DownloadFileErrors];

export type DownloadFileResponses = {
    /**
     * The whole file.
     */
    200: Blob | File;
    /**
     * The bytes that `Range` asked for.
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
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
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
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
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

export type ConsoleSignUpData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleSignUpInput;
    path?: never;
    query?: never;
    url: '/console/api/sign-up';
};

export type ConsoleSignUpErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * The browser says that another site sent it, or the service takes no sign-ups. Codes: `cross_site_request`, `sign_up_closed`.
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleSignUpError = ConsoleSignUpErrors[keyof ConsoleSignUpErrors];

export type ConsoleSignUpResponses = {
    /**
     * Taken.
     */
    202: ConsoleSignUpResult;
};

export type ConsoleSignUpResponse = ConsoleSignUpResponses[keyof ConsoleSignUpResponses];

export type ConsoleSignInData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleCredentials;
    path?: never;
    query?: never;
    url: '/console/api/sign-in';
};

export type ConsoleSignInErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * There is no such user with that password. Code: `invalid_credentials`.
     */
    401: Error;
    /**
     * The browser says that another site sent it. Code: `cross_site_request`.
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleSignInError = ConsoleSignInErrors[keyof ConsoleSignInErrors];

export type ConsoleSignInResponses = {
    /**
     * Signed in.
     */
    200: ConsoleSession;
};

export type ConsoleSignInResponse = ConsoleSignInResponses[keyof ConsoleSignInResponses];

export type ConsoleSignOutData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/sign-out';
};

export type ConsoleSignOutErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleSignOutError = ConsoleSignOutErrors[keyof ConsoleSignOutErrors];

export type ConsoleSignOutResponses = {
    /**
     * Signed out.
     */
    200: ConsoleSignedOut;
};

export type ConsoleSignOutResponse = ConsoleSignOutResponses[keyof ConsoleSignOutResponses];

export type ConsoleGetSessionData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/session';
};

export type ConsoleGetSessionErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetSessionError = ConsoleGetSessionErrors[keyof ConsoleGetSessionErrors];

export type ConsoleGetSessionResponses = {
    /**
     * The session.
     */
    200: ConsoleSession;
};

export type ConsoleGetSessionResponse = ConsoleGetSessionResponses[keyof ConsoleGetSessionResponses];

export type ConsoleChangePasswordData = {
    /**
     * At most 64 KB.
     */
    body: ConsolePasswordChange;
    path?: never;
    query?: never;
    url: '/console/api/password';
};

export type ConsoleChangePasswordErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The current password is wrong, or the request does not come from the console. Codes: `wrong_password`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleChangePasswordError = ConsoleChangePasswordErrors[keyof ConsoleChangePasswordErrors];

export type ConsoleChangePasswordResponses = {
    /**
     * Changed.
     */
    200: ConsoleSessionsEnded;
};

export type ConsoleChangePasswordResponse = ConsoleChangePasswordResponses[keyof ConsoleChangePasswordResponses];

export type ConsoleEndOtherSessionsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/sessions';
};

export type ConsoleEndOtherSessionsErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleEndOtherSessionsError = ConsoleEndOtherSessionsErrors[keyof ConsoleEndOtherSessionsErrors];

export type ConsoleEndOtherSessionsResponses = {
    /**
     * Ended.
     */
    200: ConsoleSessionsEnded;
};

export type ConsoleEndOtherSessionsResponse = ConsoleEndOtherSessionsResponses[keyof ConsoleEndOtherSessionsResponses];

export type ConsoleListSessionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last session of the page before; the answer starts behind it.
         */
        starting_after?: ConsoleSessionId;
    };
    url: '/console/api/sessions';
};

export type ConsoleListSessionsErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListSessionsError = ConsoleListSessionsErrors[keyof ConsoleListSessionsErrors];

export type ConsoleListSessionsResponses = {
    /**
     * One page of sessions.
     */
    200: ConsoleSessionList;
};

export type ConsoleListSessionsResponse = ConsoleListSessionsResponses[keyof ConsoleListSessionsResponses];

export type ConsoleEndSessionData = {
    body?: never;
    path: {
        /**
         * Id of the session. Anything that the account does not have gives 404.
         */
        id: ConsoleSessionId;
    };
    query?: never;
    url: '/console/api/sessions/{id}';
};

export type ConsoleEndSessionErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleEndSessionError = ConsoleEndSessionErrors[keyof ConsoleEndSessionErrors];

export type ConsoleEndSessionResponses = {
    /**
     * Ended.
     */
    200: ConsoleSessionsEnded;
};

export type ConsoleEndSessionResponse = ConsoleEndSessionResponses[keyof ConsoleEndSessionResponses];

export type ConsoleUpdateAccountData = {
    /**
     * At most 64 KB.
     */
    body: AccountUpdate;
    path?: never;
    query?: never;
    url: '/console/api/account';
};

export type ConsoleUpdateAccountErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleUpdateAccountError = ConsoleUpdateAccountErrors[keyof ConsoleUpdateAccountErrors];

export type ConsoleUpdateAccountResponses = {
    /**
     * The account.
     */
    200: ConsoleAccount;
};

export type ConsoleUpdateAccountResponse = ConsoleUpdateAccountResponses[keyof ConsoleUpdateAccountResponses];

export type ConsoleListKeysData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last key of the page before; the answer starts behind it.
         */
        starting_after?: KeyId;
    };
    url: '/console/api/keys';
};

export type ConsoleListKeysErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListKeysError = ConsoleListKeysErrors[keyof ConsoleListKeysErrors];

export type ConsoleListKeysResponses = {
    /**
     * One page of keys.
     */
    200: ConsoleKeyList;
};

export type ConsoleListKeysResponse = ConsoleListKeysResponses[keyof ConsoleListKeysResponses];

export type ConsoleCreateKeyData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleKeyInput;
    path?: never;
    query?: never;
    url: '/console/api/keys';
};

export type ConsoleCreateKeyErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * The account has 25 keys that work; revoke one first. Code: `key_limit_reached`.
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleCreateKeyError = ConsoleCreateKeyErrors[keyof ConsoleCreateKeyErrors];

export type ConsoleCreateKeyResponses = {
    /**
     * The key, shown this once.
     */
    201: ConsoleNewKey;
};

export type ConsoleCreateKeyResponse = ConsoleCreateKeyResponses[keyof ConsoleCreateKeyResponses];

export type ConsoleRevokeKeyData = {
    body?: never;
    path: {
        /**
         * Id of the key. Anything that the account does not have gives 404.
         */
        id: KeyId;
    };
    query?: never;
    url: '/console/api/keys/{id}';
};

export type ConsoleRevokeKeyErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleRevokeKeyError = ConsoleRevokeKeyErrors[keyof ConsoleRevokeKeyErrors];

export type ConsoleRevokeKeyResponses = {
    /**
     * The key.
     */
    200: ConsoleKey;
};

export type ConsoleRevokeKeyResponse = ConsoleRevokeKeyResponses[keyof ConsoleRevokeKeyResponses];

export type ConsoleRotateKeyData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleKeyRotationInput;
    path: {
        /**
         * Id of the key. Anything that the account does not have gives 404.
         */
        id: KeyId;
    };
    query?: never;
    url: '/console/api/keys/{id}/rotation';
};

export type ConsoleRotateKeyErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * The key does not work any more, or both would be more than 25 that do. Codes: `key_not_active`, `key_limit_reached`.
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleRotateKeyError = ConsoleRotateKeyErrors[keyof ConsoleRotateKeyErrors];

export type ConsoleRotateKeyResponses = {
    /**
     * The new key, shown this once.
     */
    201: ConsoleRotatedKey;
};

export type ConsoleRotateKeyResponse = ConsoleRotateKeyResponses[keyof ConsoleRotateKeyResponses];

export type ConsoleListJobsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last job of the page before; the answer starts behind it.
         */
        starting_after?: JobId;
        /**
         * Only jobs of this mode.
         */
        mode?: Mode;
        /**
         * Only jobs in this state.
         */
        status?: JobStatus;
        /**
         * Only jobs whose id contains this text.
         */
        q?: string;
    };
    url: '/console/api/jobs';
};

export type ConsoleListJobsErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListJobsError = ConsoleListJobsErrors[keyof ConsoleListJobsErrors];

export type ConsoleListJobsResponses = {
    /**
     * One page of jobs.
     */
    200: ConsoleJobList;
};

export type ConsoleListJobsResponse = ConsoleListJobsResponses[keyof ConsoleListJobsResponses];

export type ConsoleCreateJobData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleJobInput;
    headers?: {
        /**
         * Makes a repetition safe. 1 to 255 printable ASCII characters, not starting or ending in a space.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/console/api/jobs';
};

export type ConsoleCreateJobErrors = {
    /**
     * The request or the video was refused; nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown
     * field; `param` points at it; or a body that did not arrive within 30 s), `url_not_allowed` (the address is
     * malformed, private or blocked; the message says why), `video_unreachable`, `unreadable_video` (no video that
     * can be decoded, an encrypted one, or more than 250 frames for each billed second), `video_too_long` (over
     * 600 s), `video_too_large` (over 2,000,000,000 bytes).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The balance does not cover the charge. Code: `insufficient_credits`.
     */
    402: Error;
    /**
     * The account is not approved for live work, or the request does not come from the console. Codes: `account_pending_approval`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * The `Idempotency-Key` was used with another body. Code: `idempotency_key_reused`.
     */
    409: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleCreateJobError = ConsoleCreateJobErrors[keyof ConsoleCreateJobErrors];

export type ConsoleCreateJobResponses = {
    /**
     * The job was accepted and charged, or is the one made earlier under the same `Idempotency-Key`.
     */
    201: ConsoleJob;
};

export type ConsoleCreateJobResponse = ConsoleCreateJobResponses[keyof ConsoleCreateJobResponses];

export type ConsoleCreateQuoteData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleJobInput;
    path?: never;
    query?: never;
    url: '/console/api/quotes';
};

export type ConsoleCreateQuoteErrors = {
    /**
     * The request or the video was refused; nothing was charged. Codes: `invalid_json` (malformed JSON, a
     * duplicate name, deep nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown
     * field; `param` points at it; or a body that did not arrive within 30 s), `url_not_allowed` (the address is
     * malformed, private or blocked; the message says why), `video_unreachable`, `unreadable_video` (no video that
     * can be decoded, an encrypted one, or more than 250 frames for each billed second), `video_too_long` (over
     * 600 s), `video_too_large` (over 2,000,000,000 bytes).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The account is not approved for live work, or the request does not come from the console. Codes: `account_pending_approval`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleCreateQuoteError = ConsoleCreateQuoteErrors[keyof ConsoleCreateQuoteErrors];

export type ConsoleCreateQuoteResponses = {
    /**
     * The price and the estimate.
     */
    200: Quote;
};

export type ConsoleCreateQuoteResponse = ConsoleCreateQuoteResponses[keyof ConsoleCreateQuoteResponses];

export type ConsoleDeleteJobData = {
    body?: never;
    path: {
        /**
         * Id of the job, of either mode. Anything that the account does not have gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/console/api/jobs/{id}';
};

export type ConsoleDeleteJobErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleDeleteJobError = ConsoleDeleteJobErrors[keyof ConsoleDeleteJobErrors];

export type ConsoleDeleteJobResponses = {
    /**
     * The job was deleted.
     */
    200: JobDeletion;
};

export type ConsoleDeleteJobResponse = ConsoleDeleteJobResponses[keyof ConsoleDeleteJobResponses];

export type ConsoleGetJobData = {
    body?: never;
    path: {
        /**
         * Id of the job, of either mode. Anything that the account does not have gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/console/api/jobs/{id}';
};

export type ConsoleGetJobErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetJobError = ConsoleGetJobErrors[keyof ConsoleGetJobErrors];

export type ConsoleGetJobResponses = {
    /**
     * The job.
     */
    200: ConsoleJobDetail;
};

export type ConsoleGetJobResponse = ConsoleGetJobResponses[keyof ConsoleGetJobResponses];

export type ConsoleGetJobLinksData = {
    body?: never;
    path: {
        /**
         * Id of the job, of either mode. Anything that the account does not have gives 404.
         */
        id: JobId;
    };
    query?: never;
    url: '/console/api/jobs/{id}/links';
};

export type ConsoleGetJobLinksErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * There is no such job. Code: `job_not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetJobLinksError = ConsoleGetJobLinksErrors[keyof ConsoleGetJobLinksErrors];

export type ConsoleGetJobLinksResponses = {
    /**
     * The links.
     */
    200: ConsoleJobLinks;
};

export type ConsoleGetJobLinksResponse = ConsoleGetJobLinksResponses[keyof ConsoleGetJobLinksResponses];

export type ConsoleStreamJobsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/job-events';
};

export type ConsoleStreamJobsErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleStreamJobsError = ConsoleStreamJobsErrors[keyof ConsoleStreamJobsErrors];

export type ConsoleStreamJobsResponses = {
    /**
     * The stream.
     */
    200: ConsoleJobEvent;
};

export type ConsoleStreamJobsResponse = ConsoleStreamJobsResponses[keyof ConsoleStreamJobsResponses];

export type ConsoleUploadData = {
    /**
     * The file, at most 2,000,000,000 bytes.
     */
    body: Blob | File;
    path?: never;
    query?: never;
    url: '/console/api/uploads';
};

export type ConsoleUploadErrors = {
    /**
     * The body is empty or did not arrive in full. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The account is not approved, or the request does not come from the console. Codes: `account_pending_approval`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * The service takes no uploads. Code: `not_found`.
     */
    404: Error;
    /**
     * The file is larger than 2,000,000,000 bytes. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/octet-stream`. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleUploadError = ConsoleUploadErrors[keyof ConsoleUploadErrors];

export type ConsoleUploadResponses = {
    /**
     * The address.
     */
    201: ConsoleUpload;
};

export type ConsoleUploadResponse = ConsoleUploadResponses[keyof ConsoleUploadResponses];

export type ConsoleGetWebhookSecretData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/webhooks/secret';
};

export type ConsoleGetWebhookSecretErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetWebhookSecretError = ConsoleGetWebhookSecretErrors[keyof ConsoleGetWebhookSecretErrors];

export type ConsoleGetWebhookSecretResponses = {
    /**
     * The secret.
     */
    200: ConsoleWebhookSecret;
};

export type ConsoleGetWebhookSecretResponse = ConsoleGetWebhookSecretResponses[keyof ConsoleGetWebhookSecretResponses];

export type ConsoleRotateWebhookSecretData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/webhooks/secret/rotation';
};

export type ConsoleRotateWebhookSecretErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleRotateWebhookSecretError = ConsoleRotateWebhookSecretErrors[keyof ConsoleRotateWebhookSecretErrors];

export type ConsoleRotateWebhookSecretResponses = {
    /**
     * The new secret.
     */
    201: ConsoleWebhookSecret;
};

export type ConsoleRotateWebhookSecretResponse = ConsoleRotateWebhookSecretResponses[keyof ConsoleRotateWebhookSecretResponses];

export type ConsoleSwitchWebhookSecretData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/webhooks/secret/switch';
};

export type ConsoleSwitchWebhookSecretErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleSwitchWebhookSecretError = ConsoleSwitchWebhookSecretErrors[keyof ConsoleSwitchWebhookSecretErrors];

export type ConsoleSwitchWebhookSecretResponses = {
    /**
     * The secret.
     */
    200: ConsoleWebhookSecret;
};

export type ConsoleSwitchWebhookSecretResponse = ConsoleSwitchWebhookSecretResponses[keyof ConsoleSwitchWebhookSecretResponses];

export type ConsoleListDeliveriesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last delivery of the page before; the answer starts behind it.
         */
        starting_after?: EventId;
        /**
         * Only deliveries in this state.
         */
        state?: 'pending' | 'delivered' | 'dead' | 'stopped';
        /**
         * Only those of this job.
         */
        job_id?: JobId;
    };
    url: '/console/api/webhooks/deliveries';
};

export type ConsoleListDeliveriesErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListDeliveriesError = ConsoleListDeliveriesErrors[keyof ConsoleListDeliveriesErrors];

export type ConsoleListDeliveriesResponses = {
    /**
     * One page of deliveries.
     */
    200: ConsoleDeliveryList;
};

export type ConsoleListDeliveriesResponse = ConsoleListDeliveriesResponses[keyof ConsoleListDeliveriesResponses];

export type ConsoleGetDeliveryData = {
    body?: never;
    path: {
        /**
         * Id of the delivery, which is that of the event. Anything that the account does not have gives 404.
         */
        id: EventId;
    };
    query?: never;
    url: '/console/api/webhooks/deliveries/{id}';
};

export type ConsoleGetDeliveryErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetDeliveryError = ConsoleGetDeliveryErrors[keyof ConsoleGetDeliveryErrors];

export type ConsoleGetDeliveryResponses = {
    /**
     * The delivery.
     */
    200: ConsoleDeliveryDetail;
};

export type ConsoleGetDeliveryResponse = ConsoleGetDeliveryResponses[keyof ConsoleGetDeliveryResponses];

export type ConsoleResendDeliveryData = {
    body?: never;
    path: {
        /**
         * Id of the delivery. Anything that the account does not have gives 404.
         */
        id: EventId;
    };
    query?: never;
    url: '/console/api/webhooks/deliveries/{id}/resend';
};

export type ConsoleResendDeliveryErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * The job was deleted, and with it the address. Code: `delivery_not_resendable`.
     */
    409: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleResendDeliveryError = ConsoleResendDeliveryErrors[keyof ConsoleResendDeliveryErrors];

export type ConsoleResendDeliveryResponses = {
    /**
     * It is queued.
     */
    202: ConsoleDeliveryDetail;
};

export type ConsoleResendDeliveryResponse = ConsoleResendDeliveryResponses[keyof ConsoleResendDeliveryResponses];

export type ConsoleTestWebhookData = {
    /**
     * At most 64 KB.
     */
    body: ConsoleWebhookTestInput;
    path?: never;
    query?: never;
    url: '/console/api/webhooks/test';
};

export type ConsoleTestWebhookErrors = {
    /**
     * The request was refused. Codes: `invalid_json`, `invalid_request`, `url_not_allowed`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The request does not come from the console. Codes: `csrf_token_invalid` (`X-CSRF-Token` is missing or belongs to another session), `cross_site_request` (the browser says that another site sent it).
     */
    403: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleTestWebhookError = ConsoleTestWebhookErrors[keyof ConsoleTestWebhookErrors];

export type ConsoleTestWebhookResponses = {
    /**
     * The job that will end.
     */
    201: ConsoleWebhookTest;
};

export type ConsoleTestWebhookResponse = ConsoleTestWebhookResponses[keyof ConsoleTestWebhookResponses];

export type ConsoleListLedgerData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Number of the last entry of the page before; the answer starts behind it.
         */
        starting_after?: number;
    };
    url: '/console/api/ledger';
};

export type ConsoleListLedgerErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListLedgerError = ConsoleListLedgerErrors[keyof ConsoleListLedgerErrors];

export type ConsoleListLedgerResponses = {
    /**
     * One page of entries.
     */
    200: ConsoleLedger;
};

export type ConsoleListLedgerResponse = ConsoleListLedgerResponses[keyof ConsoleListLedgerResponses];

export type ConsoleGetUsageData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * How many days, today included.
         */
        days?: number;
    };
    url: '/console/api/usage';
};

export type ConsoleGetUsageErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleGetUsageError = ConsoleGetUsageErrors[keyof ConsoleGetUsageErrors];

export type ConsoleGetUsageResponses = {
    /**
     * The days.
     */
    200: ConsoleUsage;
};

export type ConsoleGetUsageResponse = ConsoleGetUsageResponses[keyof ConsoleGetUsageResponses];

export type ConsoleListAuditLogData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Number of the last entry of the page before; the answer starts behind it.
         */
        starting_after?: number;
        /**
         * Only entries about this job, also a deleted one.
         */
        job_id?: JobId;
    };
    url: '/console/api/audit-log';
};

export type ConsoleListAuditLogErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListAuditLogError = ConsoleListAuditLogErrors[keyof ConsoleListAuditLogErrors];

export type ConsoleListAuditLogResponses = {
    /**
     * One page of entries.
     */
    200: AuditLog;
};

export type ConsoleListAuditLogResponse = ConsoleListAuditLogResponses[keyof ConsoleListAuditLogResponses];

export type ConsoleExportAuditLogData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/audit-log/export';
};

export type ConsoleExportAuditLogErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleExportAuditLogError = ConsoleExportAuditLogErrors[keyof ConsoleExportAuditLogErrors];

export type ConsoleExportAuditLogResponses = {
    /**
     * The whole log.
     */
    200: AuditExport;
};

export type ConsoleExportAuditLogResponse = ConsoleExportAuditLogResponses[keyof ConsoleExportAuditLogResponses];

export type ConsoleListCertificatesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last certificate of the page before; the answer starts behind it.
         */
        starting_after?: string;
        /**
         * Only that of this job.
         */
        job_id?: JobId;
    };
    url: '/console/api/certificates';
};

export type ConsoleListCertificatesErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type ConsoleListCertificatesError = ConsoleListCertificatesErrors[keyof ConsoleListCertificatesErrors];

export type ConsoleListCertificatesResponses = {
    /**
     * One page of certificates.
     */
    200: ConsoleCertificateList;
};

export type ConsoleListCertificatesResponse = ConsoleListCertificatesResponses[keyof ConsoleListCertificatesResponses];

export type OperatorGetOverviewData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/console/api/operator/overview';
};

export type OperatorGetOverviewErrors = {
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator. Code: `operator_required`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorGetOverviewError = OperatorGetOverviewErrors[keyof OperatorGetOverviewErrors];

export type OperatorGetOverviewResponses = {
    /**
     * The state now.
     */
    200: OperatorOverview;
};

export type OperatorGetOverviewResponse = OperatorGetOverviewResponses[keyof OperatorGetOverviewResponses];

export type OperatorListAccountsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last account of the page before; the answer starts behind it.
         */
        starting_after?: AccountId;
        /**
         * Only accounts in this state.
         */
        state?: 'pending' | 'approved' | 'rejected';
    };
    url: '/console/api/operator/accounts';
};

export type OperatorListAccountsErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator. Code: `operator_required`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorListAccountsError = OperatorListAccountsErrors[keyof OperatorListAccountsErrors];

export type OperatorListAccountsResponses = {
    /**
     * One page of accounts.
     */
    200: OperatorAccountList;
};

export type OperatorListAccountsResponse = OperatorListAccountsResponses[keyof OperatorListAccountsResponses];

export type OperatorDecideData = {
    /**
     * At most 64 KB.
     */
    body: OperatorDecision;
    path: {
        /**
         * Id of the account. Anything that the account does not have gives 404.
         */
        id: AccountId;
    };
    query?: never;
    url: '/console/api/operator/accounts/{id}/decision';
};

export type OperatorDecideErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator, or the request does not come from the console. Codes: `operator_required`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorDecideError = OperatorDecideErrors[keyof OperatorDecideErrors];

export type OperatorDecideResponses = {
    /**
     * The account.
     */
    200: OperatorAccount;
};

export type OperatorDecideResponse = OperatorDecideResponses[keyof OperatorDecideResponses];

export type OperatorGrantData = {
    /**
     * At most 64 KB.
     */
    body: OperatorGrant;
    path: {
        /**
         * Id of the account. Anything that the account does not have gives 404.
         */
        id: AccountId;
    };
    query?: never;
    url: '/console/api/operator/accounts/{id}/grants';
};

export type OperatorGrantErrors = {
    /**
     * The request was refused; nothing was changed. Codes: `invalid_json` (malformed JSON, a duplicate name, deep
     * nesting, U+0000 or a lone surrogate), `invalid_request` (a missing, bad or unknown field; `param` points at it;
     * or a body that did not arrive within 30 s).
     *
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator, or the request does not come from the console. Codes: `operator_required`, `csrf_token_invalid`, `cross_site_request`.
     */
    403: Error;
    /**
     * There is no such thing in the account. Code: `not_found`.
     */
    404: Error;
    /**
     * The body is larger than 64 KB. Code: `payload_too_large`.
     */
    413: Error;
    /**
     * The body is not `application/json` in UTF-8. Code: `unsupported_media_type`.
     */
    415: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorGrantError = OperatorGrantErrors[keyof OperatorGrantErrors];

export type OperatorGrantResponses = {
    /**
     * The account.
     */
    201: OperatorAccount;
};

export type OperatorGrantResponse = OperatorGrantResponses[keyof OperatorGrantResponses];

export type OperatorListWorkersData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last worker of the page before; the answer starts behind it.
         */
        starting_after?: string;
    };
    url: '/console/api/operator/workers';
};

export type OperatorListWorkersErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator. Code: `operator_required`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorListWorkersError = OperatorListWorkersErrors[keyof OperatorListWorkersErrors];

export type OperatorListWorkersResponses = {
    /**
     * One page of workers.
     */
    200: OperatorWorkerList;
};

export type OperatorListWorkersResponse = OperatorListWorkersResponses[keyof OperatorListWorkersResponses];

export type OperatorListFailuresData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Number of entries on a page.
         */
        limit?: number;
        /**
         * Id of the last job of the page before; the answer starts behind it.
         */
        starting_after?: JobId;
    };
    url: '/console/api/operator/failures';
};

export type OperatorListFailuresErrors = {
    /**
     * A parameter is bad; `param` points at it. Code: `invalid_request`.
     */
    400: Error;
    /**
     * Nobody is signed in. Codes: `missing_session` (there is no session cookie), `invalid_session` (the session is unknown, has expired or was ended).
     */
    401: Error;
    /**
     * The user is no operator. Code: `operator_required`.
     */
    403: Error;
    /**
     * A limit of the key or its account is exceeded; back off and retry. Code: `rate_limit_exceeded`.
     */
    429: Error;
    /**
     * The service failed. Code: `internal_error`. The cause is in its log under the request id.
     */
    500: Error;
    /**
     * A part that the service needs does not answer; retry later. Code: `service_unavailable`.
     */
    503: Error;
};

export type OperatorListFailuresError = OperatorListFailuresErrors[keyof OperatorListFailuresErrors];

export type OperatorListFailuresResponses = {
    /**
     * One page of failures.
     */
    200: OperatorFailureList;
};

export type OperatorListFailuresResponse = OperatorListFailuresResponses[keyof OperatorListFailuresResponses];

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

/**
 * Client for the Reelmend API. `createReelmend({ baseUrl, apiKey })` returns a client with all calls by resource, with
 * retries and typed errors. `verifyWebhook` verifies webhooks. `generated` has the functions generated from
 * openapi.yaml.
 */
export { createReelmend } from './reelmend.ts';
export type { AuditLogQuery, LedgerQuery, Reelmend, ReelmendOptions, ListQuery, PreviewsQuery, RequestLogQuery, UploadsQuery, UsageQuery } from './reelmend.ts';
// JobInput and PreviewInput require exactly one of `video_url` and `upload_id`, which the generated types cannot express.
export type { CreateOptions, JobInput, PreviewInput } from './inputs.ts';
export type { EnhanceInput, EnhanceOptions, EnhanceProgress } from './enhance.ts';
export type { CallOptions } from './call.ts';
export type { JobEvent } from './events.ts';
export type { WaitOptions } from './wait.ts';
export { sendUpload } from './uploads.ts';
export type { SendOptions, SendUploadOptions, UploadCalls, UploadOptions, UploadProgress } from './uploads.ts';
export type { DownloadedFile, DownloadOptions, DownloadProgress } from './download.ts';
export type { Page, PagePromise } from './pages.ts';
export type { Answer, ApiPromise } from './promises.ts';
export {
  AuthenticationError,
  BillingError,
  ConflictError,
  ReelmendApiError,
  ReelmendConnectionError,
  ReelmendError,
  ReelmendTimeoutError,
  JobFailedError,
  NotFoundError,
  PermissionError,
  PreviewFailedError,
  RateLimitError,
  ServerError,
  UploadFailedError,
  ValidationError,
  WaitTimeoutError,
} from './errors.ts';
export type { CallHistory, ErrorCode, ErrorType } from './errors.ts';
export { verifyWebhook, WebhookVerificationError } from './webhook.ts';
export type { VerifyWebhookOptions, WebhookEvent, WebhookEventName, WebhookEvents, WebhookProblem } from './webhook.ts';
export * as generated from './sdk.gen.ts';
export type * from './types.gen.ts';

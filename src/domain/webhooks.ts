/** Webhooks: their body, their signatures, and the schedule of their attempts. */
import { createHmac, randomBytes } from 'node:crypto';

export const webhookEvents = ['job.completed', 'job.failed'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** The job of test events to webhook endpoints; no job has this id. */
export const testEventJobId = 'job_00000000000000000000000000';

const statusOf: Readonly<Record<WebhookEvent, 'done' | 'error'>> = { 'job.completed': 'done', 'job.failed': 'error' };

/** The raw body; it has exactly these three fields. */
export function webhookBody(event: WebhookEvent, jobId: string): string {
  return JSON.stringify({ event, job_id: jobId, status: statusOf[event] });
}

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** Secrets of one owner that sign at a time: the header has a signature of each, about 50 bytes. */
export const maxActiveSecrets = 10;

export interface WebhookMessage {
  /** `evt_…`, the same in every attempt */
  id: string;
  /** time of this attempt */
  at: Date;
  body: string;
  /** the account's secrets, newest first, at least one; each makes a signature in `webhook-signature` */
  secrets: readonly string[];
  /** the one that makes `x-service-signature` */
  serviceSecret: string;
}

/**
 * Headers of one attempt. `x-service-signature` is the lower-case hex HMAC-SHA256 of the body, keyed with the secret
 * exactly as it is shown. The three headers of Standard Webhooks 1.0.0 sign id and time as well, keyed with the decoded
 * base64 after `whsec_`; while a secret is being replaced, `webhook-signature` has a signature of each.
 */
export function webhookHeaders({ id, at, body, secrets, serviceSecret }: WebhookMessage): Record<string, string> {
  if (secrets.length === 0) throw new RangeError('Expected at least one secret for secrets but received none');
  const timestamp = Math.floor(at.getTime() / 1000).toString();
  const keys = secrets.map((secret) => Buffer.from(secret.slice(secretPrefix.length), 'base64'));
  const signatures = keys.map((key) => `v1,${hmac(key, `${id}.${timestamp}.${body}`).toString('base64')}`);
  return {
    'content-type': 'application/json',
    'user-agent': 'Reelmend-Webhooks/1',
    'x-service-signature': hmac(Buffer.from(serviceSecret, 'utf8'), body).toString('hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

const minute = 60;
const hour = 3600;
/** when the attempts of a delivery are due, seconds after the first */
export const webhookScheduleS = [
  0,
  5,
  30,
  2 * minute,
  10 * minute,
  30 * minute,
  2 * hour,
  6 * hour,
  12 * hour,
  24 * hour,
] as const;
/** a longer Retry-After is cut to this */
const maxRetryAfterS = 24 * hour;
const jitter = 0.1;

export interface NextAttempt {
  /** failed attempts so far, at least 1 */
  failed: number;
  /** the receiver's Retry-After, seconds */
  retryAfterS: number | null;
  /** due times, seconds after the first */
  scheduleS?: readonly number[];
  /** 0…1, spreads the attempts so that a recovered receiver does not get all deliveries at once */
  random: number;
}

/** Seconds until the next attempt, never sooner than the receiver requested; null after the last one. */
export function nextAttemptInS({ failed, retryAfterS, scheduleS = webhookScheduleS, random }: NextAttempt): number | null {
  const [before, due] = [scheduleS[failed - 1], scheduleS[failed]];
  if (before === undefined || due === undefined) return null;
  const gap = (due - before) * (1 + jitter * (2 * random - 1));
  return Math.max(gap, Math.min(retryAfterS ?? 0, maxRetryAfterS));
}

/** Seconds that a Retry-After header asks for (RFC 9110 §10.2.3); null when it is missing or invalid. */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, (at - now.getTime()) / 1000);
}

/**
 * Verifies webhooks of the service. Uses only Web Crypto, so it runs in Node ≥ 20, Deno, Bun, browsers and edge workers.
 *
 * Every delivery has two kinds of signatures. `X-Service-Signature` is the lower-case hex HMAC-SHA256 of the body; its
 * key is the secret as shown. The headers of Standard Webhooks 1.0.0 sign id, time and body, which prevents replays;
 * their key is the decoded base64 after `whsec_`.
 */
import { ReelmendError } from './errors.ts';
import type { Webhooks } from './types.gen.ts';

/** Every event of the contract; `event` tells them apart. Later versions may send others: ignore unknown names. */
export type WebhookEvent = Webhooks['body'];
/** The events by their names: `WebhookEvents['job.completed']`. */
export type WebhookEvents = { [Event in WebhookEvent as Event['event']]: Event };
export type WebhookEventName = keyof WebhookEvents;

export interface VerifyWebhookOptions {
  /** The raw body as received. Do not pass parsed and re-serialized JSON. */
  body: string | Uint8Array | ArrayBuffer;
  /** Headers of the request: `Headers`, or a plain object such as Node's `request.headers`. Names in any case. */
  headers: { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;
  /** The signing secret, `whsec_…`: the account's, or the webhook endpoint's own. Pass both secrets during a rotation. */
  secret: string | readonly string[];
  /** Largest difference between `webhook-timestamp` and the clock in seconds; default 300. */
  toleranceS?: number;
}

export type WebhookProblem =
  /** The secret is not `whsec_` and base64, or there is none. The receiver is misconfigured. */
  | 'invalid_secret'
  | 'missing_header'
  | 'invalid_header'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_mismatch'
  /** The body is signed but not an event. */
  | 'invalid_body';

/** Do not trust the request. Respond with 400, or with 500 for `invalid_secret`, since the receiver is at fault then. */
export class WebhookVerificationError extends ReelmendError {
  override name = 'WebhookVerificationError';
  readonly code: WebhookProblem;

  constructor(code: WebhookProblem, message: string) {
    super(message);
    this.code = code;
  }
}

const hmac = { name: 'HMAC', hash: 'SHA-256' } as const;
type Bytes = Uint8Array<ArrayBuffer>;
/** base64 of 32 bytes */
const signaturePattern = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Resolves with the event of a valid webhook. Rejects with WebhookVerificationError for an invalid one, and with a TypeError for a
 * body that is no text and no bytes, or a tolerance that is no number. A webhook may arrive more than once; all its deliveries have the same `webhook-id`.
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { headers, toleranceS = 300 } = options;
  const body = bytesOf(options.body);
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const standard = header(headers, 'webhook-signature').split(' ');
  const service = header(headers, 'x-service-signature');
  checkTime(timestamp, toleranceS);
  if (!/^[0-9a-f]{64}$/.test(service)) {
    throw new WebhookVerificationError(
      'invalid_header',
      'The header x-service-signature is not lower-case hex of 32 bytes.',
    );
  }

  const signed = standard.flatMap((entry) => (entry.startsWith('v1,') ? decode(entry.slice(3)) : []));
  const content = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const secrets = [options.secret].flat();
  if (secrets.length === 0) throw new WebhookVerificationError('invalid_secret', 'There is no secret.');
  const keys = await Promise.all(secrets.map(importKeys));
  const standardMatches = await anyMatches(keys.map(({ standard: key }) => key), signed, content);
  // During a rotation webhook-signature carries both signatures, but this header only one of them.
  const serviceKeys = keys.map(({ service: key }) => key);
  const serviceMatches = (await anyMatches(serviceKeys, [hexBytes(service)], body)) || signed.length > 1;
  if (!standardMatches || !serviceMatches) {
    throw new WebhookVerificationError(
      'signature_mismatch',
      'The signature does not match the body under this secret.',
    );
  }
  return parse(body);
}

function checkTime(timestamp: string, toleranceS: number): void {
  // No age is greater than NaN, so every webhook would pass, however old.
  if (Number.isNaN(Number(toleranceS))) throw new TypeError('toleranceS must be a number of seconds.');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('invalid_header', 'The header webhook-timestamp is not in seconds since 1970.');
  }
  const age = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (age > toleranceS) throw new WebhookVerificationError('timestamp_too_old', `The webhook was sent ${age} s ago.`);
  if (-age > toleranceS) {
    throw new WebhookVerificationError('timestamp_too_new', `The webhook was sent ${-age} s in the future.`);
  }
}

function header(headers: VerifyWebhookOptions['headers'], name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : plainHeader(headers, name);
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError('missing_header', `The header ${name} is missing.`);
  }
  return value;
}

/** Checks for the method and not the class, since frameworks have their own `Headers`. */
function isHeaders(headers: VerifyWebhookOptions['headers']): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

/** Joins repeated headers as `Headers` does. The result is then invalid. */
function plainHeader(headers: Record<string, string | readonly string[] | undefined>, name: string): string {
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []));
  return values.join(', ');
}

/** What a secret encodes; undefined if it is not `whsec_` and base64. */
export function secretBytes(secret: string): Bytes | undefined {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  try {
    return encoded === undefined ? undefined : fromBase64(encoded);
  } catch {
    return undefined; // too few characters, or too many of `=`
  }
}

/** Both signatures use the same secret, but derive their keys differently. */
async function importKeys(secret: string): Promise<{ standard: CryptoKey; service: CryptoKey }> {
  const decoded = secretBytes(secret);
  if (decoded === undefined) throw new WebhookVerificationError('invalid_secret', 'The secret must be whsec_ followed by base64.');
  const [standard, service] = await Promise.all(
    [decoded, new TextEncoder().encode(secret)].map((key) =>
      crypto.subtle.importKey('raw', key, hmac, false, ['verify']),
    ),
  );
  return { standard: standard!, service: service! };
}

/** `crypto.subtle.verify` compares in constant time. */
async function anyMatches(keys: CryptoKey[], signatures: Bytes[], content: Bytes): Promise<boolean> {
  const pairs = keys.flatMap((key) => signatures.map((signature) => ({ key, signature })));
  const results = await Promise.all(
    pairs.map(({ key, signature }) => crypto.subtle.verify(hmac, key, signature, content)),
  );
  return results.includes(true);
}

/** Accepts only canonical base64: in the base64 of 32 bytes, a lenient decoder ignores two bits. */
function decode(signature: string): Bytes[] {
  if (!signaturePattern.test(signature)) return [];
  const bytes = fromBase64(signature);
  return btoa(String.fromCharCode(...bytes)) === signature ? [bytes] : [];
}

function fromBase64(text: string): Bytes {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function hexBytes(hex: string): Bytes {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Throws a TypeError for what a framework has parsed or not read: it would look like a forgery. */
function bytesOf(body: VerifyWebhookOptions['body']): Bytes {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  // Not `instanceof`: a buffer may come from another realm, as in Jest.
  const isBuffer = ArrayBuffer.isView(body) || Object.prototype.toString.call(body) === '[object ArrayBuffer]';
  if (isBuffer) return new Uint8Array(body);
  throw new TypeError('body must be the raw body, as text or bytes. Make the framework keep it: express.raw(), for example, not express.json().');
}

function concat(first: Uint8Array, second: Uint8Array): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function parse(body: Bytes): WebhookEvent {
  const problem = () => new WebhookVerificationError('invalid_body', 'The body is signed, but not an event.');
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw problem();
  }
  if (typeof event !== 'object' || event === null) throw problem();
  const fields = event as Record<string, unknown>;
  if ([fields['event'], fields['job_id'], fields['status']].some((value) => typeof value !== 'string')) throw problem();
  return event as WebhookEvent;
}

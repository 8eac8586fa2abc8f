/** Signed, time-limited links of the filesystem storage, to download a file or to send a part of one. The API verifies them. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isStorageKey } from './object-keys.ts';

/** The content of a link; the signature covers all of it. */
export interface LinkClaims {
  key: string;
  /** Unix time in seconds; the link works up to and including it */
  expires: number;
  fileName: string;
  contentType: string;
}

/** The query of a download request, as received. */
export interface LinkQuery {
  key: string;
  expires: string | number;
  name: string;
  /** content type; absent in links to MP4 files */
  type?: string | undefined;
  signature: string;
}

export type LinkVerifyResult =
  { ok: true; key: string; fileName: string; contentType: string } | { ok: false; reason: 'expired' | 'invalid' };

const defaultContentType = 'video/mp4';

const wholeNumber = /^[1-9][0-9]{0,14}$/;
const hexSignature = /^[0-9a-f]{64}$/;

/** Signs JSON, which separates the fields, so that two different links never sign the same text. */
function sign(secret: string, claims: LinkClaims): Buffer {
  const text = JSON.stringify(['reelmend-link-v1', claims.key, claims.expires, claims.fileName, claims.contentType]);
  return createHmac('sha256', secret).update(text).digest();
}

/** `<base>/v1/downloads/<key>?expires=…&name=…[&type=…]&signature=<hex>` */
export function makeLink(base: string, secret: string, claims: LinkClaims): string {
  const query = new URLSearchParams({ expires: String(claims.expires), name: claims.fileName });
  if (claims.contentType !== defaultContentType) query.set('type', claims.contentType);
  query.set('signature', sign(secret, claims).toString('hex'));
  return `${base.replace(/\/+$/, '')}/v1/downloads/${claims.key}?${query}`;
}

/**
 * Whether a link was made here and has not expired. The signature is checked before the clock, in constant time, so that
 * a link with an altered expiry is `invalid` and not `expired`.
 */
export function verifyLink(secret: string, query: LinkQuery, nowMs: number): LinkVerifyResult {
  const invalid = { ok: false, reason: 'invalid' } as const;
  if (!isStorageKey(query.key) || !wholeNumber.test(String(query.expires)) || !hexSignature.test(query.signature)) return invalid;
  const claims: LinkClaims = {
    key: query.key,
    expires: Number(query.expires),
    fileName: query.name,
    contentType: query.type ?? defaultContentType,
  };
  if (!timingSafeEqual(sign(secret, claims), Buffer.from(query.signature, 'hex'))) return invalid;
  if (nowMs / 1000 > claims.expires) return { ok: false, reason: 'expired' };
  return { ok: true, key: claims.key, fileName: claims.fileName, contentType: claims.contentType };
}

/** The content of a link to send a part; the signature covers all of it. */
export interface PartClaims {
  key: string;
  /** id of the multipart upload */
  upload: string;
  number: number;
  /** bytes */
  size: number;
  /** Unix time in seconds; the link works up to and including it */
  expires: number;
}

/** The query of a request that sends a part, as received. */
export type PartQuery = Record<'key' | 'upload' | 'number' | 'size' | 'expires' | 'signature', string>;

export type PartLinkVerifyResult = { ok: true; part: PartClaims } | { ok: false; reason: 'expired' | 'invalid' };

function signPart(secret: string, { key, upload, number, size, expires }: PartClaims): Buffer {
  const text = JSON.stringify(['reelmend-part-v1', key, upload, number, size, expires]);
  return createHmac('sha256', secret).update(text).digest();
}

/** `<base>/v1/upload-parts/<key>?upload=…&number=…&size=…&expires=…&signature=<hex>` */
export function makePartLink(base: string, secret: string, claims: PartClaims): string {
  const { key, upload, number, size, expires } = claims;
  const query = new URLSearchParams({ upload, number: String(number), size: String(size), expires: String(expires) });
  query.set('signature', signPart(secret, claims).toString('hex'));
  return `${base.replace(/\/+$/, '')}/v1/upload-parts/${key}?${query}`;
}

/** Whether a link to send a part was made here and has not expired; checked like `verifyLink`. */
export function verifyPartLink(secret: string, query: PartQuery, nowMs: number): PartLinkVerifyResult {
  const invalid = { ok: false, reason: 'invalid' } as const;
  const { key, upload, number, size, expires, signature } = query;
  if (!isStorageKey(key) || !/^[0-9a-f]{32}$/.test(upload) || !hexSignature.test(signature)) return invalid;
  if (![number, size, expires].every((text) => wholeNumber.test(text))) return invalid;
  const part: PartClaims = { key, upload, number: Number(number), size: Number(size), expires: Number(expires) };
  if (!timingSafeEqual(signPart(secret, part), Buffer.from(signature, 'hex'))) return invalid;
  return nowMs / 1000 > part.expires ? { ok: false, reason: 'expired' } : { ok: true, part };
}

/** Signed, time-limited download links of the filesystem storage; the API's download route verifies them. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isStorageKey } from './keys.ts';

/** The content of a link, all of it covered by the signature. */
export interface LinkClaims {
  key: string;
  /** Unix time in seconds; the link works up to and including it */
  expires: number;
  fileName: string;
  contentType: string;
}

/** The query of a download request, as it came. */
export interface LinkQuery {
  key: string;
  expires: string | number;
  name: string;
  /** content type; absent in links to MP4 files */
  type?: string | undefined;
  signature: string;
}

export type LinkVerdict =
  { ok: true; key: string; fileName: string; contentType: string } | { ok: false; reason: 'expired' | 'invalid' };

export const defaultContentType = 'video/mp4';

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
export function verifyLink(secret: string, query: LinkQuery, nowMs: number): LinkVerdict {
  const invalid = { ok: false, reason: 'invalid' } as const;
  if (!isStorageKey(query.key) || !/^[1-9][0-9]{0,14}$/.test(String(query.expires))) return invalid;
  if (!/^[0-9a-f]{64}$/.test(query.signature)) return invalid;
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

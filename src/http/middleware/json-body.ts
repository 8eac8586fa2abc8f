import { createMiddleware } from 'hono/factory';
import { FrameliftError } from '../../domain/errors.ts';
import { parseStrictJson } from '../strict-json.ts';

export interface JsonBodyOptions {
  /** largest body in bytes */
  limitBytes: number;
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

function tooLarge(limitBytes: number): FrameliftError {
  return new FrameliftError('payload_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

/** Reads at most `limitBytes`, whatever Content-Length says or where there is none (chunked). */
async function readBody(request: Request, limitBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream, so that the rest is not read.
    if (size > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new FrameliftError('invalid_json', 'The request body is not UTF-8.', { cause });
  }
}

/**
 * Takes a required JSON body: size, content type, strict JSON, in this order. What it read is left for the
 * validators behind it. Throws FrameliftError `payload_too_large`, `unsupported_media_type`, `invalid_json`, or
 * `invalid_request` for no body at all.
 */
export function jsonBody({ limitBytes }: JsonBodyOptions) {
  return createMiddleware(async (c, next) => {
    const bytes = await readBody(c.req.raw, limitBytes);
    const type = c.req.header('Content-Type');
    if (bytes.byteLength === 0 && (type === undefined || jsonType.test(type))) {
      throw new FrameliftError('invalid_request', 'The request needs a JSON body.');
    }
    if (type === undefined || !jsonType.test(type)) {
      throw new FrameliftError('unsupported_media_type', 'The request body must be application/json in UTF-8.');
    }
    const text = decode(bytes);
    parseStrictJson(text);
    // Hono keeps what was read as promises, though its type says otherwise; the validators read it from there.
    Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
    await next();
  });
}

import { createMiddleware } from 'hono/factory';
import { ReelmendError } from '../../domain/errors.ts';
import { parseStrictJson } from '../strict-json.ts';

export interface JsonBodyOptions {
  /** largest body in bytes */
  limitBytes: number;
  /** time limit for receiving the body, ms */
  timeoutMs: number;
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

/** Codings of a compressed body. Other values are let pass: some clients name the charset in this header. */
const compressed = /\b(?:gzip|compress|deflate|br|zstd)\b/i;

function tooLarge(limitBytes: number): ReelmendError {
  return new ReelmendError('payload_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

interface Body {
  chunks: Uint8Array[];
  size: number;
}

/**
 * Reads at most `limitBytes`, with or without Content-Length. Hono's `bodyLimit` is not used: it reads chunked bodies
 * without a time limit.
 */
async function readBody(request: Request, { limitBytes, timeoutMs }: JsonBodyOptions): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  // A cancelled reader reports a normal end, although the body is incomplete.
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  }, timeoutMs);
  try {
    const { chunks, size } = await readAll(reader, limitBytes);
    if (isLate) throw notReceived(`The request body did not arrive within ${timeoutMs / 1000} s.`);
    return Buffer.concat(chunks, size);
  } finally {
    clearTimeout(timer);
  }
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>, limitBytes: number): Promise<Body> {
  const body: Body = { chunks: [], size: 0 };
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw notReceived('The request body did not arrive in full.', cause);
    });
    if (done) return body;
    body.size += value.byteLength;
    if (body.size > limitBytes) {
      // Stops receiving the rest.
      await reader.cancel();
      throw tooLarge(limitBytes);
    }
    body.chunks.push(value);
  }
}

/** The client or its network failed, not the service. */
export function notReceived(message: string, cause?: unknown): ReelmendError {
  return new ReelmendError('invalid_request', message, { cause });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ReelmendError('invalid_json', 'The request body is not UTF-8.', { cause });
  }
}

/**
 * Requires a JSON body. Checks size, content type and coding, and strict JSON, in this order, and leaves the text for the validators.
 * Throws ReelmendError `payload_too_large`, `unsupported_media_type`, `invalid_json`, or `invalid_request` if the body is
 * missing or does not arrive.
 */
export function jsonBody(options: JsonBodyOptions) {
  return createMiddleware(async (c, next) => {
    const bytes = await readBody(c.req.raw, options);
    const type = c.req.header('Content-Type');
    if (bytes.byteLength === 0 && (type === undefined || jsonType.test(type))) {
      throw new ReelmendError('invalid_request', 'The request needs a JSON body.');
    }
    if (type === undefined || !jsonType.test(type)) {
      throw new ReelmendError('unsupported_media_type', 'The request body must be application/json in UTF-8.');
    }
    if (compressed.test(c.req.header('Content-Encoding') ?? '')) {
      throw new ReelmendError('unsupported_media_type', 'The request body must not be compressed: send it without Content-Encoding.');
    }
    const text = decode(bytes);
    parseStrictJson(text);
    // The validators know fewer spellings, and refuse `application/json;`.
    c.req.raw.headers.set('Content-Type', 'application/json');
    // They read Hono's cache of the body. It holds promises, although its type says otherwise.
    Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
    await next();
  });
}

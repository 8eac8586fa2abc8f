import { createMiddleware } from 'hono/factory';
import { ReelmendError } from '../../domain/errors.ts';
import { parseStrictJson } from '../strict-json.ts';

export interface JsonBodyOptions {
  /** largest body in bytes */
  limitBytes: number;
  /** ms that a body may take to arrive */
  timeoutMs: number;
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

function tooLarge(limitBytes: number): ReelmendError {
  return new ReelmendError('payload_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

interface Body {
  chunks: Uint8Array[];
  size: number;
}

/** Reads at most `limitBytes`, whatever Content-Length says or where there is none (chunked). */
async function readBody(request: Request, { limitBytes, timeoutMs }: JsonBodyOptions): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  // A reader that is cancelled says that there is no more, and what came so far is then not the body.
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
      // So that the rest is not read.
      await reader.cancel();
      throw tooLarge(limitBytes);
    }
    body.chunks.push(value);
  }
}

/** The caller's doing, or its network's: not a failure of the service. */
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
 * Takes a required JSON body: size, content type, strict JSON, in this order. What it read is left for the
 * validators behind it. Throws ReelmendError `payload_too_large`, `unsupported_media_type`, `invalid_json`, or
 * `invalid_request` for no body at all and for one that does not arrive.
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
    const text = decode(bytes);
    parseStrictJson(text);
    // Hono keeps what was read as promises, though its type says otherwise; the validators read it from there.
    Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
    await next();
  });
}

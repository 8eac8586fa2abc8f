/** Signed links of the filesystem storage, with single byte ranges. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import { contentDisposition } from '../../storage/disposition.ts';
import type { FilesystemStorage } from '../../storage/filesystem.ts';
import type { LinkQuery } from '../../storage/links.ts';
import type { ByteRange } from '../../storage/types.ts';
import type { HttpDeps } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import type { Handlers } from '../register.ts';

const notFound = () => new ReelmendError('not_found', 'The file no longer exists.');

function servesLinks(storage: HttpDeps['storage']): storage is FilesystemStorage {
  return storage.kind === 'filesystem' && 'verifyLink' in storage;
}

export function downloadHandlers({ storage }: HttpDeps): Pick<Handlers, 'downloadFile'> {
  return {
    downloadFile: async (c) => {
      if (!servesLinks(storage)) throw notFound();
      const { key } = c.req.valid('param');
      const { expires, name, signature, type } = c.req.valid('query');
      return serve(c, storage, { key, expires, name, type, signature });
    },
  };
}

function verified(storage: FilesystemStorage, query: LinkQuery) {
  const result = storage.verifyLink(query);
  if (result.ok) return result;
  if (result.reason === 'expired') {
    throw new ReelmendError('link_expired', "The link has expired. Get a fresh one from the job's result.");
  }
  throw new ReelmendError('link_invalid', 'The link is not valid.');
}

async function serve(c: Context<AppEnv>, storage: FilesystemStorage, query: LinkQuery): Promise<Response> {
  const { key, fileName, contentType } = verified(storage, query);
  const found = await storage.stat(key);
  if (found === null) throw notFound();
  // A key names the same object forever, so key and size make a strong validator.
  const etag = `"${createHash('sha256').update(`${key}\n${found.size}`).digest('hex').slice(0, 32)}"`;
  // Any page that has a signed link may play it.
  const cached = { ETag: etag, 'Cache-Control': 'private, no-transform', 'Cross-Origin-Resource-Policy': 'cross-origin' };
  if (isCached(c, etag)) return c.body(null, 304, cached);
  const range = rangeOf(c, etag, found.size);
  const length = range === 'whole' ? found.size : range.end - range.start + 1;
  const headers: Record<string, string> = {
    'Content-Type': contentType,
    'Content-Length': String(length),
    'Content-Disposition': contentDisposition(fileName),
    'Accept-Ranges': 'bytes',
    ...cached,
    ...(range === 'whole' ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${found.size}` }),
  };
  const status = range === 'whole' ? 200 : 206;
  // For HEAD Hono calls this handler and drops the body: a file opened for it would stay open.
  if (c.req.method === 'HEAD') return c.body(null, status, headers);
  const body = await storage.open(key, range === 'whole' ? undefined : range);
  if (body === null) throw notFound();
  return c.body(Readable.toWeb(body) as ReadableStream<Uint8Array>, status, headers);
}

/** Whether If-None-Match has the validator, or `*` (RFC 9110 §13.1.2): weak comparison. */
function isCached(c: Context<AppEnv>, etag: string): boolean {
  const named = (c.req.header('If-None-Match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

/** The range to send. An If-Range that does not match asks for the whole file. */
function rangeOf(c: Context<AppEnv>, etag: string, size: number): ByteRange | 'whole' {
  const condition = c.req.header('If-Range');
  if (condition !== undefined && condition !== etag) return 'whole';
  const range = parseRange(c.req.header('Range'), size);
  if (range !== 'unsatisfiable') return range;
  c.header('Content-Range', `bytes */${size}`);
  throw new ReelmendError('range_not_satisfiable', `The range lies outside the file, which has ${size} bytes.`);
}

/**
 * Parses a Range header (RFC 9110 §14) for a file of `size` bytes. Returns `whole` if there is no header, more than one
 * range or an unknown form; a server may answer all of these with the whole file.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  if (match === null) return 'whole';
  const [, first = '', last = ''] = match;
  if (first === '') return suffix(last, size);
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}

function suffix(length: string, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  if (length === '') return 'whole';
  if (Number(length) === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(0, size - Number(length)), end: size - 1 };
}

/**
 * A loopback file server whose behaviour is set per path: range support, delays, bandwidth, reset connections, wrong lengths,
 * redirects, content encodings. It records every request, so that tests can count requests and bytes.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { extname, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the server treats one path; every field is optional. */
export interface Behaviour {
  /** answer 206 to Range requests (default true) */
  ranges?: boolean;
  /** answer HEAD (default true); false: 405 */
  head?: boolean;
  /** answer this status with a short text body */
  status?: number;
  /** Location of a redirect; `status` chooses which (default 302) */
  redirect?: string;
  /** milliseconds to wait before the headers */
  headersDelayMs?: number;
  /** milliseconds to wait between the headers and the first body byte */
  bodyDelayMs?: number;
  /** maximum body bytes per second */
  bytesPerSecond?: number;
  /** resets the connection after this many body bytes of a response */
  resetAtBytes?: number;
  /** number of responses that `resetAtBytes` applies to (default: all) */
  resets?: number;
  /** stops sending after this many body bytes and keeps the connection open */
  stallAtBytes?: number;
  /** added to the declared Content-Length; positive: declares more bytes than are sent */
  lengthError?: number;
  /** no Content-Length: chunked transfer */
  chunked?: boolean;
  /** value of Content-Encoding; the body itself is not encoded */
  contentEncoding?: string;
  contentType?: string;
  /** `null`: no ETag; a string: this one (default: from size and mtime) */
  etag?: string | null;
  /** false: no Last-Modified (default true) */
  lastModified?: boolean;
  /** further response headers */
  headers?: Record<string, string>;
  /** body instead of a file: fixed bytes, or an endless stream of zeros */
  body?: Uint8Array | string | 'endless';
}

export interface RecordedRequest {
  method: string;
  /** path with query */
  path: string;
  range: string | null;
  headers: IncomingMessage['headers'];
  status: number;
  /** body bytes written to the socket so far */
  bytes: number;
}

export interface FileServerOptions {
  /** folder whose files are served at `/<relative path>` */
  dir?: string;
  /** behaviour of all paths */
  defaults?: Behaviour;
  /** behaviour of single paths (`/name.mp4`, without query); overrides the defaults */
  paths?: Record<string, Behaviour>;
  /** handlers of single paths, in place of the file server */
  routes?: Record<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** address to listen on (default 127.0.0.1) */
  host?: string;
  /** PEM texts; the server then speaks https */
  tls?: { key: string; cert: string };
}

export interface FileServer {
  /** `http://127.0.0.1:PORT` (https with `tls`), no trailing slash */
  url: string;
  /** `127.0.0.1:PORT`, the format of REELMEND_ALLOW_HOSTS */
  hostPort: string;
  port: number;
  /** every request so far, oldest first */
  requests: RecordedRequest[];
  /** TCP connections accepted so far */
  readonly connections: number;
  /** TCP connections open now */
  readonly openConnections: number;
  /** body bytes sent so far, all requests together */
  readonly bytesSent: number;
  /** changes the behaviour of a path, or of all paths with `*` */
  behave(path: string, behaviour: Behaviour): void;
  /** stops the server and closes every open connection */
  close(): Promise<void>;
}

const types: Record<string, string> = {
  '.mp4': 'video/mp4',
  '.mov': 'video/quicktime',
  '.webm': 'video/webm',
  '.mkv': 'video/x-matroska',
  '.avi': 'video/x-msvideo',
  '.html': 'text/html; charset=utf-8',
};

interface Content {
  size: number;
  mtime: Date | null;
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}

const endlessSize = Number.MAX_SAFE_INTEGER;

function bytesOf(data: Uint8Array): Content {
  return { size: data.length, mtime: null, stream: (start, end) => Readable.from([data.subarray(start, end + 1)]) };
}

async function* zeros(): AsyncIterable<Uint8Array> {
  for (;;) yield new Uint8Array(65536);
}

async function contentOf(dir: string | undefined, path: string, body: Behaviour['body']): Promise<Content | null> {
  if (body === 'endless') return { size: endlessSize, mtime: null, stream: zeros };
  if (body !== undefined) return bytesOf(typeof body === 'string' ? Buffer.from(body) : body);
  if (dir === undefined) return null;
  const file = join(dir, normalize(decodeURIComponent(path)));
  const info = await stat(file).catch(() => null);
  if (info === null || !info.isFile()) return null;
  return { size: info.size, mtime: info.mtime, stream: (start, end) => createReadStream(file, { start, end }) };
}

type Range = { start: number; end: number } | 'unsatisfiable' | null;

/** Parses one `bytes=a-b`, `bytes=a-` or `bytes=-n`; ignores everything else, as RFC 9110 allows. */
function parseRange(header: string | undefined, size: number): Range {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return null;
  const [first, last] = [match[1]!, match[2]!];
  if (first === '')
    return Number(last) === 0 ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size - 1 };
  const start = Number(first);
  if (start >= size) return 'unsatisfiable';
  return { start, end: Math.min(last === '' ? size - 1 : Number(last), size - 1) };
}

/** Sends the chunks with the given speed, reset or stall. Resolves when done, or when the client has disconnected. */
async function send(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  b: Behaviour,
  record: RecordedRequest,
) {
  const cut = b.resetAtBytes ?? Number.POSITIVE_INFINITY;
  const stall = b.stallAtBytes ?? Number.POSITIVE_INFINITY;
  const step = b.bytesPerSecond === undefined ? 65536 : Math.max(1, Math.ceil(b.bytesPerSecond / 20));
  if (b.bodyDelayMs !== undefined) await sleep(b.bodyDelayMs);
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      if (response.destroyed) return;
      const piece = chunk.subarray(at, at + Math.min(step, cut - record.bytes, stall - record.bytes));
      at += piece.length;
      record.bytes += piece.length;
      if (!response.write(piece)) await drained(response);
      if (record.bytes >= stall) return;
      if (record.bytes >= cut) {
        await sleep(20); // the client receives the bytes before the reset
        response.socket?.resetAndDestroy();
        return;
      }
      if (b.bytesPerSecond !== undefined) await sleep((piece.length / b.bytesPerSecond) * 1000);
    }
  }
  if ((b.lengthError ?? 0) > 0) response.socket?.end();
  else response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function headersOf(path: string, content: Content, b: Behaviour): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': b.contentType ?? types[extname(path).toLowerCase()] ?? 'application/octet-stream',
    ...(b.ranges === false ? {} : { 'accept-ranges': 'bytes' }),
    ...(b.contentEncoding === undefined ? {} : { 'content-encoding': b.contentEncoding }),
  };
  const etag = b.etag === undefined ? `"${content.size.toString(16)}-${content.mtime?.getTime() ?? 0}"` : b.etag;
  if (etag !== null) headers['etag'] = etag;
  if (content.mtime !== null && b.lastModified !== false) headers['last-modified'] = content.mtime.toUTCString();
  return { ...headers, ...b.headers };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: { dir: string | undefined; path: string; behaviour: Behaviour; record: RecordedRequest; cut: () => boolean },
): Promise<void> {
  const { path, record } = options;
  const b = { ...options.behaviour };
  if (b.headersDelayMs !== undefined) await sleep(b.headersDelayMs);
  const answer = (status: number, headers: Record<string, string> = {}, body = '') => {
    record.status = status;
    response.writeHead(status, { ...headers, ...b.headers }).end(body);
  };
  if (b.redirect !== undefined) return answer(b.status ?? 302, { location: b.redirect });
  if (b.status !== undefined) return answer(b.status, { 'content-type': 'text/plain' }, `status ${b.status}\n`);
  if (request.method === 'HEAD' && b.head === false) return answer(405, { allow: 'GET' });
  const content = await contentOf(options.dir, path, b.body);
  if (content === null) return answer(404, { 'content-type': 'text/plain' }, 'not found\n');
  const headers = headersOf(path, content, b);
  const ifRange = request.headers['if-range'];
  const fresh = ifRange === undefined || ifRange === headers['etag'] || ifRange === headers['last-modified'];
  const range = b.ranges === false || !fresh ? null : parseRange(request.headers.range, content.size);
  if (range === 'unsatisfiable') return answer(416, { 'content-range': `bytes */${content.size}` });
  const start = range?.start ?? 0;
  const end = range?.end ?? content.size - 1;
  if (range !== null) headers['content-range'] = `bytes ${start}-${end}/${content.size}`;
  const length = end - start + 1 + (b.lengthError ?? 0);
  if (b.chunked !== true && content.size !== endlessSize) headers['content-length'] = String(Math.max(0, length));
  record.status = range === null ? 200 : 206;
  // By default, Node refuses to write more bytes than Content-Length declares.
  response.strictContentLength = false;
  response.writeHead(record.status, headers);
  if (request.method === 'HEAD' || content.size === 0) return void response.end();
  if (b.resetAtBytes !== undefined && !options.cut()) delete b.resetAtBytes;
  await send(response, content.stream(start, end), b, record);
}

/** Starts the server on an ephemeral loopback port. */
export async function startFileServer(options: FileServerOptions = {}): Promise<FileServer> {
  const requests: RecordedRequest[] = [];
  const defaults: Behaviour = { ...options.defaults };
  const paths: Record<string, Behaviour> = { ...options.paths };
  const cuts = new Map<string, number>();
  let connections = 0;
  let openConnections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '/').split('?')[0]!;
    const { method = 'GET', url = '/', headers } = request;
    const record: RecordedRequest = { method, path: url, range: headers.range ?? null, headers, status: 0, bytes: 0 };
    requests.push(record);
    const route = options.routes?.[path];
    if (route !== undefined) return route(request, response);
    const behaviour = { ...defaults, ...paths[path] };
    const cut = () => {
      const used = cuts.get(path) ?? 0;
      cuts.set(path, used + 1);
      return used < (behaviour.resets ?? Number.POSITIVE_INFINITY);
    };
    serve(request, response, { dir: options.dir, path, behaviour, record, cut }).catch(() => response.destroy());
  };
  const server = options.tls === undefined ? createServer(handle) : createTlsServer(options.tls, handle);
  server.on('connection', (socket) => {
    connections += 1;
    openConnections += 1;
    socket.on('close', () => (openConnections -= 1));
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the file server has no port');
  const hostPort = `${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${hostPort}`,
    hostPort,
    port: address.port,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return openConnections;
    },
    get bytesSent() {
      return requests.reduce((sum, request) => sum + request.bytes, 0);
    },
    behave(path, behaviour) {
      if (path === '*') Object.assign(defaults, behaviour);
      else paths[path] = { ...paths[path], ...behaviour };
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

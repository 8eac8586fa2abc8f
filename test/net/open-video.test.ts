/** Reading a remote video without downloading it. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { BlockReader } from '../../src/media/blocks.ts';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, NetClientOptions, RemoteVideo, Timeouts } from '../../src/net/index.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { Behaviour, FileServer } from '../helpers/fileserver.ts';
import { countReceivedBytes } from '../helpers/received-bytes.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { hangMs } from '../helpers/wait.ts';

const data = randomBytes(9_000_001);
/** Nothing here is too slow, however busy the machine is; tests of a limit set theirs. */
const timeouts = {
  connectMs: hangMs,
  headersMs: hangMs,
  idleMs: hangMs,
  minBytesPerSecond: 0,
  retryDelayMs: 5,
  attempts: 3,
};
const never = new AbortController().signal;

let server: FileServer;
let client: GuardedClient;
/** of this file alone: other processes have temporary files, too */
let temporary: string;
const temporaryOfAll = process.env['TMPDIR'];

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'reelmend-open-video-'));
  process.env['TMPDIR'] = temporary;
});
afterAll(async () => {
  if (temporaryOfAll === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporaryOfAll;
  await rm(temporary, { recursive: true });
});

beforeEach(async () => {
  server = await startFileServer({ paths: { '/a.mp4': { body: data } } });
  use();
});
afterEach(async () => {
  await client.close();
  await server.close();
});

function use(options: Partial<NetClientOptions> = {}) {
  client = createNetClient({ allowHosts: [server.hostPort], timeouts, ...options });
}

const open = (behaviour: Behaviour = {}, maxBytes = 1e9): Promise<RemoteVideo> => {
  server.behave('/a.mp4', behaviour);
  return client.openVideo(`${server.url}/a.mp4`, { maxBytes });
};

const unreachable = (message: RegExp) => ({ code: 'video_unreachable', message: expect.stringMatching(message) });

/** Reads a span to its end, as a demuxer does. */
async function readAll(video: Pick<RemoteVideo, 'size' | 'read'>, from = 0, to = video.size): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = from; at < to;) {
    const piece = await video.read(at, to - at, never);
    if (piece.length === 0) break;
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}

interface PartAnswer {
  /** answers with the whole file */
  ignoresRange?: boolean;
  unit?: string;
  status?: number;
  location?: string;
  etag?: string;
  'last-modified'?: string;
}

/** A server of the data that answers each request as `answer` says. The client may reach it. */
async function startPartServer(answer: (headers: IncomingHttpHeaders, path: string) => PartAnswer) {
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const { ignoresRange = false, unit = 'bytes', status, location, ...headers } = answer(request.headers, request.url!);
    if (location !== undefined) return void response.writeHead(302, { location }).end();
    if (status !== undefined) return void response.writeHead(status).end();
    const [first, last] = /(\d+)-(\d+)/.exec(request.headers.range!)!.slice(1).map(Number) as [number, number];
    if (ignoresRange) return void response.writeHead(200, { ...headers, 'content-length': data.length }).end(data);
    const end = Math.min(last, data.length - 1);
    response.writeHead(206, { ...headers, 'content-range': `${unit} ${first}-${end}/${data.length}` });
    response.end(data.subarray(first, end + 1));
  };
  const started = await startFileServer({ routes: { '/a.mp4': respond, '/link': respond } });
  use({ allowHosts: [started.hostPort] });
  return { url: `${started.url}/a.mp4`, requests: started.requests, close: started.close };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Open connections once the server has noticed; 0 as soon as it is so. */
async function connectionsOf(of: FileServer): Promise<number> {
  for (const end = Date.now() + hangMs; Date.now() < end && of.openConnections > 0; ) await sleep(10);
  return of.openConnections;
}

describe.each([
  { name: 'a server with ranges', behaviour: {} },
  { name: 'a server without ranges', behaviour: { ranges: false } },
  { name: 'a server without ranges or length', behaviour: { ranges: false, chunked: true } },
])('openVideo on $name', ({ behaviour }) => {
  it('returns size and strong ETag', async () => {
    const video = await open({ ...behaviour, etag: '"v1"' });
    expect(video).toMatchObject({ size: data.length, etag: '"v1"' });
    await video.close();
  });

  it.each([
    [0, 1],
    [0, 100_000],
    [262_143, 2],
    [262_144, 262_144],
    [1_000_000, 3_000_000],
    [8_999_999, 100],
    [9_000_000, 1],
  ])('reads at %i, %i bytes', async (offset, length) => {
    const video = await open(behaviour);
    const want = data.subarray(offset, offset + length);
    expect(want.equals(await readAll(video, offset, Math.min(offset + length, data.length)))).toBe(true);
  });

  it('answers nothing at the end and beyond', async () => {
    const video = await open(behaviour);
    expect(await video.read(data.length, 10, never)).toHaveLength(0);
    expect(await video.read(data.length + 1000, 10, never)).toHaveLength(0);
    expect(await video.read(0, 0, never)).toHaveLength(0);
  });

  it('answers many reads at once, forward and backward', async () => {
    const video = await open(behaviour);
    const offsets = [5_000_000, 0, 8_999_000, 300_000, 5_000_100, 262_000];
    const reads = await Promise.all(offsets.map((offset) => video.read(offset, 1001, never)));
    for (const [i, offset] of offsets.entries()) {
      expect(data.subarray(offset, offset + 1001).equals(reads[i]!), `at ${offset}`).toBe(true);
    }
  });

  it('refuses more than maxBytes and takes exactly maxBytes', async () => {
    await expect(open(behaviour, data.length - 1)).rejects.toMatchObject({
      code: 'video_too_large',
      message: "The video's file is larger than the limit of 9,000,000 bytes.",
    });
    expect((await open(behaviour, data.length)).size).toBe(data.length);
  });

  it('opens an empty file as one of no bytes', async () => {
    const video = await open({ ...behaviour, body: '' });
    expect(video.size).toBe(0);
    expect(await video.read(0, 10, never)).toHaveLength(0);
  });

  it('rejects with the reason of an aborted signal, also in the middle of a read', async () => {
    const reason = new Error('the request has gone');
    const gone = new AbortController();
    const opening = client.openVideo(`${server.url}/a.mp4`, { maxBytes: 1e9, signal: gone.signal });
    gone.abort(reason);
    await expect(opening).rejects.toBe(reason);
    if (behaviour.chunked === true) return; // read whole while opening
    const video = await open({ ...behaviour, bytesPerSecond: 4_000_000 });
    const control = new AbortController();
    const reading = video.read(5_000_000, 4_000_000, control.signal);
    setTimeout(() => control.abort(reason), 100);
    await expect(reading).rejects.toBe(reason);
  });

  it('leaves no connection and no file behind when closed, twice even, or when the client is', async () => {
    for (const ends of [2, 1, 0]) {
      const video = await open(behaviour);
      await video.read(0, 100, never);
      for (let i = 0; i < ends; i += 1) await video.close();
      if (ends === 0) await client.close();
      expect(await connectionsOf(server)).toBe(0);
      expect(await filesBelow(temporary)).toEqual([]);
      await expect(video.read(0, 100, never)).rejects.toThrow('was closed');
    }
  });
});

describe('reading by ranges', () => {
  it('answers reads within the first request from what that has brought', async () => {
    const video = await open();
    expect(data.subarray(100, 262_144).equals(await video.read(100, 262_044, never))).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it('ends a read under way with a plain error when the client is closed: no fault of the server', async () => {
    const video = await open();
    server.behave('/a.mp4', { bytesPerSecond: 100_000 });
    const reading = expect(video.read(1_000_000, 1_000_000, never)).rejects.toMatchObject({ name: 'Error' });
    await sleep(100);
    await client.close();
    await reading;
  });

  it('fetches a small part of the file for its head and its tail', async () => {
    const video = new BlockReader(await open());
    await readAll(video, 0, 5000);
    await readAll(video, data.length - 5000, data.length);
    await readAll(video, 100, 2000);
    expect(server.requests.map((request) => request.range)).toEqual(['bytes=0-262143', 'bytes=8912896-9000000']);
    expect(server.bytesSent).toBeLessThan(400_000);
  });

  it('asks in growing steps while reading straight on', async () => {
    const video = new BlockReader(await open());
    expect(data.equals(await readAll(video))).toBe(true);
    expect(server.requests.length).toBeLessThan(8);
    const small = new BlockReader(await open());
    const before = server.requests.length;
    for (let at = 0; at < data.length; at += 32_768) await small.read(at, 32_768, never);
    expect(server.requests.length - before).toBeLessThan(8);
  });

  it('resumes a part that breaks off, as often as progress is made', async () => {
    const video = await open();
    server.behave('/a.mp4', { resetAtBytes: 700_000 });
    expect(data.subarray(1_000_000, 5_000_000).equals(await readAll(video, 1_000_000, 5_000_000))).toBe(true);
  });

  it('gives up when no try makes progress', async () => {
    const video = await open();
    const before = server.requests.length;
    server.behave('/a.mp4', { resetAtBytes: 10 });
    await expect(video.read(1_000_000, 1000, never)).rejects.toMatchObject(unreachable(/broke the connection off/));
    expect(server.requests.length - before).toBe(3);
  });

  it('repeats a passing 503 and not a 404', async () => {
    let fails = 2;
    const flaky = await startFileServer({
      routes: {
        '/a.mp4': (request, response) => {
          if (request.headers.range !== 'bytes=0-262143' && fails-- > 0) return void response.writeHead(503).end();
          const [first, last] = /(\d+)-(\d+)/
            .exec(request.headers.range ?? '')!
            .slice(1)
            .map(Number);
          const end = Math.min(last!, data.length - 1);
          response.writeHead(206, { 'content-range': `bytes ${first}-${end}/${data.length}` });
          response.end(data.subarray(first, end + 1));
        },
      },
    });
    use({ allowHosts: [flaky.hostPort, server.hostPort] });
    const video = await client.openVideo(`${flaky.url}/a.mp4`, { maxBytes: 1e9 });
    expect(data.subarray(5e6, 5e6 + 10).equals(await video.read(5e6, 10, never))).toBe(true);
    expect(fails).toBe(-1);
    await flaky.close();
    await expect(open({ status: 404 })).rejects.toMatchObject(
      unreachable(/^The video cannot be read: the server answered with status 404\.$/),
    );
    expect(server.requests).toHaveLength(1);
  });

  const changes: { name: string; behaviour: Behaviour }[] = [
    { name: 'another ETag', behaviour: { etag: '"v2"' } },
    { name: 'another size', behaviour: { body: data.subarray(0, 8_000_000) } },
    { name: 'a size below the part', behaviour: { body: data.subarray(0, 1000), etag: null } },
    { name: 'another whole file', behaviour: { ranges: false, body: data.subarray(0, 8_000_000) } },
    { name: 'a whole file that states no version', behaviour: { ranges: false, etag: null } },
  ];
  it.each(changes)('notices $name', async ({ behaviour }) => {
    const video = await open({ etag: '"v1"' });
    server.behave('/a.mp4', behaviour);
    await expect(video.read(5_000_000, 1000, never)).rejects.toMatchObject(unreachable(/changed on the server/));
  });

  it('calls a file that comes whole, and unchanged, what it is', async () => {
    const video = await open({ etag: '"v1"' });
    server.behave('/a.mp4', { ranges: false });
    await expect(video.read(5_000_000, 1000, never)).rejects.toMatchObject(
      unreachable(/^The video cannot be read: the server answered a range request with the whole file\.$/),
    );
  });

  it.each([
    { name: 'a strong ETag', validator: { etag: '"v1"' }, conditions: 1 },
    { name: 'only a Last-Modified', validator: { 'last-modified': 'Sun, 29 Nov 2026 22:00:00 GMT' }, conditions: 1 },
    { name: 'an ETag without quotes', validator: { etag: 'v1' }, conditions: 0 },
    { name: 'an empty ETag', validator: { etag: '' }, conditions: 0 },
    { name: 'a date of another format', validator: { 'last-modified': '2026-11-29T22:00:00Z' }, conditions: 0 },
  ])('reads from a server that sends $name and recognises none in If-Range', async ({ validator, conditions }) => {
    const strict = await startPartServer((headers) => ({ ...validator, ignoresRange: headers['if-range'] !== undefined }));
    const video = await client.openVideo(strict.url, { maxBytes: 1e9 });
    for (const at of [1_000_000, 5_000_000]) {
      expect(data.subarray(at, at + 1000).equals(await video.read(at, 1000, never))).toBe(true);
    }
    expect(strict.requests.filter(({ headers }) => headers['if-range'] !== undefined)).toHaveLength(conditions);
    await strict.close();
  });

  it('notices another version also where it gave up If-Range', async () => {
    let etag = '"v1"';
    const strict = await startPartServer((headers) => ({ etag, ignoresRange: headers['if-range'] !== undefined }));
    const video = await client.openVideo(strict.url, { maxBytes: 1e9 });
    await video.read(1_000_000, 1000, never);
    etag = '"v2"';
    await expect(video.read(5_000_000, 1000, never)).rejects.toMatchObject(unreachable(/changed on the server/));
    await strict.close();
  });

  it('takes the range unit in any case', async () => {
    const loud = await startPartServer(() => ({ unit: 'Bytes' }));
    const video = await client.openVideo(loud.url, { maxBytes: 1e9 });
    expect(data.subarray(5e6, 5e6 + 10).equals(await video.read(5e6, 10, never))).toBe(true);
    await loud.close();
  });

  it('asks the redirect again when its link has expired, and a link that was given never', async () => {
    let links = 0;
    const used = new Set<string>();
    const brief = await startPartServer((_, path) => {
      if (path === '/a.mp4') return { location: `/link?${++links}` };
      if (used.has(path)) return { status: 403 };
      used.add(path);
      return {};
    });
    const video = await client.openVideo(brief.url, { maxBytes: 1e9 });
    for (const at of [1_000_000, 5_000_000]) {
      expect(data.subarray(at, at + 1000).equals(await video.read(at, 1000, never))).toBe(true);
    }
    expect(links).toBe(3);
    const given = await client.openVideo(`${new URL(brief.url).origin}/link?given`, { maxBytes: 1e9 });
    const before = brief.requests.length;
    await expect(given.read(5_000_000, 10, never)).rejects.toMatchObject(unreachable(/status 403/));
    expect(brief.requests.length - before).toBe(1);
    await brief.close();
  });

  it('compares weak tags itself, since If-Range takes only strong ones', async () => {
    const video = await open({ etag: 'W/"v1"' });
    await video.read(3_000_000, 10, never);
    expect(server.requests.at(-1)!.headers['if-range']).toBeUndefined();
    server.behave('/a.mp4', { etag: 'W/"v2"' });
    await expect(video.read(6_000_000, 10, never)).rejects.toMatchObject(unreachable(/changed on the server/));
    const strong = await open({ etag: '"v1"' });
    await strong.read(3_000_000, 10, never);
    expect(server.requests.at(-1)!.headers['if-range']).toBe('"v1"');
  });

  const lies: { name: string; respond: (response: ServerResponse) => void }[] = [
    { name: 'a 206 without Content-Range', respond: (r) => r.writeHead(206).end('0123456789') },
    {
      name: 'a 206 of another place',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 5-9/100' }).end('56789'),
    },
    {
      name: 'a 206 of unknown total',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 0-9/*' }).end('0123456789'),
    },
    {
      name: 'a 206 that ends beyond its total',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 0-9/5' }).end('0123456789'),
    },
    {
      name: 'a 206 shorter than its range',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 0-9/100' }).end('0123'),
    },
    {
      name: 'a 206 longer than its range',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 0-1/100' }).end('0123'),
    },
    {
      name: 'a 206 of more than was asked for',
      respond: (r) => r.writeHead(206, { 'content-range': 'bytes 0-999999/1000000' }).end(),
    },
    {
      name: 'a total too large for a number',
      respond: (r) => r.writeHead(206, { 'content-range': `bytes 0-9/${'9'.repeat(30)}` }).end(),
    },
    {
      name: 'a multipart 206',
      respond: (r) => r.writeHead(206, { 'content-type': 'multipart/byteranges; boundary=x' }).end('--x'),
    },
    {
      name: 'a 416 that is not of an empty file',
      respond: (r) => r.writeHead(416, { 'content-range': 'bytes */100' }).end(),
    },
    { name: 'a 204', respond: (r) => r.writeHead(204).end() },
  ];
  it.each(lies)('refuses $name', async ({ respond }) => {
    const liar = await startFileServer({ routes: { '/a.mp4': (_request, response) => respond(response) } });
    use({ allowHosts: [liar.hostPort] });
    const opening = client.openVideo(`${liar.url}/a.mp4`, { maxBytes: 1e9 });
    await expect(opening).rejects.toMatchObject({ code: 'video_unreachable' });
    await liar.close();
  });

  it('refuses a server that hands out a range byte by byte', async () => {
    const miser = await startFileServer({
      routes: {
        '/a.mp4': (request, response) => {
          const first = Number(/=(\d+)/.exec(request.headers.range ?? '')![1]);
          response.writeHead(206, { 'content-range': `bytes ${first}-${first}/1000000` }).end('x');
        },
      },
    });
    use({ allowHosts: [miser.hostPort] });
    const video = await client.openVideo(`${miser.url}/a.mp4`, { maxBytes: 1e9 });
    await expect(video.read(0, 1000, never)).rejects.toMatchObject(unreachable(/tiny parts/));
    expect(miser.requests.length).toBeLessThan(6);
    await miser.close();
  });
});

describe('reading forward', () => {
  const bound = 1_000_000;
  const received = countReceivedBytes();

  it('reads the body once, and only as far as is asked', async () => {
    const video = await open({ ranges: false });
    await readAll(video, 0, 500_000);
    await readAll(video, 100, 400_000);
    expect(server.requests).toHaveLength(1);
    const bytes = await received(bound);
    expect(bytes).toBeGreaterThan(500_000);
    expect(bytes).toBeLessThan(bound);
  });

  it('refuses what lies beyond the bound, before reading up to it', async () => {
    use({ maxForwardBytes: 2 * 2 ** 20 });
    const video = await open({ ranges: false, bytesPerSecond: 20_000_000 });
    await expect(video.read(data.length - 1000, 1000, never)).rejects.toMatchObject(
      unreachable(/does not support range requests, and more than the first 2 MB would be needed/),
    );
    expect(await video.read(0, 1000, never)).toHaveLength(1000);
  });

  it('keeps all temporary files together inside one bound, and says that it is this service that is full', async () => {
    use({ maxTemporaryBytes: 20_000_000 });
    const full = { code: 'service_unavailable', retryAfterS: 5 };
    for (const chunked of [true, false]) {
      const videos = [await open({ ranges: false, chunked }), await open({ ranges: false, chunked })];
      for (const video of videos) await readAll(video);
      const third = open({ ranges: false, chunked }).then((video) => readAll(video).finally(() => video.close()));
      await expect(third).rejects.toMatchObject(full);
      await videos[0]!.close();
      const fourth = await open({ ranges: false, chunked });
      expect(await readAll(fourth)).toHaveLength(data.length);
      await videos[1]!.close();
      await fourth.close();
    }
  });

  it.each([true, false])('never returns other bytes on a disk that fills up, chunked: %s', async (chunked) => {
    const handle = await openFile(join(temporary, 'any'), 'w');
    const prototype = Object.getPrototypeOf(handle) as { write: (...call: unknown[]) => Promise<unknown> };
    await handle.close();
    const { write } = prototype;
    let freeBytes = 2_000_000;
    const spy = vi.spyOn(prototype, 'write').mockImplementation(function (this: FileHandle, buffer, offset, length, position) {
      const taken = Math.min(length as number, freeBytes, 10_000);
      if (taken === 0) return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
      freeBytes -= taken;
      return write.call(this, buffer, offset, taken, position);
    });
    try {
      if (chunked) return await expect(open({ ranges: false, chunked })).rejects.toMatchObject({ code: 'ENOSPC' });
      const video = await open({ ranges: false });
      expect(Buffer.from(await readAll(video, 0, 400_000)).equals(data.subarray(0, 400_000))).toBe(true);
      for (const end of [3_000_000, 4_000_000]) await expect(readAll(video, 0, end)).rejects.toMatchObject({ code: 'ENOSPC' });
      freeBytes = 1e9;
      await expect(readAll(video, 0, 4_000_000)).rejects.toMatchObject({ code: 'ENOSPC' });
    } finally {
      spy.mockRestore();
    }
  });

  it('refuses a body without length beyond the bound, and an endless one', async () => {
    use({ maxForwardBytes: bound });
    await expect(open({ ranges: false, chunked: true })).rejects.toMatchObject(unreachable(/range requests/));
    await expect(open({ ranges: false, body: 'endless' })).rejects.toMatchObject(unreachable(/range requests/));
    await expect(open({ ranges: false, body: 'endless' }, 1000)).rejects.toMatchObject({ code: 'video_too_large' });
    // The first two stopped at the bound, the last one after its first piece.
    expect(await received(3 * bound)).toBeLessThan(3 * bound);
  });

  it.each([
    { name: 'breaks off', behaviour: { resetAtBytes: 200_000 } },
    { name: 'ends before its declared length', behaviour: { lengthError: 1000, body: data.subarray(0, 300_000) } },
    { name: 'stalls', behaviour: { stallAtBytes: 200_000 } },
  ])('refuses a body that $name', async ({ behaviour }) => {
    use({ timeouts: { ...timeouts, idleMs: 300 } });
    const video = await open({ ranges: false, ...behaviour });
    await expect(readAll(video)).rejects.toMatchObject({ code: 'video_unreachable' });
  });
});

describe('bad servers', () => {
  const bad: { name: string; behaviour: Behaviour; limits?: Partial<Timeouts>; message: RegExp }[] = [
    ...[400, 401, 403, 404, 410, 418, 500, 502, 503, 504].map((status) => ({
      name: `status ${status}`,
      behaviour: { status },
      message: new RegExp(`^The video cannot be read: the server answered with status ${status}\\.$`),
    })),
    {
      name: 'a web page',
      behaviour: { contentType: 'text/html; charset=utf-8' },
      message: /web page instead of a video/,
    },
    { name: 'an XHTML page', behaviour: { contentType: 'Application/XHTML+XML' }, message: /web page/ },
    ...['gzip', 'br', 'deflate', 'gzip, gzip, gzip, gzip, gzip', 'x-unknown'].map((contentEncoding) => ({
      name: `the encoding ${contentEncoding}`,
      behaviour: { contentEncoding },
      message: /compressed \(Content-Encoding\)/,
    })),
    { name: 'headers that come too late', behaviour: { headersDelayMs: hangMs }, limits: { headersMs: 300 }, message: /did not answer in time/ },
    { name: 'a body that stalls', behaviour: { stallAtBytes: 1000 }, limits: { idleMs: 300 }, message: /did not answer in time/ },
    { name: 'a body that trickles', behaviour: { bytesPerSecond: 100 }, limits: { minBytesPerSecond: 2000, rateWindowMs: 400 }, message: /too slowly/ },
  ];
  it.each(bad)('$name gives one sentence', async ({ behaviour, limits, message }) => {
    use({ timeouts: { ...timeouts, attempts: 2, ...limits } });
    await expect(open(behaviour)).rejects.toMatchObject(unreachable(message));
  });

  const raw: { name: string; send: string; every?: number; message: RegExp }[] = [
    { name: 'garbage', send: 'SSH-2.0-OpenSSH_9.2\r\n', message: /proper HTTP/ },
    {
      name: 'two different lengths',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      message: /proper HTTP/,
    },
    {
      name: 'a length and chunks',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      message: /proper HTTP/,
    },
    {
      name: 'a length that is no number',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n',
      message: /proper HTTP/,
    },
    {
      name: 'headers of a megabyte',
      send: `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(2 ** 20)}\r\n\r\n`,
      message: /proper HTTP/,
    },
    {
      name: 'a byte of headers at a time',
      send: `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(1000)}`,
      every: 1,
      message: /did not answer in time/,
    },
    {
      name: 'interim responses for ever',
      send: 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000),
      every: 28,
      message: /did not answer in time/,
    },
    { name: 'nothing', send: '', message: /did not answer in time/ },
  ];
  it.each(raw)('$name gives one sentence', async ({ send, every, message }) => {
    const rude = await startRawServer((socket) => {
      if (every === undefined) return void socket.write(send);
      let at = 0;
      const timer = setInterval(() => {
        socket.write(send.slice(at, at + every));
        at += every;
      }, 20);
      socket.on('close', () => clearInterval(timer));
    });
    // Only what never ends needs a limit: `connectMs` and `headersMs` together end what brings no whole headers.
    const isEndless = message.source.includes('in time');
    const limits = isEndless ? { connectMs: 3000, headersMs: 300 } : {};
    use({ allowHosts: [rude.hostPort], timeouts: { ...timeouts, ...limits, attempts: 1 } });
    const opening = client.openVideo(`http://${rude.hostPort}/a.mp4`, { maxBytes: 1e9 });
    await expect(opening).rejects.toMatchObject(unreachable(message));
    await rude.close();
  });

  it('that nobody runs are unreachable', async () => {
    const { hostPort, close } = await startRawServer(() => undefined);
    await close();
    use({ allowHosts: [hostPort] });
    await expect(client.openVideo(`http://${hostPort}/`, { maxBytes: 1 })).rejects.toMatchObject(
      unreachable(/does not accept connections/),
    );
  });
});

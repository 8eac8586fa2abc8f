/** Reading a remote video by ranges. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BlockReader } from '../../src/media/blocks.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { Behaviour } from '../helpers/fileserver.ts';
import { data, never, readAll, setUpVideo, unreachable } from '../helpers/open-video-suite.ts';

const suite = setUpVideo();
const { use, open } = suite;

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

describe('reading by ranges', () => {
  it('answers reads within the first request from what that has brought', async () => {
    const video = await open();
    expect(data.subarray(100, 262_144).equals(await video.read(100, 262_044, never))).toBe(true);
    expect(suite.server.requests).toHaveLength(1);
  });

  it('ends a read under way with a plain error when the client is closed: no fault of the server', async () => {
    const video = await open();
    suite.server.behave('/a.mp4', { bytesPerSecond: 100_000 });
    const reading = expect(video.read(1_000_000, 1_000_000, never)).rejects.toMatchObject({ name: 'Error' });
    await sleep(100);
    await suite.client.close();
    await reading;
  });

  it('fetches a small part of the file for its head and its tail', async () => {
    const video = new BlockReader(await open());
    await readAll(video, 0, 5000);
    await readAll(video, data.length - 5000, data.length);
    await readAll(video, 100, 2000);
    expect(suite.server.requests.map((request) => request.range)).toEqual(['bytes=0-262143', 'bytes=8912896-9000000']);
    expect(suite.server.bytesSent).toBeLessThan(400_000);
  });

  it('asks in growing steps while reading straight on', async () => {
    const video = new BlockReader(await open());
    expect(data.equals(await readAll(video))).toBe(true);
    expect(suite.server.requests.length).toBeLessThan(8);
    const small = new BlockReader(await open());
    const before = suite.server.requests.length;
    for (let at = 0; at < data.length; at += 32_768) await small.read(at, 32_768, never);
    expect(suite.server.requests.length - before).toBeLessThan(8);
  });

  it('resumes a part that breaks off, as often as progress is made', async () => {
    const video = await open();
    suite.server.behave('/a.mp4', { resetAtBytes: 700_000 });
    expect(data.subarray(1_000_000, 5_000_000).equals(await readAll(video, 1_000_000, 5_000_000))).toBe(true);
  });

  it('gives up when no try makes progress', async () => {
    const video = await open();
    const before = suite.server.requests.length;
    suite.server.behave('/a.mp4', { resetAtBytes: 10 });
    await expect(video.read(1_000_000, 1000, never)).rejects.toMatchObject(unreachable(/broke the connection off/));
    expect(suite.server.requests.length - before).toBe(3);
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
    use({ allowHosts: [flaky.hostPort, suite.server.hostPort] });
    const video = await suite.client.openVideo(`${flaky.url}/a.mp4`, { maxBytes: 1e9 });
    expect(data.subarray(5e6, 5e6 + 10).equals(await video.read(5e6, 10, never))).toBe(true);
    expect(fails).toBe(-1);
    await flaky.close();
    await expect(open({ status: 404 })).rejects.toMatchObject(
      unreachable(/^The video cannot be read: the server answered with status 404\.$/),
    );
    expect(suite.server.requests).toHaveLength(1);
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
    suite.server.behave('/a.mp4', behaviour);
    await expect(video.read(5_000_000, 1000, never)).rejects.toMatchObject(unreachable(/changed on the server/));
  });

  it('calls a file that comes whole, and unchanged, what it is', async () => {
    const video = await open({ etag: '"v1"' });
    suite.server.behave('/a.mp4', { ranges: false });
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
    const video = await suite.client.openVideo(strict.url, { maxBytes: 1e9 });
    for (const at of [1_000_000, 5_000_000]) {
      expect(data.subarray(at, at + 1000).equals(await video.read(at, 1000, never))).toBe(true);
    }
    expect(strict.requests.filter(({ headers }) => headers['if-range'] !== undefined)).toHaveLength(conditions);
    await strict.close();
  });

  it('notices another version also where it gave up If-Range', async () => {
    let etag = '"v1"';
    const strict = await startPartServer((headers) => ({ etag, ignoresRange: headers['if-range'] !== undefined }));
    const video = await suite.client.openVideo(strict.url, { maxBytes: 1e9 });
    await video.read(1_000_000, 1000, never);
    etag = '"v2"';
    await expect(video.read(5_000_000, 1000, never)).rejects.toMatchObject(unreachable(/changed on the server/));
    await strict.close();
  });

  it('takes the range unit in any case', async () => {
    const loud = await startPartServer(() => ({ unit: 'Bytes' }));
    const video = await suite.client.openVideo(loud.url, { maxBytes: 1e9 });
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
    const video = await suite.client.openVideo(brief.url, { maxBytes: 1e9 });
    for (const at of [1_000_000, 5_000_000]) {
      expect(data.subarray(at, at + 1000).equals(await video.read(at, 1000, never))).toBe(true);
    }
    expect(links).toBe(3);
    const given = await suite.client.openVideo(`${new URL(brief.url).origin}/link?given`, { maxBytes: 1e9 });
    const before = brief.requests.length;
    await expect(given.read(5_000_000, 10, never)).rejects.toMatchObject(unreachable(/status 403/));
    expect(brief.requests.length - before).toBe(1);
    await brief.close();
  });

  it('compares weak tags itself, since If-Range takes only strong ones', async () => {
    const video = await open({ etag: 'W/"v1"' });
    await video.read(3_000_000, 10, never);
    expect(suite.server.requests.at(-1)!.headers['if-range']).toBeUndefined();
    suite.server.behave('/a.mp4', { etag: 'W/"v2"' });
    await expect(video.read(6_000_000, 10, never)).rejects.toMatchObject(unreachable(/changed on the server/));
    const strong = await open({ etag: '"v1"' });
    await strong.read(3_000_000, 10, never);
    expect(suite.server.requests.at(-1)!.headers['if-range']).toBe('"v1"');
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
    const opening = suite.client.openVideo(`${liar.url}/a.mp4`, { maxBytes: 1e9 });
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
    const video = await suite.client.openVideo(`${miser.url}/a.mp4`, { maxBytes: 1e9 });
    await expect(video.read(0, 1000, never)).rejects.toMatchObject(unreachable(/tiny parts/));
    expect(miser.requests.length).toBeLessThan(6);
    await miser.close();
  });
});

/** Results as files and in memory: over a fake service that loses connections, and against the real HTTP app. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createReelmend, type DownloadProgress } from '../../src/sdk/index.ts';
import { finished, makeApi, publicUrl } from '../helpers/http.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { fakeService, jobId, json, jobView, runUntilSettled, useFakeClock } from './fake.ts';

const video = randomBytes(300_000);
const sha256 = createHash('sha256').update(video).digest('hex');
const output = { width: 1920, height: 1080, size_bytes: video.length, sha256 };

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-download-'));
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await rm(dir, { recursive: true });
});

type Serve = (request: Request, next: () => Promise<Response>) => Promise<Response>;

/** A done job of the real app; `serve` may spoil what the link answers. */
async function service(serve: Serve = (_request, next) => next()) {
  const api = makeApi();
  const links: { range: string | null; hasKey: boolean }[] = [];
  const reelmend = createReelmend({
    baseUrl: publicUrl,
    apiKey: api.keys.live,
    maxRetries: 2,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith('/v1/downloads/')) return api.app.request(request);
      links.push({ range: request.headers.get('Range'), hasKey: request.headers.has('Authorization') });
      return serve(request, async () => api.app.request(pathname + search, { headers: request.headers }));
    },
  });
  const { id } = await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', resolution: '1080p' });
  api.objects.set(`outputs/${id}.mp4`, video);
  await api.store.changeJob(id, { ...finished(), output });
  return { api, reelmend, id, links };
}

/** The response up to a byte, then a lost connection. */
async function cut(response: Response, at: number): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, at)),
    pull: (controller) => controller.error(new TypeError('terminated')),
  });
  return new Response(body, response);
}

/** Cloudflare Workers allow one pending read of a response, and reject the others. The response ends, or breaks after `breakAt` pieces. */
async function oneReadAtATime(response: Response, breakAt = Infinity): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  let piece = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (piece === breakAt) return controller.error(new TypeError('Network connection lost.'));
      if (piece * 10_000 >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(piece * 10_000, (piece + 1) * 10_000));
      piece += 1;
    },
  }, { highWaterMark: 0 });
  const reader = stream.getReader();
  let pending = false;
  const read = async () => {
    if (pending) throw new TypeError('This ReadableStream only supports a single pending read request at a time.');
    pending = true;
    return reader.read().finally(() => (pending = false));
  };
  const body = { getReader: () => ({ read, cancel: () => reader.cancel() }) };
  return Object.defineProperty(response, 'body', { value: body });
}

describe('jobs.download', () => {
  it('writes the result, replaces what is there and reports progress', async () => {
    const { reelmend, id, links } = await service();
    const path = join(dir, 'out.mp4');
    await writeFile(path, 'older');
    const progress: DownloadProgress[] = [];
    expect(await reelmend.jobs.download(id, path, { onProgress: (now) => progress.push(now) })).toEqual({
      path,
      sizeBytes: video.length,
      sha256,
    });
    expect((await readFile(path)).equals(video)).toBe(true);
    expect(await readdir(dir)).toEqual(['out.mp4']);
    expect(progress[0]).toEqual({ receivedBytes: 0, totalBytes: video.length });
    expect(progress.at(-1)).toEqual({ receivedBytes: video.length, totalBytes: video.length });
    expect(links).toEqual([{ range: null, hasKey: false }]);
  });

  it('writes a file whose name is as long as a name can be', async () => {
    const { reelmend, id } = await service();
    const path = join(dir, `${'あ'.repeat(83)}あ.a`);
    expect(Buffer.byteLength(basename(path))).toBeGreaterThan(250);
    await reelmend.jobs.download(id, path);
    expect(await readdir(dir)).toEqual([basename(path)]);
  });

  it('replaces no folder, pipe or device, and asks the service for nothing then', async () => {
    const { reelmend, id, links } = await service();
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    for (const path of [dir, join(dir, 'pipe')]) {
      await expect(reelmend.jobs.download(id, path)).rejects.toThrow(new TypeError(`${path} is no file: name a file for the result.`));
    }
    expect(links).toEqual([]);
    expect(await readdir(dir)).toEqual(['pipe']);
  });

  it('goes on after broken connections where it was', async () => {
    let broken = 0;
    const { reelmend, id, links } = await service(async (_request, next) => {
      broken += 1;
      return broken < 3 ? cut(await next(), 70_000) : next();
    });
    const path = join(dir, 'out.mp4');
    await reelmend.jobs.download(id, path);
    expect((await readFile(path)).equals(video)).toBe(true);
    expect(links.map(({ range }) => range)).toEqual([null, 'bytes=70000-', 'bytes=140000-']);
  });

  it('starts over with a server that knows no ranges', async () => {
    let broken = 0;
    const { reelmend, id } = await service(async (request, next) => {
      request.headers.delete('Range');
      broken += 1;
      return broken < 2 ? cut(await next(), 70_000) : next();
    });
    const path = join(dir, 'out.mp4');
    await reelmend.jobs.download(id, path);
    expect((await readFile(path)).equals(video)).toBe(true);
  });

  it('takes a result that it stores more slowly than it arrives from a server that closes the connection', async () => {
    const large = randomBytes(8_000_000);
    const server = await startRawServer((socket) =>
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\nConnection: close\r\n\r\n`);
        socket.end(large);
      }),
    );
    const { api, reelmend, id } = await service(() => fetch(`http://${server.hostPort}/`));
    await api.store.changeJob(id, { ...finished(), output: { ...output, size_bytes: large.length, sha256: createHash('sha256').update(large).digest('hex') } });
    try {
      for (let i = 0; i < 5; i++) await reelmend.jobs.download(id, join(dir, 'out.mp4'));
    } finally {
      await server.close();
    }
    expect((await readFile(join(dir, 'out.mp4'))).equals(large)).toBe(true);
  });

  it.each([
    ['one has expired', () => Response.json({ error: { code: 'link_expired', message: 'Old.', type: 'permission_error' } }, { status: 403 })],
    ['the storage has a fault', () => new Response('<Error><Code>InternalError</Code></Error>', { status: 500 })],
  ])('takes a fresh link when %s', async (_name, refusal) => {
    let refused = 0;
    const { reelmend, id } = await service(async (_request, next) => (++refused < 2 ? refusal() : next()));
    expect((await reelmend.jobs.download(id, join(dir, 'out.mp4'))).sha256).toBe(sha256);
  });

  it.each([
    ['a result that never arrives whole', async (_request: Request, next: () => Promise<Response>) => cut(await next(), 0), 'The connection broke'],
    ['another file', async () => new Response(video.map((byte) => byte ^ 1)), 'does not have the checksum'],
  ])('rejects %s, and leaves nothing behind', async (_name, serve, message) => {
    const { reelmend, id } = await service(serve);
    await expect(reelmend.jobs.download(id, join(dir, 'out.mp4'))).rejects.toThrow(message);
    expect(await readdir(dir)).toEqual([]);
  });

  it('rejects as jobs.result while there is no result', async () => {
    const { reelmend, links } = await service();
    const { id } = await reelmend.jobs.create({ video_url: 'https://media.example.com/b.mp4', resolution: '1080p' });
    await expect(reelmend.jobs.download(id, join(dir, 'out.mp4'))).rejects.toMatchObject({ code: 'job_not_done' });
    expect({ links, files: await readdir(dir) }).toEqual({ links: [], files: [] });
  });

  it('ends with what onProgress throws, also at the last byte', async () => {
    const { reelmend, id } = await service();
    const onProgress = ({ receivedBytes, totalBytes }: DownloadProgress) => {
      if (receivedBytes === totalBytes) throw new Error('mine');
    };
    await expect(reelmend.jobs.download(id, join(dir, 'out.mp4'), { onProgress })).rejects.toThrow('mine');
    expect(await readdir(dir)).toEqual([]);
  });

  it('ends with the reason of its signal', async () => {
    const { reelmend, id } = await service();
    const aborter = new AbortController();
    const onProgress = () => aborter.abort(new Error('enough'));
    await expect(reelmend.jobs.download(id, join(dir, 'out.mp4'), { signal: aborter.signal, onProgress })).rejects.toThrow('enough');
    expect(await readdir(dir)).toEqual([]);
  });

  it('aborts the request when it ends early: in Firefox, a stream that is only cancelled keeps its connection', async () => {
    const signals: AbortSignal[] = [];
    const { reelmend, id } = await service(async (request, next) => {
      signals.push(request.signal);
      return next();
    });
    const stop = ({ receivedBytes }: DownloadProgress) => {
      if (receivedBytes > 0) throw new Error('enough');
    };
    await expect(reelmend.jobs.download(id, join(dir, 'out.mp4'), { onProgress: stop })).rejects.toThrow('enough');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('says what to do where there is no file system', async () => {
    const { reelmend, id } = await service();
    vi.stubGlobal('process', undefined);
    await expect(reelmend.jobs.download(id, 'out.mp4')).rejects.toThrow(/^This runtime cannot write files .*downloadBlob/);
  });
});

describe('a download in an outage', () => {
  beforeEach(useFakeClock);
  afterEach(() => void vi.useRealTimers());

  /** The connection breaks after three of five bytes; from then on, no link is answered for so long. */
  async function downloadThrough(awayMs: number) {
    let brokeAt = Infinity;
    const { reelmend } = fakeService([async ({ url, headers }) => {
      if (url.endsWith('/result')) {
        if (Date.now() >= brokeAt && Date.now() < brokeAt + awayMs) throw new TypeError('fetch failed');
        return json({ download_url: 'https://bucket.example.com/out.mp4' });
      }
      if (!url.endsWith('.mp4')) return json(jobView({ status: 'done', output: { ...output, size_bytes: 5, sha256: createHash('sha256').update('hello').digest('hex') } }));
      if (headers.has('Range')) return new Response('lo', { status: 206 });
      brokeAt = Date.now();
      return cut(new Response('hello'), 3);
    }]);
    const began = Date.now();
    const outcome = reelmend.jobs.downloadBlob(jobId).then((blob) => blob.text(), (error: unknown) => error);
    return { outcome: await runUntilSettled(outcome), ms: Date.now() - began };
  }

  it('goes on after less than a minute, and ends after more', async () => {
    expect((await downloadThrough(55_000)).outcome).toBe('hello');
    const { outcome, ms } = await downloadThrough(600_000);
    expect(outcome).toMatchObject({ name: 'ReelmendConnectionError' });
    expect(ms).toBeGreaterThan(60_000);
    expect(ms).toBeLessThan(80_000);
  });
});

describe('jobs.downloadStream', () => {
  it('yields the result in order, also after a broken connection, and reads no further than it is read', async () => {
    let broken = 0;
    const { reelmend, id, links } = await service(async (_request, next) => (++broken < 2 ? cut(await next(), 70_000) : next()));
    const stream = await reelmend.jobs.downloadStream(id);
    expect(links).toEqual([]);
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(video)).toBe(true);
    expect(links.map(({ range }) => range)).toEqual([null, 'bytes=70000-']);
  });

  it('fails at its end if it is another file', async () => {
    const { reelmend, id } = await service(async () => new Response(video.map((byte) => byte ^ 1)));
    const stream = await reelmend.jobs.downloadStream(id);
    await expect(new Response(stream).arrayBuffer()).rejects.toThrow('does not have the checksum of the job');
  });

  it('ends its connection when it is cancelled', async () => {
    let isAborted = false;
    const { reelmend, id } = await service(async (request, next) => {
      request.signal.addEventListener('abort', () => (isAborted = true));
      return next();
    });
    const reader = (await reelmend.jobs.downloadStream(id)).getReader();
    await reader.read();
    await reader.cancel();
    expect(isAborted).toBe(true);
  });
});

describe('jobs.downloadBlob', () => {
  it('resolves with the result, also after a broken connection', async () => {
    let broken = 0;
    const { reelmend, id } = await service(async (_request, next) => (++broken < 2 ? cut(await next(), 1000) : next()));
    vi.stubGlobal('process', undefined);
    const blob = await reelmend.jobs.downloadBlob(id);
    expect(blob.type).toBe('video/mp4');
    expect(Buffer.from(await blob.arrayBuffer()).equals(video)).toBe(true);
  });

  it('takes one connection where a stream allows one read at a time, and goes on after a broken one', async () => {
    const { reelmend, id, links } = await service(async (_request, next) => oneReadAtATime(await next(), links.length === 1 ? 4 : undefined));
    expect(Buffer.from(await (await reelmend.jobs.downloadBlob(id)).arrayBuffer()).equals(video)).toBe(true);
    expect(links.map(({ range }) => range)).toEqual([null, 'bytes=40000-']);
  });
});

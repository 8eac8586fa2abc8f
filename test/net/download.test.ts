/** Whole videos into files: complete or not at all. */
import { createHash, randomBytes } from 'node:crypto';
import { access, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, NetClientOptions, Timeouts } from '../../src/net/index.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { Behaviour, FileServer } from '../helpers/fileserver.ts';
import { countReceivedBytes } from '../helpers/received-bytes.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

const data = randomBytes(3_000_001);
const sha256 = createHash('sha256').update(data).digest('hex');
/** Nothing here is too slow, however busy the machine is; tests of a limit set theirs. */
const timeouts = {
  connectMs: hangMs,
  headersMs: hangMs,
  idleMs: hangMs,
  minBytesPerSecond: 0,
  downloadBytesPerSecond: 0,
  retryDelayMs: 5,
  attempts: 3,
};

let server: FileServer;
let client: GuardedClient;
let dir: string;
let path: string;
const received = countReceivedBytes();

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-download-'));
  path = join(dir, 'source');
  server = await startFileServer({ paths: { '/a.mp4': { body: data, etag: '"v1"' } } });
  use();
});
afterEach(async () => {
  await client.close();
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

function use(options: Partial<NetClientOptions> = {}) {
  client = createNetClient({ allowHosts: [server.hostPort], timeouts, ...options });
}

const download = (behaviour: Behaviour = {}, options: { maxBytes?: number; signal?: AbortSignal } = {}) => {
  server.behave('/a.mp4', behaviour);
  return client.download(`${server.url}/a.mp4`, path, { maxBytes: 1e9, ...options });
};

const unreachable = (message: RegExp) => ({ code: 'video_unreachable', message: expect.stringMatching(message) });

async function expectWhole(): Promise<void> {
  expect(data.equals(await readFile(path))).toBe(true);
}

async function expectNothing(): Promise<void> {
  expect(await readdir(dir)).toEqual([]);
}

describe('download', () => {
  it.each([
    { name: 'with a length', behaviour: {} },
    { name: 'without a length', behaviour: { chunked: true } },
    { name: 'without ranges', behaviour: { ranges: false } },
    { name: 'in slow pieces', behaviour: { bytesPerSecond: 6_000_000 } },
    { name: 'of any type', behaviour: { contentType: 'text/plain' } },
    { name: 'with identity content encoding', behaviour: { contentEncoding: 'identity' } },
  ])('writes a file $name, with its hash', async ({ behaviour }) => {
    expect(await download(behaviour)).toEqual({ bytes: data.length, sha256, etag: '"v1"' });
    await expectWhole();
    expect(server.requests).toHaveLength(1);
  });

  it('replaces what was at the path, a longer file too', async () => {
    await writeFile(path, Buffer.alloc(5_000_000));
    await download();
    await expectWhole();
  });

  it('follows redirects', async () => {
    server.behave('/go', { redirect: '/a.mp4' });
    const result = await client.download(`${server.url}/go`, path, { maxBytes: 1e9 });
    expect(result).toEqual({ bytes: data.length, sha256, etag: '"v1"' });
  });

  it('writes an empty file as one', async () => {
    expect(await download({ body: '' })).toMatchObject({ bytes: 0 });
    expect(await readFile(path)).toHaveLength(0);
  });
});

describe('size', () => {
  it('of exactly the limit passes, one byte more does not', async () => {
    await download({}, { maxBytes: data.length });
    await expectWhole();
    const tooLarge = {
      code: 'video_too_large',
      message: "The video's file is larger than the limit of 3,000,000 bytes.",
    };
    for (const behaviour of [{}, { chunked: true }]) {
      await expect(download(behaviour, { maxBytes: 3_000_000 })).rejects.toMatchObject(tooLarge);
      await expectNothing();
    }
  });

  it('is refused by the declared length without reading the body', async () => {
    const error = download({ body: Buffer.alloc(30_000_000) }, { maxBytes: 1000 });
    await expect(error).rejects.toMatchObject({ code: 'video_too_large' });
    expect(await received(1_000_000)).toBeLessThan(1_000_000);
  });

  it.each([
    { name: 'an endless body without length', behaviour: { body: 'endless' as const, chunked: true } },
    { name: 'an endless body', behaviour: { body: 'endless' as const } },
  ])('stops $name at the limit', async ({ behaviour }) => {
    await expect(download(behaviour, { maxBytes: 2_000_000 })).rejects.toMatchObject({ code: 'video_too_large' });
    await expectNothing();
    expect(await received(3_000_000)).toBeLessThan(3_000_000);
  });

  it('that was declared too high is an error, never a shorter file', async () => {
    for (const behaviour of [{ etag: '"v1"' }, { etag: null }, { etag: null, ranges: false }]) {
      await expect(download({ lengthError: 500, ...behaviour })).rejects.toMatchObject(
        unreachable(/broke|fewer bytes|wrong Content-Range/),
      );
      await expectNothing();
    }
  });

  it('is what was declared: bytes behind the end of a response belong to no response', async () => {
    for (const pauseMs of [0, 5]) {
      const liar = await startRawServer((socket) => {
        socket.on('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(1000)}`);
          setTimeout(() => socket.write('y'.repeat(1000)), pauseMs);
        });
      });
      use({ allowHosts: [liar.hostPort] });
      for (let times = 0; times < 2; times += 1) {
        await client.download(`http://${liar.hostPort}/a.mp4`, path, { maxBytes: 1e9 });
        expect(await readFile(path, 'utf8')).toBe('x'.repeat(1000));
      }
      await client.close();
      await liar.close();
    }
  });
});

describe('a transfer that breaks off', () => {
  it('is resumed where it ended, under If-Range', async () => {
    expect(await download({ resetAtBytes: 2_900_000, resets: 1 })).toMatchObject({ sha256 });
    await expectWhole();
    expect(server.requests).toHaveLength(2);
    const second = server.requests[1]!;
    expect(second.range).toMatch(/^bytes=\d+-$/);
    // How much of the first response survives the reset is the system's choice, not ours.
    const start = Number(/\d+/.exec(second.range!)![0]);
    expect(start).toBeGreaterThan(0);
    expect(second.headers['if-range']).toBe('"v1"');
    expect(second.bytes).toBe(data.length - start);
  });

  it('is resumed more often than the limit of attempts while it makes progress', async () => {
    const big = Buffer.concat([data, data, data, data]);
    const whole = createHash('sha256').update(big).digest('hex');
    expect(await download({ body: big, resetAtBytes: 1_600_000 })).toMatchObject({ bytes: big.length, sha256: whole });
    expect(server.requests.length).toBeGreaterThan(5);
  });

  it('is resumed, too, when a try brings far less than a megabyte', async () => {
    expect(await download({ resetAtBytes: 200_000 })).toMatchObject({ bytes: data.length, sha256 });
    await expectWhole();
    expect(server.requests.length).toBeGreaterThan(14);
  });

  it('is not begun again and again, however much further each try comes', async () => {
    let requests = 0;
    const forgetful = await startFileServer({
      routes: {
        '/a.mp4': (_, response) => {
          requests += 1;
          response.writeHead(200, { 'content-length': data.length });
          response.write(data.subarray(0, requests * 100_000));
          setTimeout(() => response.socket?.resetAndDestroy(), 20);
        },
      },
    });
    use({ allowHosts: [forgetful.hostPort] });
    const downloading = client.download(`${forgetful.url}/a.mp4`, path, { maxBytes: 1e9 });
    await expect(downloading).rejects.toMatchObject(unreachable(/broke the connection off/));
    expect(requests).toBe(3);
    await expectNothing();
    await forgetful.close();
  });

  it.each([
    { name: 'no validator', behaviour: { etag: null } },
    { name: 'only a weak validator', behaviour: { etag: 'W/"v1"' } },
    { name: 'no ranges', behaviour: { ranges: false } },
  ])('starts over with $name, and the hash with it', async ({ behaviour }) => {
    expect(await download({ ...behaviour, resetAtBytes: 2_000_000, resets: 1 })).toMatchObject({
      bytes: data.length,
      sha256,
    });
    await expectWhole();
    expect(server.requests).toHaveLength(2);
  });

  it('is whole when a body without a length breaks off at its very end', async () => {
    const late = await startFileServer({
      routes: {
        '/a.mp4': (request, response) => {
          if (request.headers.range !== undefined) {
            return void response.writeHead(416, { etag: '"v1"', 'content-range': `bytes */${data.length}` }).end();
          }
          response.writeHead(200, { etag: '"v1"', 'transfer-encoding': 'chunked' });
          response.write(data);
          void eventually(async () => (await stat(path)).size === data.length).then(() => response.socket?.resetAndDestroy());
        },
      },
    });
    use({ allowHosts: [late.hostPort] });
    expect(await client.download(`${late.url}/a.mp4`, path, { maxBytes: 1e9 })).toMatchObject({ bytes: data.length, sha256 });
    expect(late.requests).toHaveLength(2);
    await expectWhole();
    await late.close();
  });

  it('takes the new file whole when the source has changed meanwhile', async () => {
    const other = randomBytes(1_500_000);
    const downloading = download({ resetAtBytes: 2_000_000, resets: 1, bytesPerSecond: 8_000_000 });
    await eventually(() => server.requests.length === 1);
    server.behave('/a.mp4', { body: other, etag: '"v2"' });
    const want = createHash('sha256').update(other).digest('hex');
    expect(await downloading).toMatchObject({ bytes: other.length, sha256: want });
    expect(other.equals(await readFile(path))).toBe(true);
  });

  it.each([
    { name: 'another ETag', headers: { etag: '"v2"' }, total: data.length },
    { name: 'another total', headers: { etag: '"v1"' }, total: data.length + 1 },
  ])('ends as source_changed when the rest comes with $name', async ({ headers, total }) => {
    // What the client has not read when the connection is reset may never reach it.
    const whenKept = async () => {
      while ((await stat(path)).size < 100_000) await sleep(10);
    };
    const sly = await startFileServer({
      routes: {
        '/a.mp4': (request, response) => {
          if (request.headers.range === undefined) {
            response.writeHead(200, { etag: '"v1"', 'content-length': data.length });
            response.write(data.subarray(0, 1_000_000));
            return void whenKept().then(() => response.socket?.resetAndDestroy());
          }
          const start = Number(/\d+/.exec(request.headers.range)![0]);
          response.writeHead(206, { ...headers, 'content-range': `bytes ${start}-${data.length - 1}/${total}` });
          response.end(data.subarray(start));
        },
      },
    });
    use({ allowHosts: [sly.hostPort] });
    await expect(client.download(`${sly.url}/a.mp4`, path, { maxBytes: 1e9 })).rejects.toMatchObject({
      code: 'source_changed',
      message: 'The video cannot be read: the file changed on the server while it was being read.',
    });
    await expectNothing();
    await sly.close();
  });

  it('fails for good after the last try without progress', async () => {
    await expect(download({ resetAtBytes: 1000 })).rejects.toMatchObject(unreachable(/broke the connection off/));
    expect(server.requests).toHaveLength(3);
    await expectNothing();
  });
});

describe('bad servers', () => {
  const bad: { name: string; behaviour: Behaviour; limits?: Partial<Timeouts>; message: RegExp; attempts: number }[] = [
    { name: 'status 404', behaviour: { status: 404 }, message: /status 404\.$/, attempts: 1 },
    { name: 'status 500', behaviour: { status: 500 }, message: /status 500\.$/, attempts: 3 },
    { name: 'a web page', behaviour: { contentType: 'text/html' }, message: /web page/, attempts: 1 },
    { name: 'gzip', behaviour: { contentEncoding: 'gzip' }, message: /compressed/, attempts: 1 },
    { name: 'a trickle', behaviour: { bytesPerSecond: 100 }, limits: { minBytesPerSecond: 2000, rateWindowMs: 400 }, message: /too slowly/, attempts: 1 },
    { name: 'a stall', behaviour: { stallAtBytes: 1000 }, limits: { idleMs: 300 }, message: /in time/, attempts: 3 },
    { name: 'a 206 to a plain GET', behaviour: { status: 206 }, message: /status 206\.$/, attempts: 1 },
  ];
  it.each(bad)('give one sentence: $name', async ({ behaviour, limits, message, attempts }) => {
    use({ timeouts: { ...timeouts, ...limits } });
    await expect(download(behaviour)).rejects.toMatchObject(unreachable(message));
    expect(server.requests).toHaveLength(attempts);
    await expectNothing();
  });

  it('that are slow but not too slow run into the total limit', async () => {
    use({ timeouts: { ...timeouts, totalMs: 600 } });
    await expect(download({ bytesPerSecond: 20_000 })).rejects.toMatchObject(unreachable(/takes too long/));
    await expectNothing();
  });

  it('that recover are forgiven', async () => {
    const downloading = download({ status: 503 });
    const recovered = await startFileServer({ paths: { '/a.mp4': { body: data } } });
    await expect(downloading).rejects.toMatchObject(unreachable(/503/));
    use({ allowHosts: [recovered.hostPort] });
    expect(await client.download(`${recovered.url}/a.mp4`, path, { maxBytes: 1e9 })).toMatchObject({ sha256 });
    await recovered.close();
  });
});

describe('this side', () => {
  it('aborts with the reason of the signal and removes the file, also between two attempts', async () => {
    const cases: Behaviour[] = [{ bytesPerSecond: 50_000 }, { status: 503 }, { headersDelayMs: hangMs }];
    for (const behaviour of cases) {
      use({ timeouts: { ...timeouts, retryDelayMs: hangMs } });
      const reason = new Error('the job was cancelled');
      const control = new AbortController();
      const before = server.requests.length;
      const downloading = download({ ...behaviour, etag: '"v1"' }, { signal: control.signal });
      void eventually(() => server.requests.length > before).then(() => setTimeout(() => control.abort(reason), 100));
      await expect(downloading).rejects.toBe(reason);
      await expectNothing();
      server.behave('/a.mp4', { bytesPerSecond: 1e9, headersDelayMs: 0 });
    }
  });

  it('lets a full disk through as what it is, so that the job can be tried again', async () => {
    // The link goes away with the failure, the device behind it does not.
    await symlink('/dev/full', path);
    await expect(download()).rejects.toMatchObject({ code: 'ENOSPC' });
    await expectNothing();
    await access('/dev/full');
  });

  it('lets a folder that is missing through as what it is', async () => {
    path = join(dir, 'missing', 'source');
    await expect(download()).rejects.toMatchObject({ code: 'ENOENT' });
    expect(server.requests).toEqual([]);
  });

  it('ends downloads with a plain error when the client is closed', async () => {
    const downloading = expect(download({ bytesPerSecond: 50_000 })).rejects.toThrow(
      'the connection to the server was closed',
    );
    await eventually(() => server.requests.length === 1);
    await client.close();
    await downloading;
    await expectNothing();
  });
});

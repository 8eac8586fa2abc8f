/** Downloads whose server sends just fast enough to never end. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import { enforceMinSpeed } from '../../src/net/min-speed.ts';
import type { Timeouts } from '../../src/net/timeouts.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { hangMs } from '../helpers/wait.ts';

let server: FileServer;
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-floor-'));
  server = await startFileServer({ paths: { '/film.mp4': { body: randomBytes(120_000), etag: '"v1"' } } });
});
afterEach(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

async function download(bytesPerSecond: number, timeouts: Partial<Timeouts>) {
  server.behave('/film.mp4', { bytesPerSecond });
  const client = createNetClient({ allowHosts: [server.hostPort], timeouts });
  const options = { maxBytes: 1e9, signal: AbortSignal.timeout(hangMs) };
  return client.download(`${server.url}/film.mp4`, join(dir, 'film'), options).finally(() => client.close());
}

describe('a download', () => {
  it('of 11 kB/s is given up by the service’s own floor, without another attempt', async () => {
    const failure = { code: 'video_unreachable', message: 'The video cannot be read: the server sends too slowly.' };
    await expect(download(11_000, { downloadWindowMs: 1000 })).rejects.toMatchObject(failure);
    expect(server.requests).toHaveLength(1);
    expect(await readdir(dir)).toEqual([]);
  });

  it('above the floor is finished, however many windows it takes', async () => {
    // Far above it, so that no busy machine falls below.
    expect(await download(150_000, { downloadBytesPerSecond: 100, downloadWindowMs: 100 })).toMatchObject({ bytes: 120_000 });
  });

  it('of any speed is finished where operators set no floor', async () => {
    const slow = { downloadBytesPerSecond: 0, downloadWindowMs: 400, minBytesPerSecond: 0 };
    expect(await download(40_000, slow)).toMatchObject({ bytes: 120_000 });
  });
});

describe('the floor', () => {
  const floor = { bytesPerSecond: 10_000, windowMs: 200 };
  // A clock that passes only where a test says so.
  let now = 0;
  const pass = (ms: number) => void (now += ms);
  beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now));
  afterEach(() => void vi.restoreAllMocks());

  async function* pieces(...sends: [afterMs: number, bytes: number][]) {
    for (const [afterMs, bytes] of sends) {
      pass(afterMs);
      yield Buffer.alloc(bytes);
    }
  }
  async function read(source: AsyncIterable<Buffer>, pauseMs = 0): Promise<number> {
    let bytes = 0;
    for await (const piece of enforceMinSpeed(source, floor)) {
      bytes += piece.length;
      pass(pauseMs);
    }
    return bytes;
  }

  it('is asked for on the average of a window: a pause within it is forgiven', async () => {
    expect(await read(pieces([1, 3000], [150, 10], [10, 3000], [1, 10]))).toBe(6020);
  });

  it('is asked for again in each window', async () => {
    await expect(read(pieces([1, 1_000_000], [210, 10_000], [210, 10]))).rejects.toThrow('the server sends too slowly');
  });

  it('does not count the time that this side takes', async () => {
    expect(await read(pieces([1, 10], [1, 10], [1, 10]), 250)).toBe(30);
  });
});

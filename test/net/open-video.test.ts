/** Reading a remote video without downloading it, whatever its server can do. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FileServer } from '../helpers/fileserver.ts';
import { data, never, readAll, setUpVideo } from '../helpers/open-video-suite.ts';
import { hangMs } from '../helpers/wait.ts';

const suite = setUpVideo();
const { open } = suite;

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
    const opening = suite.client.openVideo(`${suite.server.url}/a.mp4`, { maxBytes: 1e9, signal: gone.signal });
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
      if (ends === 0) await suite.client.close();
      expect(await connectionsOf(suite.server)).toBe(0);
      expect(await filesBelow(suite.temporary)).toEqual([]);
      await expect(video.read(0, 100, never)).rejects.toThrow('was closed');
    }
  });
});

/** Reading a remote video whose server knows no ranges: forward, into a temporary file. */
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { data, never, readAll, setUpVideo, timeouts, unreachable } from '../helpers/open-video-suite.ts';
import { countReceivedBytes } from '../helpers/received-bytes.ts';

const suite = setUpVideo();
const { use, open } = suite;

describe('reading forward', () => {
  const bound = 1_000_000;
  const received = countReceivedBytes();

  it('reads the body once, and only as far as is asked', async () => {
    const video = await open({ ranges: false });
    await readAll(video, 0, 500_000);
    await readAll(video, 100, 400_000);
    expect(suite.server.requests).toHaveLength(1);
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
    const handle = await openFile(join(suite.temporary, 'any'), 'w');
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

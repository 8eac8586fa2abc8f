/** Measuring by the real client and real media children: slow origins of one account beside a good one of another. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMeasure, measureSlots, probeSlots } from '../../src/app/measure.ts';
import { createMedia } from '../../src/media/index.ts';
import { createNetClient } from '../../src/net/index.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { startFileServer, type FileServer } from '../helpers/fileserver.ts';
import { hangMs } from '../helpers/wait.ts';

let folder: string;
let files: FileServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-test-measuring-'));
  await makeClip(join(folder, 'good.mp4'), { seconds: 1, args: ['-c:v', 'libx264', '-preset', 'veryfast'] });
  files = await startFileServer({ dir: folder });
});
afterAll(async () => {
  await files.close();
  await rm(folder, { recursive: true });
});

const noStorage = { open: () => Promise.reject(new Error('nothing is stored here')) };

it('twelve origins that hang take the slots of their own account and nobody else\'s', async () => {
  // The response begins like a video's and then nothing more comes, so that a media child waits for it.
  files.behave('/slow.mp4', { body: Buffer.alloc(1_000_000), ranges: false, stallAtBytes: 1000 });
  const net = createNetClient({ allowHosts: [files.hostPort] });
  const measure = createMeasure({ net, storage: noStorage, media: await createMedia({ maxProbes: measureSlots.total }) });
  const gone = new AbortController();
  const slow = Array.from({ length: 12 }, () =>
    measure(`${files.url}/slow.mp4`, { accountId: 'slow', signal: gone.signal }).then(
      () => 'measured',
      (error: unknown) => (error === gone.signal.reason ? 'still measuring' : error),
    ),
  );
  try {
    const facts = await measure(`${files.url}/good.mp4`, { accountId: 'good', signal: AbortSignal.timeout(hangMs) });
    expect(facts).toMatchObject({ video_codec: 'h264', size_bytes: expect.any(Number) as number });
    // Requests that waited in vain learn that this service is busy, not the video's server.
    const refused = await Promise.all(slow.slice(measureSlots.each));
    for (const error of refused) expect(error).toMatchObject({ code: 'service_unavailable', retryAfterS: 5 });
    expect(refused).toHaveLength(9);
  } finally {
    gone.abort(new Error('enough'));
    expect(await Promise.all(slow.slice(0, measureSlots.each))).toEqual(Array(3).fill('still measuring'));
    await net.close();
  }
});

it('a measurement learns how long it waited for a slot', async () => {
  const net = createNetClient({ allowHosts: [files.hostPort] });
  const media = await createMedia({ maxProbes: measureSlots.total });
  const measure = createMeasure({ net, storage: noStorage, media });
  const waits: number[] = [];
  const one = () => measure(`${files.url}/good.mp4`, { accountId: 'one', signal: AbortSignal.timeout(hangMs), onStart: (ms) => void waits.push(ms) });
  await Promise.all(Array.from({ length: measureSlots.each + 1 }, one));
  expect(waits).toHaveLength(measureSlots.each + 1);
  expect(Math.max(...waits.slice(0, measureSlots.each))).toBeLessThan(waits.at(-1)!);
  await net.close();
});

it('downloads that are being measured leave the API its slots', async () => {
  const config = { downloadConcurrency: 4 };
  const media = await createMedia({ maxProbes: probeSlots(config) });
  const net = createNetClient({ allowHosts: [files.hostPort] });
  const gone = new AbortController();
  // Each child waits for bytes that never come.
  const stuck = { size: 1e6, read: () => new Promise<Uint8Array>(() => {}) };
  const downloads = Array.from({ length: config.downloadConcurrency }, () =>
    media.probe({ source: stuck, timeoutMs: hangMs, signal: gone.signal }),
  );
  // All of the API's slots but one.
  const hanging = Array.from({ length: measureSlots.total - 1 }, () =>
    media.probe({ source: stuck, timeoutMs: hangMs, signal: gone.signal }),
  );
  const ended = Promise.allSettled([...downloads, ...hanging]);
  try {
    const measure = createMeasure({ net, storage: noStorage, media });
    const signal = AbortSignal.timeout(hangMs);
    await expect(measure(`${files.url}/good.mp4`, { accountId: 'good', signal })).resolves.toMatchObject({ video_codec: 'h264' });
  } finally {
    gone.abort(new Error('enough'));
    await ended;
    await net.close();
  }
});

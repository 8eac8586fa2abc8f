/** A preview by the real service, of a video that is made of known stretches; ffprobe measures its clips. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Preview, PreviewClip } from '../../src/contract/types.gen.ts';
import { ffmpeg, ffprobe } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { call, createCustomer, createSite, type Customer, type Running, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const face = fileURLToPath(new URL('../../engine/tests/media/face.jpg', import.meta.url));

let dir: string;
let files: FileServer;
let site: Site;
let api: Running;
let customer: Customer;

/** 16 s, whose eight candidates are two seconds each: a face in the second, grain in the fifth, coarse blocks in the seventh. */
async function makeVideo(path: string): Promise<void> {
  const calm = (seconds: number) => ['-f', 'lavfi', '-t', String(seconds), '-i', 'gradients=size=320x240:rate=10:speed=0.01:seed=1'];
  const blocks = join(dir, 'blocks.mp4');
  await ffmpeg(['-f', 'lavfi', '-t', '2', '-i', 'testsrc2=size=320x240:rate=10', '-vf', 'boxblur=2', '-c:v', 'mpeg4', '-q:v', '31', '-g', '1', blocks]);
  const same = 'scale=320:240,fps=10,setsar=1,format=yuv420p';
  const parts = ['calm', 'face', 'calm', 'grain', 'calm', 'blocks', 'calm'];
  await ffmpeg([
    ...calm(2), ...['-loop', '1', '-framerate', '10', '-t', '2', '-i', face], ...calm(4),
    ...['-f', 'lavfi', '-t', '2', '-i', 'mandelbrot=size=320x240:rate=10,noise=alls=40:allf=t'], ...calm(2), '-i', blocks, ...calm(2),
    '-filter_complex', `${parts.map((_, index) => `[${index}]${same}[v${index}]`).join(';')};${parts.map((_, index) => `[v${index}]`).join('')}concat=n=7`,
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '8', path],
  ]);
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-previews-'));
  await makeVideo(join(dir, 'parts.mp4'));
  files = await startFileServer({ dir });
  site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_METRICS_PORT: '0' });
  customer = await createCustomer(site);
  api = await site.start('start');
});

afterAll(async () => {
  await site?.close();
  await files?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Frames that the service has enhanced so far. */
async function enhancedFrames(): Promise<number> {
  const { url } = JSON.parse(api.log.find((line) => line.includes('"msg":"metrics"'))!) as { url: string };
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^reelmend_enhanced_frames_total\{.*\} (\d+)$/gm)].reduce((sum, [, frames]) => sum + Number(frames), 0);
}

async function measure(clip: PreviewClip) {
  const path = join(dir, 'clip.mp4');
  const bytes = Buffer.from(await (await fetch(clip.url)).arrayBuffer());
  await writeFile(path, bytes);
  const { streams } = await ffprobe(path);
  return { bytes: bytes.length, video: streams.find(({ codec_type }) => codec_type === 'video')!, kinds: streams.map(({ codec_type }) => codec_type) };
}

it('shows the face, what is hard to encode and what is damaged, untouched and with each setting, and charges 12 seconds', async () => {
  const settings = [{ resolution: '1080p', model: 'none', enhancements: { denoise: 'off' } }, { resolution: '1080p', model: 'none', output: { quality: 30 } }];
  const created = await call<Preview>(api.url, customer.key, 'POST', '/v1/previews', { video_url: `${files.url}/parts.mp4`, settings });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  expect(created.body).toMatchObject({ status: 'queued', processed_seconds: 12, credits_charged: 36, settings, stretches: null });
  const get = async () => (await call<Preview>(api.url, customer.key, 'GET', `/v1/previews/${created.body.id}`)).body;
  await eventually(async () => ['done', 'error'].includes((await get()).status));
  const { status, error, stretches } = await get();
  expect(status, JSON.stringify(error)).toBe('done');

  expect(stretches!.map(({ start, duration, reason }) => [start, duration, reason])).toEqual([
    [2, 2, 'face'],
    [8, 2, 'hardest_to_encode'],
    [12, 2, 'most_damaged'],
  ]);
  for (const { original, results } of stretches!) {
    expect(results).toHaveLength(2);
    for (const [clip, size] of [[original, [320, 240]], ...results.map((result) => [result, [1440, 1080]])] as [PreviewClip, number[]][]) {
      const { bytes, video, kinds } = await measure(clip);
      expect(kinds).toEqual(['video']);
      expect(bytes).toBe(clip.size_bytes);
      expect([video.width, video.height]).toEqual(size);
      expect([clip.width, clip.height]).toEqual(size);
      expect(Number(video.nb_read_frames)).toBe(20);
    }
    // The second setting has a much lower quality.
    expect(results[1]!.size_bytes).toBeLessThan(results[0]!.size_bytes / 2);
  }

  // Three stretches of two seconds at 10 frames per second: untouched and with both settings. A job enhances 160 for one.
  expect(await enhancedFrames()).toBe(3 * 20 * (1 + settings.length));

  const deleted = await call<{ refunded_credits: number }>(api.url, customer.key, 'DELETE', `/v1/previews/${created.body.id}`);
  expect(deleted).toMatchObject({ status: 200, body: { refunded_credits: 0, certificate: null } });
  await eventually(async () => (await fetch(stretches![0]!.original.url)).status === 404);
});

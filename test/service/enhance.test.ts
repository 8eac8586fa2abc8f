/** The main job, end to end: real API, real PostgreSQL, real worker, real file server, real videos. */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audioHash, ffmpeg, ffprobe, frameTimes, makeClip, type StreamFacts } from '../helpers/ffmpeg.ts';
import { call, createCustomer, type JobView, openVideoSite, type VideoSite, waitForEnd } from '../helpers/service.ts';
import { makeVariants, variants, video } from './clips.ts';

let dir: string;
let files: VideoSite['files'];
let api: VideoSite['api'];
let customer: VideoSite['customer'];
let site: VideoSite['site'];
let close: VideoSite['close'] | undefined;

beforeAll(async () => {
  ({ dir, files, api, customer, site, close } = await openVideoSite(makeVariants, { REELMEND_WARM_CHILDREN: '1', REELMEND_ENCODER_PRESET: 'superfast' }));
});
afterAll(() => close?.());

const submit = (body: object, headers?: Record<string, string>) =>
  call<JobView & { error?: { code: string; message: string } }>(api.url, customer.key, 'POST', '/v1/jobs', body, headers);

const credits = async () =>
  (await call<{ credits: number }>(api.url, customer.key, 'GET', '/v1/account')).body.credits;

async function download(id: string, path: string): Promise<Buffer> {
  const { status, body } = await call<{ download_url: string; expires_in: number }>(api.url, customer.key, 'GET', `/v1/jobs/${id}/result`);
  expect(status).toBe(200);
  expect(body.expires_in).toBe(3600);
  const response = await fetch(body.download_url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('video/mp4');
  const bytes = Buffer.from(await response.arrayBuffer());
  await writeFile(path, bytes);
  return bytes;
}

const streamOf = (streams: StreamFacts[], type: string) => streams.find((stream) => stream.codec_type === type);

describe('a job', () => {
  for (const variant of variants) {
    it(`enhances ${variant.file}`, async () => {
      const source = join(dir, variant.file);
      const before = await credits();
      // What `auto` chooses is seen below; a network for each of these files would be most of the work.
      const created = await submit({ video_url: `${files.url}/${variant.file}`, resolution: '1080p', model: 'none' });
      expect(created.status, JSON.stringify(created.body)).toBe(201);
      expect(created.body).toMatchObject({ status: 'queued', sandbox: false, duration_seconds: 2, credits_charged: 6 });
      expect(created.headers.get('location')).toContain(`/v1/jobs/${created.body.id}`);

      const seen: number[] = [];
      const job = await waitForEnd(api.url, customer.key, created.body.id, { watch: ({ progress }) => seen.push(progress) });
      expect(job.status, JSON.stringify(job.error)).toBe('done');
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(job.progress).toBe(1);
      expect(await credits()).toBe(before - 6);

      const output = join(dir, `${job.id}.mp4`);
      const bytes = await download(job.id, output);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(job.output).toEqual({ width: variant.width, height: variant.height, size_bytes: bytes.length, sha256, quality: 16, max_bitrate: null });
      await checkOutput(source, output, variant);
    });
  }

  it('runs the network that it names and says what ran', async () => {
    // Few frames: a network is most of the work.
    await makeClip(join(dir, 'few.mp4'), { video: 'testsrc2=size=320x180:rate=5', seconds: 1, args: ['-c:v', 'libx264', '-crf', '30'], audio: null });
    const video_url = `${files.url}/few.mp4`;
    for (const [model, ran] of [['fast', 'fast'], ['none', 'none'], ['auto', 'detail']]) {
      const created = await submit({ video_url, resolution: '1080p', model });
      expect(created.status, JSON.stringify(created.body)).toBe(201);
      const job = await waitForEnd(api.url, customer.key, created.body.id);
      expect(job).toMatchObject({ status: 'done', enhancements: { model: ran } });
    }
    const refused = await submit({ video_url, resolution: '1080p', model: 'imaginary' });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
  });

  async function checkOutput(source: string, output: string, variant: (typeof variants)[number]): Promise<void> {
    const { streams, format } = await ffprobe(output);
    expect(format.format_name).toContain('mp4');
    const video = streamOf(streams, 'video')!;
    const { width, height } = variant;
    expect(video).toMatchObject({ codec_name: 'h264', profile: 'High', pix_fmt: 'yuv420p', width, height, color_space: 'bt709' });
    expect(video.side_data_list ?? []).toEqual([]);

    const [statedTimes, outputTimes] = [await frameTimes(source), await frameTimes(output)];
    const { constantRate } = variant;
    const sourceTimes = constantRate === undefined ? statedTimes : statedTimes.map((_, i) => i / constantRate);
    expect(outputTimes.length).toBe(sourceTimes.length);
    const offset = outputTimes[0]! - sourceTimes[0]!;
    for (const [i, time] of outputTimes.entries()) expect(Math.abs(time - sourceTimes[i]! - offset)).toBeLessThan(0.02);

    expect(streamOf(streams, 'audio') !== undefined).toBe(variant.audio);
    if (variant.audioCopied) expect(await audioHash(output)).toBe(await audioHash(source));
  }

  it('replays an idempotent creation and refuses the key with another body', async () => {
    const key = { 'Idempotency-Key': 'the same' };
    const body = { video_url: `${files.url}/silent.mp4`, resolution: '1080p', model: 'none' };
    const before = await credits();
    const [first, second] = await Promise.all([submit(body, key), submit(body, key)]);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.body.id).toBe(second.body.id);
    expect([first, second].filter((response) => response.headers.get('idempotent-replayed') === 'true')).toHaveLength(1);
    expect(await credits()).toBe(before - 6);
    expect((await submit({ ...body, resolution: '4k' }, key)).body.error?.code).toBe('idempotency_key_reused');
    await waitForEnd(api.url, customer.key, first.body.id);
  });

  it('is listed, and after its deletion unknown, with nothing left in storage', async () => {
    const { body: list } = await call<{ data: JobView[]; has_more: boolean }>(api.url, customer.key, 'GET', '/v1/jobs?limit=1&status=done');
    const [newest] = list.data;
    const { body: result } = await call<{ download_url: string }>(api.url, customer.key, 'GET', `/v1/jobs/${newest!.id}/result`);
    const deleted = await call<{ deleted: boolean; refunded_credits: number }>(api.url, customer.key, 'DELETE', `/v1/jobs/${newest!.id}`);
    expect(deleted).toMatchObject({ status: 200, body: { deleted: true, refunded_credits: 0 } });
    expect((await call(api.url, customer.key, 'GET', `/v1/jobs/${newest!.id}`)).status).toBe(404);
    await expect.poll(async () => (await fetch(result.download_url)).status).toBe(404);
    const stored = () => readdir(join(site.dataDir, 'storage'), { recursive: true }).catch(() => ['being removed']);
    await expect.poll(async () => (await stored()).filter((name) => name.includes(newest!.id))).toEqual([]);
  });

  it('leaves no scratch file behind', async () => {
    const scratch = await readdir(join(site.dataDir, 'scratch'), { recursive: true, withFileTypes: true });
    expect(scratch.filter((entry) => entry.isFile()).map((entry) => entry.name)).toEqual([]);
  });
});

describe('a refused creation charges nothing', () => {
  const refusals: Record<string, { make: (path: string) => Promise<void>; code: string }> = {
    'text.mp4': { make: (path) => writeFile(path, 'this is no video\n'.repeat(100)), code: 'unreadable_video' },
    'playlist.mp4': {
      make: (path) => writeFile(path, '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:1/x.ts\n#EXT-X-ENDLIST\n'),
      code: 'unreadable_video',
    },
    'audio.mp4': { make: (path) => ffmpeg(['-f', 'lavfi', '-i', 'sine', '-t', '1', '-c:a', 'aac', path]), code: 'unreadable_video' },
    'cut.mp4': {
      make: async (path) => {
        await makeClip(`${path}.whole.mp4`, { args: ['-c:v', 'libx264', '-preset', 'veryfast'] });
        const whole = await readFile(`${path}.whole.mp4`);
        await writeFile(path, whole.subarray(0, Math.floor(whole.length / 2)));
      },
      code: 'unreadable_video',
    },
    'empty.mp4': { make: (path) => writeFile(path, ''), code: 'unreadable_video' },
    'long.mp4': {
      make: (path) => makeClip(path, { video: 'color=size=32x32:rate=1', seconds: 601, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] }),
      code: 'video_too_long',
    },
  };

  for (const [name, { make, code }] of Object.entries(refusals)) {
    it(`${name}: ${code}`, async () => {
      await make(join(dir, name));
      const before = await credits();
      const { status, body } = await submit({ video_url: `${files.url}/${name}`, resolution: '1080p' });
      expect({ status, code: body.error?.code }).toEqual({ status: 400, code });
      expect(body.error?.message).toMatch(/^[A-Z][^\n]+\.$/);
      expect(await credits()).toBe(before);
    });
  }

  it('a file declared larger than 2 GB: video_too_large', async () => {
    files.behave('/huge.mp4', { body: 'endless', ranges: false, headers: { 'Content-Length': '2000000001' } });
    const { status, body } = await submit({ video_url: `${files.url}/huge.mp4`, resolution: '1080p' });
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'video_too_large' });
  });

  it('a private address: url_not_allowed', async () => {
    const { status, body } = await submit({ video_url: 'http://127.0.0.1:9/x.mp4', resolution: '1080p' });
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'url_not_allowed' });
  });

  it('a file that is not there: video_unreachable', async () => {
    const { status, body } = await submit({ video_url: `${files.url}/absent.mp4`, resolution: '1080p' });
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'video_unreachable' });
  });

  it('an account without credits: insufficient_credits', async () => {
    const poor = await createCustomer(site, { credits: 5 });
    const body = { video_url: `${files.url}/silent.mp4`, resolution: '1080p' };
    const response = await call<{ error: { code: string } }>(api.url, poor.key, 'POST', '/v1/jobs', body);
    expect({ status: response.status, code: response.body.error.code }).toEqual({ status: 402, code: 'insufficient_credits' });
  });

  it('an account that is not approved: account_pending_approval', async () => {
    const pending = await createCustomer(site, { approve: false });
    const response = await call<{ error: { code: string } }>(api.url, pending.key, 'GET', '/v1/jobs');
    expect({ status: response.status, code: response.body.error.code }).toEqual({ status: 403, code: 'account_pending_approval' });
  });
});

describe('a job that cannot be finished', () => {
  it('ends in error and is refunded when the source only proves broken while decoding', async () => {
    const path = join(dir, 'rotten.mp4');
    await makeClip(path, { seconds: 4, video, args: ['-c:v', 'libx264', '-preset', 'veryfast', '-movflags', '+faststart'], audio: null });
    const bytes = await readFile(path);
    // the index at the front stays whole and the first picture too; what follows is noise
    for (let i = Math.floor(bytes.length * 0.45); i < bytes.length; i++) bytes[i] = (i * 2654435761) >>> 24;
    await writeFile(path, bytes);
    const before = await credits();
    const created = await submit({ video_url: `${files.url}/rotten.mp4`, resolution: '1080p' });
    expect(created.status).toBe(201);
    const job = await waitForEnd(api.url, customer.key, created.body.id);
    expect(job).toMatchObject({ status: 'error', error: { code: 'unreadable_video' } });
    expect(await credits()).toBe(before);
    expect((await call<{ error: { code: string } }>(api.url, customer.key, 'GET', `/v1/jobs/${job.id}/result`)).body.error.code).toBe('job_failed');
  });

  it('ends in error and is refunded when the source was replaced after its creation', async () => {
    const path = join(dir, 'replaced.mp4');
    const args = ['-c:v', 'libx264', '-preset', 'veryfast'];
    await makeClip(path, { seconds: 2, video, args });
    files.behave('/replaced.mp4', { headersDelayMs: 300 });
    const before = await credits();
    await makeClip(`${path}.next.mp4`, { seconds: 6, video, args });
    const busy = await submit({ video_url: `${files.url}/vfr.mp4`, resolution: '4k', model: 'none' });
    const created = await submit({ video_url: `${files.url}/replaced.mp4`, resolution: '1080p' });
    expect(created.status).toBe(201);
    await rename(`${path}.next.mp4`, path);
    const job = await waitForEnd(api.url, customer.key, created.body.id);
    expect(job).toMatchObject({ status: 'error', error: { code: 'source_changed' } });
    await waitForEnd(api.url, customer.key, busy.body.id);
    expect(await credits()).toBe(before - 12);
  });
});

/** What customers choose of the result, as the file says it: ffprobe measures, and x264's own note tells its settings. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job, JobResult, Quote } from '../../src/contract/types.gen.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { call, openVideoSite, type VideoSite, waitForEnd } from '../helpers/service.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

/** of the clip */
const seconds = 2;

let dir: string;
let files: VideoSite['files'];
let api: VideoSite['api'];
let customer: VideoSite['customer'];
let close: VideoSite['close'] | undefined;

beforeAll(async () => {
  // Grain needs many bits, so that a limit has something to do.
  const video = 'testsrc2=size=320x180:rate=25,noise=alls=30:allf=t';
  const args = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '12'];
  const makeGrain = (folder: string) => makeClip(join(folder, 'grain.mp4'), { video, seconds, audio: null, args });
  ({ dir, files, api, customer, close } = await openVideoSite(makeGrain, { REELMEND_ENCODER_CRF: '20' }));
});
afterAll(() => close?.());

const body = (output: object) => ({ video_url: `${files.url}/grain.mp4`, resolution: '1080p', model: 'none', enhancements: { denoise: 'off' }, output });

interface Encoded {
  job: Job;
  path: string;
  /** bytes of all packets of the video */
  bytes: number;
  /** as x264 wrote them into the stream */
  settings: string;
  result: JobResult;
}

/** bytes and time of each packet of the video, in order of time */
async function packets(path: string): Promise<{ time: number; bytes: number }[]> {
  const args = ['-v', 'error', '-select_streams', 'v:0', '-show_entries', 'packet=pts_time,size', '-of', 'csv=p=0', path];
  const { stdout } = await promisify(execFile)('ffprobe', args, { timeout: hangMs, maxBuffer: 16 << 20 });
  const rows = stdout.trim().split('\n').map((line) => line.split(',').map(Number) as [number, number]);
  return rows.map(([time, bytes]) => ({ time, bytes })).sort((a, b) => a.time - b.time);
}

async function encode(output: object): Promise<Encoded> {
  const created = await call<Job>(api.url, customer.key, 'POST', '/v1/jobs', body(output));
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const job = (await waitForEnd(api.url, customer.key, created.body.id)) as unknown as Job;
  expect(job.status, JSON.stringify(job.error)).toBe('done');
  const link = await call<JobResult>(api.url, customer.key, 'GET', `/v1/jobs/${job.id}/result`);
  const path = join(dir, `${job.id}.mp4`);
  await writeFile(path, Buffer.from(await (await fetch(link.body.download_url)).arrayBuffer()));
  const settings = /x264 - core [^\0]*/.exec((await readFile(path)).toString('latin1'))?.[0] ?? '';
  const bytes = (await packets(path)).reduce((sum, packet) => sum + packet.bytes, 0);
  return { job, path, bytes, settings, result: link.body };
}

const quote = async (output: object) => (await call<Quote>(api.url, customer.key, 'POST', '/v1/quotes', body(output))).body.estimated_size!;

describe('output', () => {
  let standard: Encoded;
  let coarse: Encoded;

  it('has the quality of the installation without a choice, and four less as `high`', async () => {
    standard = await encode({});
    const high = await encode({ quality: 'high' });
    expect(standard.settings).toContain('crf=20.0');
    expect(high.settings).toContain('crf=16.0');
    expect(standard.job.output).toMatchObject({ quality: 20, max_bitrate: null });
    expect(high.job.output).toMatchObject({ quality: 16, max_bitrate: null });
    expect(high.bytes).toBeGreaterThan(1.2 * standard.bytes);
  });

  it('has the quality that a number asks for', async () => {
    coarse = await encode({ quality: 33.5 });
    expect(coarse.settings).toContain('crf=33.5');
    expect(coarse.job.output).toMatchObject({ quality: 33.5 });
    expect(coarse.bytes).toBeLessThan(0.5 * standard.bytes);
  });

  it('keeps within max_bitrate, over the whole and over each second', async () => {
    const unlimited = (standard.bytes * 8) / seconds;
    const max_bitrate = Math.round(unlimited / 3);
    const limited = await encode({ max_bitrate });
    expect(limited.job.output).toMatchObject({ quality: 20, max_bitrate });
    const bitrate = (limited.bytes * 8) / seconds;
    // Half a second of the encoder's buffer comes on top.
    expect(bitrate).toBeLessThan((1 + 0.5 / seconds) * max_bitrate);
    // And uses what it may.
    expect(bitrate).toBeGreaterThan(0.6 * max_bitrate);
    const sizes = await packets(limited.path);
    for (const { time: start } of sizes) {
      const second = sizes.filter(({ time }) => time >= start && time < start + 1);
      expect(second.reduce((sum, { bytes }) => sum + bytes * 8, 0)).toBeLessThan(1.5 * max_bitrate);
    }
  });

  it('comes with the pictures that were asked for, until it is deleted', async () => {
    expect(standard.result).toMatchObject({ poster: null, thumbnails: [] });
    const { job, result } = await encode({ poster: true, thumbnails: 3, quality: 33.5 });
    const pictures = [result.poster!, ...result.thumbnails];
    expect(pictures.map(({ width, height }) => [width, height])).toEqual([[1280, 720], [320, 180], [320, 180], [320, 180]]);
    expect(result.thumbnails.map(({ time }) => time)).toEqual([1, 3, 5].map((sixths) => expect.closeTo((sixths * seconds) / 6, 1) as number));
    for (const { url, width, height, size_bytes } of pictures) {
      const response = await fetch(url);
      expect(response.headers.get('content-type')).toBe('image/jpeg');
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.length).toBe(size_bytes);
      await writeFile(join(dir, 'picture.jpg'), bytes);
      expect((await ffprobe(join(dir, 'picture.jpg'))).streams).toMatchObject([{ codec_name: 'mjpeg', width, height }]);
    }
    await call(api.url, customer.key, 'DELETE', `/v1/jobs/${job.id}`);
    const statuses = async () => Promise.all(pictures.map(async ({ url }) => (await fetch(url)).status));
    await eventually(async () => (await statuses()).every((status) => status === 404));
  });

  it.runIf(isLongRun)('was predicted by the quote: by the source’s bitrate first, then by the account’s own jobs', async () => {
    expect(await quote({})).toMatchObject({ basis: 'source_bitrate' });
    for (let count = 0; count < 2; count += 1) await encode({});
    for (const [output, { bytes }] of [[{}, standard], [{ quality: 33.5 }, coarse]] as const) {
      const { min_bytes, max_bytes, basis } = await quote(output);
      expect(basis).toBe('account_jobs');
      expect(bytes).toBeGreaterThan(min_bytes);
      expect(bytes).toBeLessThan(max_bytes);
    }
  });
});

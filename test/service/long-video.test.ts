/** An hour of video from the request to the download, in `npm run test:long`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audioHash, ffmpeg, frameTimes } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { watchMemory } from '../helpers/memory.ts';
import { call, createCustomer, createSite, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';

const hourS = 3600;
/** of a short video in segments, with which the long one is compared */
const minutesS = 240;

describe.skipIf(!isLongRun)('an hour of video', () => {
  let dir: string;
  let files: FileServer;
  let site: Site;
  let api: Running;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-hour-'));
    const inputs = ['testsrc=size=64x36:rate=1', 'sine=frequency=440:sample_rate=8000'].flatMap((source) => ['-f', 'lavfi', '-i', source]);
    const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-b:a', '24k'];
    await ffmpeg([...inputs, ...codecs, '-t', String(hourS), join(dir, 'hour.mp4')]);
    await ffmpeg(['-stream_loop', '1', '-i', join(dir, 'hour.mp4'), '-t', String(hourS + 60), '-c', 'copy', join(dir, 'longer.mp4')]);
    await ffmpeg(['-i', join(dir, 'hour.mp4'), '-t', String(minutesS), '-c', 'copy', join(dir, 'minutes.mp4')]);
    files = await startFileServer({ dir });
    const encoder = { REELMEND_ENCODER_PRESET: 'ultrafast', REELMEND_ENCODER_CRF: '40' };
    site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_MAX_DURATION_SECONDS: String(hourS + 1), ...encoder });
    api = await site.start('start');
  });
  afterAll(async () => {
    await site?.close();
    await files?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it('is charged by the second, enhanced whole and in time, and downloaded by a link that lasts', async () => {
    const customer = await createCustomer(site, { credits: 20_000 });
    const submit = (name: string) =>
      call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', {
        video_url: `${files.url}/${name}`,
        resolution: '1080p',
        model: 'none',
        enhancements: { denoise: 'off', sharpen: 'off', face_restoration: 'off', adaptive_contrast: 'off' },
      });
    const shortMemory = watchMemory(api.pid);
    const short = await submit('minutes.mp4');
    expect((await waitForEnd(api.url, customer.key, short.body.id)).status).toBe('done');
    const shortPeak = await shortMemory.stop();

    const refused = await submit('longer.mp4');
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'video_too_long' } } });
    const created = await submit('hour.mp4');
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    expect(created.body.credits_charged).toBe(3 * created.body.duration_seconds);
    expect(created.body.duration_seconds - hourS).toBeLessThanOrEqual(1);
    const seen: number[] = [];
    const segmentCounts = new Set<number>();
    const memory = watchMemory(api.pid);
    const watch = ({ progress, segments }: JobView) => {
      seen.push(progress);
      segmentCounts.add(segments?.length ?? 0);
    };
    const job = await waitForEnd(api.url, customer.key, created.body.id, { watch });
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'done', output: { width: 1920, height: 1080 } });
    // The memory does not grow with the length: indexes of packets and frames are all that does.
    expect(await memory.stop()).toBeLessThan(1.2 * shortPeak);
    expect(Math.max(...segmentCounts)).toBeGreaterThanOrEqual(60);
    expect(seen.toSorted((a, b) => a - b)).toEqual(seen);
    expect(seen.some((progress) => progress > 0.3 && progress < 0.7)).toBe(true);

    const { body } = await call<{ download_url: string; expires_in: number }>(api.url, customer.key, 'GET', `/v1/jobs/${job.id}/result`);
    expect(body.expires_in).toBe(2 * (hourS + 1));
    const output = join(dir, 'output.mp4');
    await writeFile(output, Buffer.from(await (await fetch(body.download_url)).arrayBuffer()));
    expect(await frameTimes(output)).toEqual(await frameTimes(join(dir, 'hour.mp4')));
    expect(await audioHash(output)).toBe(await audioHash(join(dir, 'hour.mp4')));
  });
});

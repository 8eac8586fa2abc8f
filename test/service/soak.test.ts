/** What the API and the worker keep of requests and jobs that have ended, in `npm run test:long`: nothing. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { Inspector } from '../helpers/inspector.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { call, type JobView, openVideoSite, type Running, type VideoSite, waitForEnd } from '../helpers/service.ts';

/** The first ones fill caches and compile code. */
const warmUps = 2;
const rounds = 7;
/** A kind of call that kept 10 kB a call would be half a megabyte a round. Without that, 0.1 MB is added while the process still compiles code. */
const mostGrowthBytes = 400_000;

describe.skipIf(!isLongRun)('a service that runs for long', () => {
  let video: VideoSite;
  let worker: Running;
  beforeAll(async () => {
    const clip = { video: 'testsrc2=size=64x36:rate=5', seconds: 1, args: ['-c:v', 'libx264'], audio: null };
    const env = { NODE_OPTIONS: '--inspect=127.0.0.1:0', REELMEND_WARM_CHILDREN: '1', REELMEND_RATE_LIMITS: 'create=100000,read=100000,other=100000' };
    video = await openVideoSite((dir) => makeClip(join(dir, 'clip.mp4'), clip), { ...env, REELMEND_WORKER_CONCURRENCY: '0', REELMEND_DOWNLOAD_CONCURRENCY: '0' });
    worker = await video.site.start('work', { REELMEND_WORKER_CONCURRENCY: '1', REELMEND_DOWNLOAD_CONCURRENCY: '2' });
  });
  afterAll(() => video?.close());

  const request = async <T>(method: string, path: string, body?: unknown) => (await call<T>(video.api.url, video.customer.key, method, path, body)).body;
  const settings = () => ({ video_url: `${video.files.url}/clip.mp4`, resolution: '1080p', model: 'none' });
  const create = () => request<JobView>('POST', '/v1/jobs', settings());
  const eventsOf = (id: string, signal?: AbortSignal) =>
    fetch(`${video.api.url}/v1/jobs/${id}/events`, { headers: { Authorization: `Bearer ${video.customer.key}` }, ...(signal === undefined ? {} : { signal }) });

  const calls: Record<string, (job: JobView) => Promise<unknown>> = {
    'reads of a job': ({ id }) => request('GET', `/v1/jobs/${id}`),
    'lists of jobs': () => request('GET', '/v1/jobs'),
    'refused jobs': () => request('POST', '/v1/jobs', { ...settings(), video_url: `${video.files.url}/nothing.mp4` }),
    'event streams that end': async ({ id }) => (await eventsOf(id)).text(),
    'event streams that are dropped': async ({ id }) => {
      const gone = new AbortController();
      const reader = (await eventsOf(id, gone.signal)).body!.getReader();
      await reader.read();
      gone.abort();
    },
    'downloads that are dropped': async ({ id }) => {
      const { download_url } = await request<{ download_url: string }>('GET', `/v1/jobs/${id}/result`);
      await (await fetch(download_url)).body!.cancel();
    },
    'uploads that are given up': async () => {
      const { id, parts } = await request<Upload>('POST', '/v1/uploads', { file_name: 'clip.mp4', size_bytes: 1000 });
      await fetch(parts[0]!.url, { method: 'PUT', body: 'too few bytes' });
      await request('DELETE', `/v1/uploads/${id}`);
    },
  };
  const callsOfEach = 50;

  /** All kinds of calls, a few jobs that are followed to their end, and a few that are cancelled. */
  async function round(): Promise<void> {
    const job = await create();
    const followed = eventsOf(job.id).then((response) => response.text());
    expect((await waitForEnd(video.api.url, video.customer.key, job.id)).status).toBe('done');
    await followed;
    for (const repeated of Object.values(calls)) for (let n = 0; n < callsOfEach; n += 10) await Promise.all(Array.from({ length: 10 }, () => repeated(job)));
    const cancelled = await Promise.all(Array.from({ length: 4 }, create));
    for (const { id } of [job, ...cancelled]) await request('DELETE', `/v1/jobs/${id}`);
    // Connections, leases and media children that are no longer needed go within seconds.
    await sleep(8000);
  }

  it('keeps its memory, its open files and its processes', async () => {
    const processes = { api: video.api, worker };
    const inspectors = await Promise.all(Object.values(processes).map(({ log }) => Inspector.connect(log)));
    const heaps: number[][] = [];
    const files: number[][] = [];
    for (let n = 0; n < warmUps + rounds; n += 1) {
      await round();
      heaps.push(await Promise.all(inspectors.map((inspector) => inspector.heapBytes())));
      files.push(await Promise.all(Object.values(processes).map(async ({ pid }) => (await readdir(`/proc/${pid}/fd`)).length)));
    }
    for (const inspector of inspectors) inspector.close();
    for (const [index, name] of Object.keys(processes).entries()) {
      const [heap, open] = [heaps, files].map((measured) => measured.slice(warmUps).map((values) => values[index]!)) as [number[], number[]];
      const growths = heap.slice(1).map((bytes, at) => bytes - heap[at]!).sort((a, b) => a - b);
      expect(growths[Math.floor(growths.length / 2)], `${name}, growth of the heap: ${growths.join(', ')}`).toBeLessThan(mostGrowthBytes);
      // A round opens hundreds.
      expect(Math.min(...open.slice(-3)) - Math.min(...open.slice(0, 3)), `${name}, open files: ${open.join(', ')}`).toBeLessThan(10);
      expect(processes[name as keyof typeof processes].log.filter((line) => line.includes('MaxListeners'))).toEqual([]);
    }
  });
});

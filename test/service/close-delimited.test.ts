/** 17.4: the running service and a source whose bodies end with their connection, without a Content-Length. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type RawServer, startRawServer } from '../helpers/rawserver.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';

/** bytes: sizes at which the HTTP client once ended the whole process */
const sizes = [77_000, 149_000];

let folder: string;
let source: RawServer;
let site: Site;
let api: Running;
let customer: Customer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-close-delimited-'));
  const path = join(folder, 'clip.mp4');
  await makeClip(path, { seconds: 1, video: 'testsrc2=size=160x90:rate=10', args: ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '35'], audio: null });
  const clip = await readFile(path);
  source = await startCloseDelimitedServer(clip);
  site = await createSite({ REELMEND_ALLOW_HOSTS: source.hostPort });
  customer = await createCustomer(site);
  api = await site.start('start');
});

afterAll(async () => {
  await site?.close();
  await source?.close();
  await rm(folder, { recursive: true, force: true });
});

/** `GET /<bytes>.mp4`: the clip in that many bytes, in one write, then the end of the connection. Ranges are ignored. */
function startCloseDelimitedServer(clip: Buffer): Promise<RawServer> {
  return startRawServer((socket) => {
    socket.once('data', (head) => {
      const size = Number(/^GET \/(\d+)\.mp4 /.exec(head.toString('latin1'))?.[1]);
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nConnection: close\r\n\r\n');
      socket.end(padded(clip, size));
    });
  });
}

/** The same video in a file of exactly `size` bytes: MP4 readers skip a box of the type `free`. */
function padded(clip: Buffer, size: number): Buffer {
  const free = Buffer.alloc(size - clip.length);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4, 'latin1');
  return Buffer.concat([clip, free]);
}

/** Polls /healthz until aborted; returns the statuses. */
async function watchHealth(until: AbortSignal): Promise<number[]> {
  const statuses: number[] = [];
  while (!until.aborted) {
    statuses.push(await fetch(`${api.url}/healthz`).then(({ status }) => status, () => 0));
    await sleep(20);
  }
  return statuses;
}

it.each(sizes)('a body of %i bytes is quoted and enhanced, and /healthz answers all the time', async (size) => {
  const stop = new AbortController();
  const health = watchHealth(stop.signal);
  try {
    const input = { video_url: `http://${source.hostPort}/${size}.mp4`, resolution: '1080p' };
    for (let repetition = 0; repetition < 5; repetition += 1) {
      const quote = await call<{ source: object }>(api.url, customer.key, 'POST', '/v1/quotes', input);
      expect(quote).toMatchObject({ status: 200, body: { duration_seconds: 1, source: { size_bytes: size } } });
    }
    const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', { ...input, model: 'none' });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const job = await waitForEnd(api.url, customer.key, created.body.id);
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'done', source: { size_bytes: size } });
  } finally {
    stop.abort();
  }
  const statuses = await health;
  expect(statuses.length).toBeGreaterThan(3);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

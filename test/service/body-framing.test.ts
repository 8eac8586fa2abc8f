/**
 * The running service and sources that frame their bodies in every way of HTTP/1.1. With some sizes, a body that ends with
 * its connection once ended the whole process.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { type RawServer, startRawServer } from '../helpers/rawserver.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';

interface Manner {
  framing: 'length' | 'chunked' | 'close';
  connection: 'keep-alive' | 'close';
  ranges: 'honoured' | 'ignored';
}

const manners = (['length', 'chunked', 'close'] as const).flatMap((framing) =>
  (['keep-alive', 'close'] as const).flatMap((connection) => (['honoured', 'ignored'] as const).map((ranges) => ({ framing, connection, ranges }))),
);

/** sizes in bytes that once ended the process */
const deadlySizes = [77_000, 149_000];
/** One for each manner, from 10 kB to 2 MB in equal factors. */
const steps = manners.map((_, n) => Math.round(10_000 * 200 ** (n / (manners.length - 1))));

let folder: string;
let source: RawServer;
let site: Site;
let api: Running;
let customer: Customer;
/** whose source is a proper server */
let other: Customer;
let good: FileServer;
const jobs: { id: string; size: number }[] = [];
const stop = new AbortController();
let health: Promise<number[]>;
let others: Promise<number[]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-body-framing-'));
  const path = join(folder, 'clip.mp4');
  await makeClip(path, { seconds: 1, video: 'testsrc2=size=160x90:rate=5', args: ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '40'], audio: null });
  const clip = await readFile(path);
  source = await startRawServer((socket) => serve(socket, clip));
  good = await startFileServer({ paths: { '/clip.mp4': { body: clip } } });
  site = await createSite({ REELMEND_ALLOW_HOSTS: `${source.hostPort},${good.hostPort}`, REELMEND_WORKER_CONCURRENCY: '2' });
  [customer, other] = [await createCustomer(site), await createCustomer(site)];
  api = await site.start('start');
  health = repeatedly(stop.signal, 20, async () => (await fetch(`${api.url}/healthz`)).status);
  const input = { video_url: `${good.url}/clip.mp4`, resolution: '1080p' };
  others = repeatedly(stop.signal, 600, async () => (await call(api.url, other.key, 'POST', '/v1/quotes', input)).status);
});

afterAll(async () => {
  stop.abort();
  await site?.close();
  await source?.close();
  await good?.close();
  await rm(folder, { recursive: true, force: true });
});

/** `GET /<framing>/<connection>/<ranges>/<bytes>.mp4`: the clip in that many bytes. */
function serve(socket: Socket, clip: Buffer): void {
  let heads = '';
  socket.on('error', () => undefined).on('data', (data) => {
    const requests = (heads + data.toString('latin1')).split('\r\n\r\n');
    heads = requests.pop()!;
    for (const head of requests) {
      const [, framing, connection, ranges, size] = /^GET \/(\w+)\/([\w-]+)\/(\w+)\/(\d+)\.mp4 /.exec(head)!;
      respond(socket, head, padded(clip, Number(size)), { framing, connection, ranges } as Manner);
    }
  });
}

/** Writes the body at once, so that all of it may lie in the socket's buffer when the connection ends. */
function respond(socket: Socket, head: string, file: Buffer, { framing, connection, ranges }: Manner): void {
  const range = ranges === 'honoured' ? /\r\nrange: bytes=(\d+)-(\d+)/i.exec(head) : null;
  const [from, to] = range === null ? [0, file.length - 1] : [Number(range[1]), Math.min(Number(range[2]), file.length - 1)];
  const body = file.subarray(from, to + 1);
  const lines = [range === null ? 'HTTP/1.1 200 OK' : 'HTTP/1.1 206 Partial Content', 'Content-Type: video/mp4', `Connection: ${connection}`];
  if (range !== null) lines.push(`Content-Range: bytes ${from}-${to}/${file.length}`);
  if (framing === 'length') lines.push(`Content-Length: ${body.length}`);
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(framing === 'chunked' ? chunked(body) : body);
  if (framing === 'close' || connection === 'close') socket.end();
}

function chunked(body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += 10_000) {
    const piece = body.subarray(at, at + 10_000);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}

/** The same video in a file of exactly `size` bytes: MP4 readers skip a box of the type `free`. */
function padded(clip: Buffer, size: number): Buffer {
  const free = Buffer.alloc(size - clip.length);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4, 'latin1');
  return Buffer.concat([clip, free]);
}

/** Repeats the request until aborted; returns the statuses. 0: the service did not answer. */
async function repeatedly(until: AbortSignal, pauseMs: number, request: () => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  while (!until.aborted) {
    statuses.push(await request().catch(() => 0));
    await sleep(pauseMs, undefined, { signal: until }).catch(() => undefined);
  }
  return statuses;
}

const inputOf = ({ framing, connection, ranges }: Manner, size: number) => ({
  video_url: `http://${source.hostPort}/${framing}/${connection}/${ranges}/${size}.mp4`,
  resolution: '1080p',
});

/** Each framing has a job with each of the sizes of one of its manners; bodies that end with their connection have one with each deadly size. */
const variants = manners.map((manner, n) => {
  const sizes = [...deadlySizes, steps[n]!, steps[(n + 6) % steps.length]!];
  return { ...manner, sizes, jobSizes: manner.framing === 'close' ? deadlySizes : [sizes[(n + Math.floor(n / 4)) % sizes.length]!] };
});

it.each(variants)('bodies of $sizes bytes are quoted, and jobs of $jobSizes accepted: framed by $framing, $connection, ranges $ranges', async ({ sizes, jobSizes, ...manner }) => {
  const quotes = sizes.map((size) => call(api.url, customer.key, 'POST', '/v1/quotes', inputOf(manner, size)));
  for (const [n, quote] of (await Promise.all(quotes)).entries()) {
    expect(quote, JSON.stringify(quote.body)).toMatchObject({ status: 200, body: { duration_seconds: 1, source: { size_bytes: sizes[n] } } });
  }
  for (const size of jobSizes) {
    const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', { ...inputOf(manner, size), model: 'none' });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    jobs.push({ id: created.body.id, size });
  }
});

it('all jobs are done, and /healthz and the quotes of another customer have succeeded all the time', async () => {
  expect(jobs).toHaveLength(variants.flatMap(({ jobSizes }) => jobSizes).length);
  for (const { id, size } of jobs) {
    const job = await waitForEnd(api.url, customer.key, id);
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'done', source: { size_bytes: size } });
  }
  stop.abort();
  const [ofHealth, ofOthers] = [await health, await others];
  expect(ofHealth.length).toBeGreaterThan(10);
  expect(ofOthers.length).toBeGreaterThan(5);
  expect([...ofHealth, ...ofOthers].filter((status) => status !== 200)).toEqual([]);
});

/** Every way that a server may frame and end a response, in many sizes, while another customer's server is read. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, NetClientOptions } from '../../src/net/index.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { FileServer } from '../helpers/fileserver.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import type { RawServer } from '../helpers/rawserver.ts';

const never = new AbortController().signal;
const bytes = randomBytes(2_000_000);

type Framing = 'length' | 'chunked' | 'close-delimited';

interface Case {
  size: number;
  framing: Framing;
  keepAlive: boolean;
  ranges: boolean;
}

const pathOf = ({ size, framing, keepAlive, ranges }: Case) =>
  `/${size}/${framing}/${keepAlive ? 'keep-alive' : 'close'}/${ranges ? 'ranges' : 'whole'}`;

/** From 1 kB to 2 MB in steps of 1/6, and around the sizes of the buffers on the way. */
function sizes(): number[] {
  const steps = [65_535, 65_536, 65_537, 77_000, 131_072, 149_000, 262_143, 262_144, 262_145, 2_000_000];
  for (let size = 1000; size < 2_000_000; size = Math.ceil(size * 1.167)) steps.push(size);
  return steps;
}

function casesOf(framing: Framing): Case[] {
  return sizes().flatMap((size) =>
    [true, false].flatMap((keepAlive) => [true, false].map((ranges) => ({ size, framing, keepAlive, ranges }))),
  );
}

/** One response in one piece, and the end of the connection right behind it where the response says so. */
function answer(socket: Socket, head: string): void {
  const [, size, framing, connection, ranges] = /^GET \/(\d+)\/([\w-]+)\/([\w-]+)\/(\w+) /.exec(head) ?? [];
  const range = ranges === 'ranges' ? /\r\nrange: bytes=(\d+)-(\d*)/i.exec(head) : null;
  const start = Number(range?.[1] ?? 0);
  const end = Math.min(Number(range?.[2] || Number(size) - 1), Number(size) - 1);
  const body = bytes.subarray(start, end + 1);
  const lines = [
    range === null ? 'HTTP/1.1 200 OK' : 'HTTP/1.1 206 Partial Content',
    'content-type: video/mp4',
    'etag: "v1"',
    `connection: ${connection}`,
    ...(range === null ? [] : [`content-range: bytes ${start}-${end}/${size}`]),
    ...(framing === 'length' ? [`content-length: ${body.length}`] : []),
    ...(framing === 'chunked' ? ['transfer-encoding: chunked'] : []),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (framing === 'chunked') {
    socket.write(`${body.length.toString(16)}\r\n`);
    socket.write(body);
    socket.write('\r\n0\r\n\r\n');
  } else {
    socket.write(body);
  }
  if (connection === 'close' || framing === 'close-delimited') socket.end();
}

function startFramingServer(): Promise<RawServer> {
  return startRawServer((socket) => {
    let unread = '';
    socket.on('data', (data) => {
      unread += data.toString('latin1');
      for (let at = unread.indexOf('\r\n\r\n'); at >= 0; at = unread.indexOf('\r\n\r\n')) {
        answer(socket, unread.slice(0, at + 2));
        unread = unread.slice(at + 4);
      }
    });
  });
}

let server: RawServer;
let good: FileServer;
let client: GuardedClient;
let folder: string;

beforeEach(async () => {
  server = await startFramingServer();
  good = await startFileServer({ paths: { '/good.mp4': { body: bytes.subarray(0, 300_000) } } });
  folder = await mkdtemp(join(tmpdir(), 'reelmend-test-framing-'));
  use();
});
afterEach(async () => {
  await client.close();
  await server.close();
  await good.close();
  await rm(folder, { recursive: true });
});

function use(options: Partial<NetClientOptions> = {}) {
  client = createNetClient({ allowHosts: [server.hostPort, good.hostPort], ...options });
}

/** Reads as a demuxer does: the head, a pause while the server ends, and the tail. */
async function measured(test: Case): Promise<void> {
  const video = await client.openVideo(`http://${server.hostPort}${pathOf(test)}`, { maxBytes: 1e9 });
  try {
    expect(video.size).toBe(test.size);
    await video.read(0, 500, never);
    await sleep(2);
    const tail = await video.read(test.size - 500, 500, never);
    expect(bytes.subarray(test.size - 500, test.size).equals(tail)).toBe(true);
  } finally {
    await video.close();
  }
}

async function downloaded(test: Case, path: string): Promise<void> {
  const result = await client.download(`http://${server.hostPort}${pathOf(test)}`, path, { maxBytes: 1e9 });
  const sha256 = createHash('sha256').update(bytes.subarray(0, test.size)).digest('hex');
  expect(result).toMatchObject({ bytes: test.size, sha256 });
  expect((await readFile(path)).length).toBe(test.size);
}

/** Reads the other customer's server until aborted; returns the number of reads. */
async function readGood(until: AbortSignal): Promise<number> {
  for (let times = 0; ; times += 1) {
    if (until.aborted) return times;
    const video = await client.openVideo(`${good.url}/good.mp4`, { maxBytes: 1e9 });
    await video.read(0, 1000, never);
    await video.close();
  }
}

/** Runs eight cases at a time; each failure names its case. */
async function inTurns(cases: Case[], work: (test: Case, turn: number) => Promise<void>): Promise<string[]> {
  const failures: string[] = [];
  const waiting = cases.values();
  const turns = Array.from({ length: 8 }, async (_, turn) => {
    for (const test of waiting) {
      await work(test, turn).catch((error: unknown) => failures.push(`${pathOf(test)}: ${String(error)}`));
    }
  });
  await Promise.all(turns);
  return failures;
}

describe.each<Framing>(['length', 'chunked', 'close-delimited'])('responses framed by %s', (framing) => {
  it.each([
    { name: 'measured', work: (test: Case) => measured(test) },
    { name: 'downloaded', work: (test: Case, turn: number) => downloaded(test, join(folder, `file-${turn}`)) },
  ])('are $name in every size, kept alive or closed, with ranges or without', async ({ work }) => {
    const stop = new AbortController();
    const others = readGood(stop.signal);
    const failures = await inTurns(casesOf(framing), work);
    stop.abort();
    expect(failures).toEqual([]);
    expect(await others).toBeGreaterThan(5);
  });
});

it.each(['readable', 'end'])('an exception in the event "%s" of one connection ends that one alone', async (event) => {
  const logged: string[] = [];
  const log = (_facts: object, message: string) => void logged.push(message);
  let faulty = true;
  const connectWithFault = () => use({
    logger: { debug: () => undefined, warn: log },
    // The response whose end is swallowed is given up soon; nothing else waits for this limit.
    timeouts: { attempts: 1, ...(faulty ? { idleMs: 1000 } : {}) },
    tcp: (options) => {
      const socket = connect(options);
      const fault = () => {
        throw new Error('a fault of the HTTP client');
      };
      return faulty ? socket.once(event, fault) : socket;
    },
  });
  connectWithFault();
  const broken = client.openVideo(`http://${server.hostPort}/77000/close-delimited/close/whole`, { maxBytes: 1e9 });
  await broken.then((video) => video.close(), (error: unknown) => expect(error).toMatchObject({ code: 'video_unreachable' }));
  expect(logged).toEqual(['the HTTP client failed; its connection was closed']);
  await client.close();
  faulty = false;
  connectWithFault();
  await measured({ size: 77_000, framing: 'close-delimited', keepAlive: false, ranges: false });
});

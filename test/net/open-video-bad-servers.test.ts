/** Opening a remote video on servers that misbehave: one sentence for each. */
import { describe, expect, it } from 'vitest';
import type { Timeouts } from '../../src/net/index.ts';
import type { Behaviour } from '../helpers/fileserver.ts';
import { setUpVideo, timeouts, unreachable } from '../helpers/open-video-suite.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { hangMs } from '../helpers/wait.ts';

const suite = setUpVideo();
const { use, open } = suite;

describe('bad servers', () => {
  const bad: { name: string; behaviour: Behaviour; limits?: Partial<Timeouts>; message: RegExp }[] = [
    ...[400, 401, 403, 404, 410, 418, 500, 502, 503, 504].map((status) => ({
      name: `status ${status}`,
      behaviour: { status },
      message: new RegExp(`^The video cannot be read: the server answered with status ${status}\\.$`),
    })),
    {
      name: 'a web page',
      behaviour: { contentType: 'text/html; charset=utf-8' },
      message: /web page instead of a video/,
    },
    { name: 'an XHTML page', behaviour: { contentType: 'Application/XHTML+XML' }, message: /web page/ },
    ...['gzip', 'br', 'deflate', 'gzip, gzip, gzip, gzip, gzip', 'x-unknown'].map((contentEncoding) => ({
      name: `the encoding ${contentEncoding}`,
      behaviour: { contentEncoding },
      message: /compressed \(Content-Encoding\)/,
    })),
    { name: 'headers that come too late', behaviour: { headersDelayMs: hangMs }, limits: { headersMs: 300 }, message: /did not answer in time/ },
    { name: 'a body that stalls', behaviour: { stallAtBytes: 1000 }, limits: { idleMs: 300 }, message: /did not answer in time/ },
    { name: 'a body that trickles', behaviour: { bytesPerSecond: 100 }, limits: { minBytesPerSecond: 2000, rateWindowMs: 400 }, message: /too slowly/ },
  ];
  it.each(bad)('$name gives one sentence', async ({ behaviour, limits, message }) => {
    use({ timeouts: { ...timeouts, attempts: 2, ...limits } });
    await expect(open(behaviour)).rejects.toMatchObject(unreachable(message));
  });

  const raw: { name: string; send: string; every?: number; message: RegExp }[] = [
    { name: 'garbage', send: 'SSH-2.0-OpenSSH_9.2\r\n', message: /proper HTTP/ },
    {
      name: 'two different lengths',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      message: /proper HTTP/,
    },
    {
      name: 'a length and chunks',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      message: /proper HTTP/,
    },
    {
      name: 'a length that is no number',
      send: 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n',
      message: /proper HTTP/,
    },
    {
      name: 'headers of a megabyte',
      send: `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(2 ** 20)}\r\n\r\n`,
      message: /proper HTTP/,
    },
    {
      name: 'a byte of headers at a time',
      send: `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(1000)}`,
      every: 1,
      message: /did not answer in time/,
    },
    {
      name: 'interim responses for ever',
      send: 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000),
      every: 28,
      message: /did not answer in time/,
    },
    { name: 'nothing', send: '', message: /did not answer in time/ },
  ];
  it.each(raw)('$name gives one sentence', async ({ send, every, message }) => {
    const rude = await startRawServer((socket) => {
      if (every === undefined) return void socket.write(send);
      let at = 0;
      const timer = setInterval(() => {
        socket.write(send.slice(at, at + every));
        at += every;
      }, 20);
      socket.on('close', () => clearInterval(timer));
    });
    // Only what never ends needs a limit: `connectMs` and `headersMs` together end what brings no whole headers.
    const isEndless = message.source.includes('in time');
    const limits = isEndless ? { connectMs: 3000, headersMs: 300 } : {};
    use({ allowHosts: [rude.hostPort], timeouts: { ...timeouts, ...limits, attempts: 1 } });
    const opening = suite.client.openVideo(`http://${rude.hostPort}/a.mp4`, { maxBytes: 1e9 });
    await expect(opening).rejects.toMatchObject(unreachable(message));
    await rude.close();
  });

  it('that nobody runs are unreachable', async () => {
    const { hostPort, close } = await startRawServer(() => undefined);
    await close();
    use({ allowHosts: [hostPort] });
    await expect(suite.client.openVideo(`http://${hostPort}/`, { maxBytes: 1 })).rejects.toMatchObject(
      unreachable(/does not accept connections/),
    );
  });
});

/** What only a real connection shows: repeated headers, chunked bodies, methods that `Request` cannot make. */
import { type AddressInfo, connect } from 'node:net';
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeLink } from '../../src/storage/links.ts';
import { linkSecret, makeApi, publicUrl } from '../helpers/http.ts';
import { hangMs } from '../helpers/wait.ts';

const api = makeApi();
const shortTimeout = makeApi({ options: { bodyTimeoutMs: 500 } });
const servers: ReturnType<typeof serve>[] = [];
let port = 0;
let shortTimeoutPort = 0;

beforeAll(async () => {
  const listen = async ({ app }: typeof api) => {
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
    servers.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  [port, shortTimeoutPort] = [await listen(api), await listen(shortTimeout)];
});

afterAll(async () => {
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
});

/** Sends the lines and the body as they are and returns everything that comes back until the server closes. */
async function exchange(lines: string[], body = '', to = port): Promise<string> {
  const socket = connect(to, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A server that has refused a body may close while it is still being sent.
  socket.on('error', () => {});
  socket.write(`${[...lines, 'Host: reelmend.test', 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

describe('over a socket', () => {
  const authorization = `Authorization: Bearer ${api.keys.live}`;

  it('one Authorization header is taken, two are refused', async () => {
    expect(await exchange(['GET /v1/account HTTP/1.1', authorization])).toMatch(/^HTTP\/1\.1 200 /);
    const twice = await exchange(['GET /v1/account HTTP/1.1', authorization, authorization]);
    expect(twice).toMatch(/^HTTP\/1\.1 401 /);
    expect(twice).toContain('invalid_api_key');
  });

  it('405 for TRACE, with Allow', async () => {
    const response = await exchange(['TRACE /v1/account HTTP/1.1', authorization]);
    expect(response).toMatch(/^HTTP\/1\.1 405 /);
    expect(response).toMatch(/\r\nallow: GET, PATCH, HEAD, OPTIONS\r\n/i);
  });

  it('413 for a chunked body that grows too large, without reading on', async () => {
    const chunk = `1000\r\n${' '.repeat(4096)}\r\n`;
    const response = await exchange(
      ['POST /v1/jobs HTTP/1.1', authorization, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      `${chunk.repeat(20)}0\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toContain('payload_too_large');
  });

  it('a chunked body within the limit is taken', async () => {
    const body = JSON.stringify({ video_url: 'https://media.example.com/a.mp4', resolution: '1080p' });
    const chunks = [...body].map((character) => `1\r\n${character}\r\n`).join('');
    const response = await exchange(
      ['POST /v1/jobs HTTP/1.1', authorization, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      `${chunks}0\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 201 /);
  });

  const unfinished = ['POST /v1/jobs HTTP/1.1', authorization, 'Content-Type: application/json', 'Content-Length: 100'];
  const lastStatus = ({ logged }: typeof api) => (logged.findLast(({ message }) => message === 'request')?.facts as { status?: number }).status;

  it('400 for a body that does not arrive in time, and the log says so', async () => {
    const request = unfinished.map((line) => line.replace(api.keys.live, shortTimeout.keys.live));
    const response = await exchange(request, '{"video_url": ', shortTimeoutPort);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toContain('did not arrive within 0.5 s');
    expect(lastStatus(shortTimeout)).toBe(400);
    expect(shortTimeout.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('a body that breaks off is logged as the caller’s failure', async () => {
    api.logged.length = 0;
    const before = api.store.lookUps;
    const socket = connect(port, '127.0.0.1');
    socket.write(`${[...unfinished, 'Host: reelmend.test'].join('\r\n')}\r\n\r\n{"video`);
    // The body is awaited once the key was looked up.
    await vi.waitFor(() => expect(api.store.lookUps).toBeGreaterThan(before), hangMs);
    await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await vi.waitFor(() => expect(lastStatus(api)).toBe(400), hangMs);
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('HEAD of a link has the length of the file and no body', async () => {
    const key = 'outputs/a.mp4';
    api.objects.set(key, Buffer.alloc(1234));
    const expires = Math.ceil(Date.now() / 1000) + 60;
    const link = makeLink(publicUrl, linkSecret, { key, expires, fileName: 'a.mp4', contentType: 'video/mp4' });
    const response = await exchange([`HEAD ${link.slice(publicUrl.length)} HTTP/1.1`]);
    expect(response).toMatch(/^HTTP\/1\.1 200 /);
    expect(response).toMatch(/\r\ncontent-length: 1234\r\n/i);
    expect(response.endsWith('\r\n\r\n')).toBe(true);
    expect(api.storage.opened).toBe(0);
  });

  it('a stream of events arrives event by event, and its watch ends with the connection', async () => {
    const job = await api.store.addJob();
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /v1/jobs/${job.id}/events HTTP/1.1\r\nHost: reelmend.test\r\n${authorization}\r\n\r\n`);
    let received = '';
    // One listener throughout: what arrives between two would be lost.
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const until = (text: string) => vi.waitFor(() => expect(received).toContain(text), hangMs);
    await until('"status":"queued"');
    await api.store.changeJob(job.id, { status: 'running' });
    await until('"status":"running"');
    expect(api.store.watching).toBe(1);
    socket.destroy();
    await vi.waitFor(() => expect(api.store.watching).toBe(0), hangMs);
  });
});

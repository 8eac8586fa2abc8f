/** POSTs to customers' addresses, as webhooks use them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, PostOptions } from '../../src/net/index.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { FileServer } from '../helpers/fileserver.ts';
import { countReceivedBytes } from '../helpers/received-bytes.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { hangMs } from '../helpers/wait.ts';

let server: FileServer;
let client: GuardedClient;
const bodies: string[] = [];
const received = countReceivedBytes();

beforeEach(async () => {
  bodies.length = 0;
  server = await startFileServer({
    routes: {
      '/hook': (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          bodies.push(body);
          response.writeHead(200, { 'retry-after': '7', 'x-two': ['a', 'b'] }).end('thanks');
        });
      },
    },
  });
  client = createNetClient({ allowHosts: [server.hostPort], timeouts: { connectMs: hangMs, headersMs: hangMs } });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const options: PostOptions = {
  headers: { 'content-type': 'application/json' },
  body: '{"a":1}',
  timeoutMs: hangMs,
  maxResponseBytes: 100,
};
const post = (path: string, more: Partial<PostOptions> = {}) =>
  client.post(`${server.url}${path}`, { ...options, ...more });

describe('post', () => {
  it('sends headers and body as they are and returns the whole answer', async () => {
    const response = await post('/hook', { headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' } });
    expect(response).toMatchObject({ status: 200, headers: { 'retry-after': '7', 'x-two': 'a, b' } });
    expect(Buffer.from(response.body).toString()).toBe('thanks');
    expect(bodies).toEqual(['{"a":1}']);
    const sent = server.requests[0]!;
    expect(sent.method).toBe('POST');
    expect(sent.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'evt_1',
      'content-length': '7',
    });
  });

  it.each([200, 204, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503])(
    'returns status %i, once asked',
    async (status) => {
      server.behave('/s', { status, headers: { location: 'http://127.0.0.1:1/' } });
      expect((await post('/s')).status).toBe(status);
      expect(server.requests).toHaveLength(1);
    },
  );

  it.each([
    { size: 99 },
    { size: 100 },
    { size: 101 },
    { size: 200_000 },
  ])('reads at most 100 of $size bytes', async ({ size }) => {
    server.behave('/big', { body: 'x'.repeat(size) });
    const response = await post('/big');
    expect(response.body).toHaveLength(Math.min(size, 100));
  });

  it('does not read on in an endless response', async () => {
    server.behave('/endless', { body: 'endless' });
    const response = await post('/endless', { maxResponseBytes: 65_536 });
    expect(response.body).toHaveLength(65_536);
    expect(await received(1_000_000)).toBeLessThan(1_000_000);
  });

  it.each([
    // Without the limit the first two would never end, and the last one would end well.
    { name: 'headers', behaviour: { headersDelayMs: hangMs } },
    { name: 'the body', behaviour: { body: 'x'.repeat(50), stallAtBytes: 10 } },
    { name: 'a trickling body', behaviour: { body: 'x'.repeat(90), bytesPerSecond: 20 } },
  ])('ends at its time limit waiting for $name', async ({ behaviour }) => {
    server.behave('/slow', behaviour);
    await expect(post('/slow', { timeoutMs: 300 })).rejects.toMatchObject({ name: 'NetFailure', reason: 'timeout' });
  });

  it('rejects with the reason of its signal', async () => {
    server.behave('/slow', { headersDelayMs: 3000 });
    const reason = new Error('shutting down');
    await expect(post('/slow', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('names what broke', async () => {
    const raw = await startRawServer((socket) => socket.destroy());
    client = createNetClient({ allowHosts: [raw.hostPort] });
    await expect(client.post(`http://${raw.hostPort}/`, options)).rejects.toMatchObject({
      name: 'NetFailure',
      reason: 'reset',
    });
    expect(raw.connections).toBe(1);
    await raw.close();
    await expect(client.post(`http://${raw.hostPort}/`, options)).rejects.toMatchObject({ reason: 'connect' });
  });

  it('passes the guard at every call', async () => {
    let address = '127.0.0.1';
    client = createNetClient({ allowHosts: [], resolver: async () => [{ address, family: 4 }] });
    for (address of ['127.0.0.1', '10.0.0.1', '169.254.169.254']) {
      await expect(client.post('http://hooks.example/', options)).rejects.toMatchObject({ code: 'url_not_allowed' });
    }
  });
});

describe('checkUrl', () => {
  it('refuses by what the URL says, without a request', () => {
    client.checkUrl('https://hooks.example/path');
    client.checkUrl(`${server.url}/hook`);
    for (const url of ['http://127.0.0.1/', 'ftp://hooks.example/', 'nonsense', 'http://a:b@hooks.example/']) {
      expect(() => client.checkUrl(url)).toThrow(/^This URL is not allowed/);
    }
    expect(server.connections).toBe(0);
  });
});

/** What Node's HTTP parser refuses before the app sees it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen, type Listening } from '../../src/app/listen.ts';
import { answerParserErrors } from '../../src/http/parser-errors.ts';

const logged: object[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/slow') response.write('half');
    if (request.url === '/fast') return void response.end('fine');
    setTimeout(() => response.end('whole'), 200);
  });
  answerParserErrors(server, { logger: { info: (facts) => void logged.push(facts) }, publicUrl: () => 'https://reelmend.example.com' });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => new Promise((done) => server.close(done)));

const open = () => connect((server.address() as AddressInfo).port, '127.0.0.1');

/** All that the server sends until it closes the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = open();
  socket.write(bytes, 'latin1');
  return text(socket);
}

async function send(bytes: string): Promise<{ head: string; body: string }> {
  const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n');
  return { head, body };
}

describe('the error envelope', () => {
  it.each([
    ['a control character in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX-Bad: a\x01b\r\n\r\n', /not proper HTTP/],
    ['20 KB of headers', `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, /headers of the request are too large/],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', /method of the request is unknown/],
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01', /./],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', /not proper HTTP/],
  ])('is given for %s', async (_name, bytes, message) => {
    const { head, body } = await send(bytes);
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json\r\n/);
    const { error } = JSON.parse(body) as { error: { message: string; request_id: string } };
    const doc_url = 'https://reelmend.example.com/docs/errors#invalid_request';
    expect(error).toMatchObject({ code: 'invalid_request', type: 'validation_error', doc_url });
    expect(error.message).toMatch(message);
    expect(error.request_id).toMatch(/^req_[0-9a-f]{32}$/);
    expect(head).toContain(`X-Request-Id: ${error.request_id}`);
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(logged.at(-1)).toMatchObject({ request_id: error.request_id });
  });

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  it.each([
    ['a response that has begun', get('/slow')],
    ['a response that has begun, when a later request still executes', `${get('/slow')}${get('/executing')}`],
    ['a response that has begun, when a later request is answered', `${get('/slow')}${get('/fast')}`],
    ['the connection of a request that still executes', get('/executing')],
    ['the connection of a request that executes behind an answered one', `${get('/fast')}${get('/executing')}`],
  ])('is never written into %s', async (_name, requests) => {
    expect(await exchange(`${requests}\x01\x02\r\n\r\n`)).not.toContain('invalid_request');
  });

  it('is given on a connection whose earlier requests were all answered', async () => {
    const socket = open();
    socket.write(get('/fast'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toContain('200 OK');
    socket.write('\x01\x02\r\n\r\n');
    expect(await text(socket)).toContain('invalid_request');
  });
});

describe('a request that the parser lets pass and the app never gets', () => {
  const logger = { debug() {}, warn() {}, error() {}, info: (facts: object) => void logged.push(facts) };
  let listening: Listening;
  beforeAll(async () => {
    const fetch = async (request: Request) => Response.json({ path: new URL(request.url).pathname });
    listening = await listen(fetch, { host: '127.0.0.1', port: 0, variable: 'PORT', logger, publicUrl: () => 'https://reelmend.example.com' });
  });
  afterAll(() => listening.close());

  async function send(head: string): Promise<{ head: string; body: string }> {
    const socket = connect(Number(new URL(listening.url).port), '127.0.0.1');
    socket.write(`${head}\r\nConnection: close\r\n\r\n`, 'latin1');
    const [answer = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    return { head: answer, body };
  }

  it.each([
    ['without Host', 'GET / HTTP/1.1\r\nX-A: b', /needs the header Host/],
    ['with two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b', /header Host more than once/],
    ['with two Hosts in HTTP/1.0', 'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a', /header Host more than once/],
    ['with a Host that is none', 'GET / HTTP/1.1\r\nHost: a b', /header Host or the path/],
    ['for *', 'OPTIONS * HTTP/1.1\r\nHost: a', /header Host or the path/],
    ['with a backslash in its path', 'GET /v1\\jobs HTTP/1.1\r\nHost: a', /header Host or the path/],
  ])('has the error envelope: %s', async (_name, request, message) => {
    const { head, body } = await send(request);
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(head).toMatch(/^content-type: application\/json/im);
    const { error } = JSON.parse(body) as { error: { message: string; request_id: string } };
    expect(error).toMatchObject({ code: 'invalid_request', type: 'validation_error', message: expect.stringMatching(message) as string });
    expect(head.toLowerCase()).toContain(`x-request-id: ${error.request_id}`);
    expect(logged.at(-1)).toMatchObject({ request_id: error.request_id });
  });

  it.each([
    ['without Host in HTTP/1.0, as load balancers check', 'GET /healthz HTTP/1.0\r\nX-A: b'],
    ['that expects what no server knows', 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: miracles'],
  ])('reaches the app: %s', async (_name, request) => {
    const { head, body } = await send(request);
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(body).toContain('/healthz');
  });
});

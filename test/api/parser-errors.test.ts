/** What Node's HTTP parser refuses before the app sees it. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerParserErrors } from '../../src/http/parser-errors.ts';

const logged: object[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url !== '/slow') return void response.end('fine');
    response.write('half');
    setTimeout(() => response.end(), 200);
  });
  answerParserErrors(server, { info: (facts) => void logged.push(facts) });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => new Promise((done) => server.close(done)));

async function send(bytes: string): Promise<{ head: string; body: string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  const [head, body] = (await text(socket)).split('\r\n\r\n');
  return { head: head ?? '', body: body ?? '' };
}

describe('17.13: the error envelope', () => {
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
    expect(error).toMatchObject({ code: 'invalid_request', type: 'validation_error' });
    expect(error.message).toMatch(message);
    expect(error.request_id).toMatch(/^req_[0-9a-f]{32}$/);
    expect(head).toContain(`X-Request-Id: ${error.request_id}`);
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(logged.at(-1)).toMatchObject({ request_id: error.request_id });
  });

  it('is never written into a response that is under way', async () => {
    const { head, body } = await send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n\x01\x02\r\n\r\n');
    expect(`${head}${body}`).not.toContain('invalid_request');
  });
});

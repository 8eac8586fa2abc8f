/**
 * A gateway in front of an S3 server that fails at random requests, in the ways of networks, load balancers and S3 itself. In half of
 * them S3 has done what was asked, and the client does not learn it. It forwards requests as they are, because signatures cover Host.
 */
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FaultyGateway {
  endpoint: string;
  /** share of the requests that fail, 0…1 */
  share: number;
  /** how often each fault was met */
  readonly met: ReadonlyMap<string, number>;
  /** connections of clients */
  connections(): Promise<number>;
  close(): Promise<void>;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Sends the request to S3, with a body that was read before; resolves with the whole response. */
  forward(body?: Buffer): Promise<Answer>;
  random: () => number;
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

const errorXml = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>A fault of the test</Message><RequestId>1</RequestId></Error>`;
const gatewayPage = '<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n<hr><br>nginx\n</body>\n</html>\n';

const cut = ({ response }: Exchange) => void response.socket?.destroy();
const half = (body: Buffer) => body.subarray(0, Math.ceil(body.length / 2));

/** Reads what the client sends, so that it reads the answer. */
async function received({ request }: Exchange): Promise<void> {
  if (request.readableEnded || request.destroyed) return;
  await new Promise((done) => request.resume().once('end', done).once('close', done));
}

function answer({ request, response }: Exchange, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : body);
}

const answerText = (type: string) => (status: number, text: string) => async (exchange: Exchange) => {
  await received(exchange);
  const body = Buffer.from(text);
  answer(exchange, { status, headers: { 'content-type': type, 'content-length': String(body.length) }, body });
};
const answerXml = answerText('application/xml');

/** Cuts the connection after the head and half of the body. */
function answerHalf(exchange: Exchange, { status, headers, body }: Answer): void {
  if (exchange.request.method === 'HEAD' || body.length === 0) return cut(exchange);
  exchange.response.writeHead(status, headers).write(half(body), () => cut(exchange));
}

async function silence(exchange: Exchange): Promise<void> {
  await sleep(500 + 3000 * exchange.random());
  cut(exchange);
}

const isCreation = ({ method, url = '' }: IncomingMessage) => method === 'POST' && url.includes('?uploads');
const isCompletion = ({ method, url = '' }: IncomingMessage) => method === 'POST' && url.includes('uploadId=');

type Fault = (exchange: Exchange) => Promise<void> | void;

const faults: Record<string, Fault> = {
  'connection cut in the request': (exchange) => void exchange.request.once('data', () => cut(exchange)).once('end', () => cut(exchange)),
  'response lost': async (exchange) => {
    await exchange.forward();
    cut(exchange);
  },
  'connection cut in the head': async (exchange) => {
    const { status } = await exchange.forward();
    exchange.response.socket?.write(`HTTP/1.1 ${status} OK\r\nContent-Type: applica`, () => cut(exchange));
  },
  'connection cut in the body': async (exchange) => answerHalf(exchange, await exchange.forward()),
  'connection cut in a body of unknown length': async (exchange) => {
    const whole = await exchange.forward();
    const { 'content-length': _, ...headers } = whole.headers;
    answerHalf(exchange, { ...whole, headers });
  },
  'silence before S3': async (exchange) => {
    exchange.request.resume();
    await silence(exchange);
  },
  'silence after S3': async (exchange) => {
    await exchange.forward();
    await silence(exchange);
  },
  // A request that begins an upload is lost: nobody would ever learn of the upload.
  'work of S3 after the client has gone': async (exchange) => {
    const body = await readAll(exchange.request);
    await silence(exchange);
    if (!isCreation(exchange.request)) await exchange.forward(body);
  },
  'silence in the body': async (exchange) => {
    const { status, headers, body } = await exchange.forward();
    if (exchange.request.method !== 'HEAD') exchange.response.writeHead(status, headers).write(half(body));
    await silence(exchange);
  },
  'slow body': async (exchange) => {
    const { status, headers, body } = await exchange.forward();
    exchange.response.writeHead(status, headers);
    const pieces = exchange.request.method === 'HEAD' ? 0 : 10;
    for (let n = 0; n < pieces; n++) {
      exchange.response.write(body.subarray((n * body.length) / pieces, ((n + 1) * body.length) / pieces));
      await sleep(100);
    }
    exchange.response.end();
  },
  'SlowDown': answerXml(503, errorXml('SlowDown')),
  'InternalError': answerXml(500, errorXml('InternalError')),
  'TooManyRequests': answerXml(429, errorXml('TooManyRequests')),
  'page of a gateway': answerText('text/html')(502, gatewayPage),
  'page of a gateway after S3': async (exchange) => {
    await exchange.forward();
    await answerText('text/html')(502, gatewayPage)(exchange);
  },
  'truncated XML': async (exchange) => {
    const whole = await exchange.forward();
    if (!/xml/.test(whole.headers['content-type'] ?? '') || whole.body.length === 0) return cut(exchange);
    const body = half(whole.body);
    const { 'transfer-encoding': _, ...headers } = whole.headers;
    answer(exchange, { ...whole, body, headers: { ...headers, 'content-length': String(body.length) } });
  },
  'truncated XML of an error': answerXml(503, errorXml('SlowDown').slice(0, 70)),
  'error with status 200': (exchange) => (isCompletion(exchange.request) ? answerXml(200, errorXml('InternalError'))(exchange) : cut(exchange)),
  'error with status 200 after S3': async (exchange) => {
    const whole = await exchange.forward();
    if (!isCompletion(exchange.request)) return answer(exchange, whole);
    await answerXml(200, errorXml('InternalError'))(exchange);
  },
};
const names = Object.keys(faults);

async function readAll(body: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Rejects if the client's or the server's connection breaks. */
function forwardTo(target: URL, request: IncomingMessage, body?: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = target;
    const { method, url: path, headers } = request;
    const onward = send({ hostname, port, method, path, headers, agent: false }, (response) => {
      readAll(response).then((body) => resolve({ status: response.statusCode ?? 502, headers: response.headers, body }), reject);
    });
    onward.on('error', reject);
    if (body !== undefined) return void onward.end(body);
    request.pipe(onward);
    request.once('close', () => !request.complete && onward.destroy());
  });
}

/** `random` decides which requests fail, and how. */
export async function startFaultyGateway(target: string, random: () => number): Promise<FaultyGateway> {
  const met = new Map<string, number>();
  const server = createServer((request, response) => {
    const exchange = { request, response, forward: (body?: Buffer) => forwardTo(new URL(target), request, body), random };
    const name = random() < gateway.share ? names[Math.floor(random() * names.length)]! : undefined;
    if (name !== undefined) met.set(name, (met.get(name) ?? 0) + 1);
    const fault = name === undefined ? async () => answer(exchange, await exchange.forward()) : faults[name]!;
    // The client has gone, or S3 has.
    Promise.resolve(fault(exchange)).catch(() => cut(exchange));
  });
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const gateway: FaultyGateway = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    share: 0,
    met,
    connections: () => new Promise((done, failed) => server.getConnections((error, count) => (error ? failed(error) : done(count)))),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return gateway;
}

/** A port that serves an app, and its end. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { answerParserErrors, refuseRequest } from '../http/parser-errors.ts';
import type { ProblemOptions } from '../http/problem.ts';
import { bracketed } from './config.ts';

export interface ListenOptions extends ProblemOptions {
  host: string;
  port: number;
  /** the environment variable of the port, for error messages */
  variable: string;
}

export interface Listening {
  /** base URL */
  url: string;
  /** Accepts no more connections. Resolves when the requests in progress have ended, or their time is over. */
  close(): Promise<void>;
  /** ends all connections now */
  forceClose(): void;
}

type Fetch = Parameters<typeof getRequestListener>[0];

export async function listen(fetch: Fetch, { host, port, variable, ...problems }: ListenOptions): Promise<Listening> {
  const server = serverOf(fetch, host, problems);
  answerParserErrors(server, problems);
  server.listen(port, host);
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const inUse = `${variable}: ${port} is already in use on ${host}`;
      const failed = `HOST, ${variable}: cannot listen at ${bracketed(host)}:${port} (${cause.code ?? cause.message})`;
      reject(new Error(cause.code === 'EADDRINUSE' ? inUse : failed, { cause }));
    });
  });
  const url = `http://${bracketed(host)}:${(server.address() as AddressInfo).port}`;
  return { url, close: () => close(server), forceClose: () => server.closeAllConnections() };
}

/** Requests that Node and the adapter would refuse with an empty response get the error envelope. */
function serverOf(fetch: Fetch, hostname: string, problems: ProblemOptions): Server {
  const errorHandler = (error: unknown) => {
    if (!(error instanceof RequestError)) return new Response(null, { status: 500 });
    const { text, ...init } = refuseRequest(error.message, 'The header Host or the path of the request is not valid.', problems);
    return new Response(text, init);
  };
  const listener = getRequestListener(fetch, { hostname, errorHandler });
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const wrong = problemOfHost(request);
    if (wrong === undefined) return void listener(request, response);
    const { status, headers, text } = refuseRequest(wrong, wrong, problems);
    response.writeHead(status, headers).end(text);
  });
  // A server may ignore an expectation that it does not know (RFC 9110 §10.1.1).
  return server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
}

/** RFC 9112 §3.2: 400 without the header, and with several, of which a proxy in front may take another than Node does. */
function problemOfHost({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  const count = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  if (count > 1) return 'The request has the header Host more than once.';
  // HTTP/1.0 has no such header: load balancers use it for their checks.
  return httpVersion === '1.1' && count === 0 ? 'The request needs the header Host.' : undefined;
}

/**
 * The longest request is a creation, which measures the video for 19 s at most. If it was cut off, a client without
 * Idempotency-Key would repeat it and pay twice. The grace periods in deploy/ and compose.yaml are longer.
 */
export const requestGraceMs = 21_000;

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // A client that keeps its connection open must not keep the process alive.
    const timer = setTimeout(() => server.closeAllConnections(), requestGraceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    // Connections whose request ends from now on are soon closed, too.
    server.keepAliveTimeout = 1;
    server.closeIdleConnections();
  });
}

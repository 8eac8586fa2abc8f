/**
 * HTTP requests to a customer's server, over connections that no other session uses. Sends no cookies, credentials or referrer,
 * and stores none.
 *
 * Redirects are followed here, because each hop must pass the URL policy and must not lead from https to http; undici's `redirect`
 * interceptor checks neither. Proxies of the environment are not used: the guard would check the IP address of the proxy instead of
 * the server's.
 */
import { isUtf8 } from 'node:buffer';
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { unlessAborted } from '../domain/unless-aborted.ts';
import { guardedConnector } from './connect.ts';
import type { ConnectorOptions } from './connect.ts';
import { NetFailure, classifyFailure } from './failure.ts';
import { enforceMinSpeed } from './min-speed.ts';
import { behindRedirect, portOf } from './policy.ts';
import type { UrlPolicy } from './policy.ts';
import { startDeadline } from './timeouts.ts';
import type { Timeouts } from './timeouts.ts';

export interface SessionOptions extends Omit<ConnectorOptions, 'connectMs' | 'policy' | 'closing'> {
  policy: UrlPolicy;
  timeouts: Timeouts;
}

export interface HttpResponse {
  /** after redirects */
  url: URL;
  status: number;
  /** a header, repeated ones joined with a comma; null when absent */
  header(name: string): string | null;
  /** all headers, lower-case names */
  headers(): Record<string, string>;
  /** the body in pieces, under the idle and rate limits; its errors are classified */
  chunks(): AsyncGenerator<Buffer>;
  /** Closes the connection, unless the body was read to its end. */
  discard(): void;
}

export interface RequestOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: Uint8Array | string;
  signal?: AbortSignal | undefined;
}

const maxRedirects = 5;
const maxHeaderBytes = 32 * 1024;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

export class Session {
  readonly #options: SessionOptions;
  readonly #agent: Agent;
  readonly #closing = new AbortController();

  constructor(options: SessionOptions) {
    this.#options = options;
    const { timeouts } = options;
    this.#agent = new Agent({
      connect: guardedConnector({ ...options, connectMs: timeouts.connectMs, closing: this.#closing.signal }),
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.idleMs,
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: 4000,
      connections: 4,
      pipelining: 1,
      allowH2: false,
    });
  }

  /** One request, no redirects. Rejects with ReelmendError `url_not_allowed`, NetFailure or the signal's reason. */
  async request(target: string | URL, options: RequestOptions = {}): Promise<HttpResponse> {
    this.#closing.signal.throwIfAborted();
    const { policy, timeouts, logger } = this.#options;
    const url = policy.check(target);
    const timedOut = () => new NetFailure('timeout', 'the server did not answer in time', { retryable: true });
    const deadline = startDeadline(options.signal, timeouts.connectMs + timeouts.headersMs, timedOut);
    try {
      deadline.signal.throwIfAborted();
      const sent = request(url, {
        dispatcher: this.#agent,
        method: options.method ?? 'GET',
        headers: { 'user-agent': 'Reelmend', accept: '*/*', ...options.headers, 'accept-encoding': 'identity' },
        body: options.body ?? null,
        signal: deadline.signal,
      });
      // undici notices an abort only when it has a connection, which a silent server or name server delays.
      const response = await unlessAborted(sent, deadline.signal);
      deadline.stop();
      return toResponse(url, response, { deadline, timeouts, abortSignals: [options.signal, this.#closing.signal] });
    } catch (error) {
      deadline.release();
      options.signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const failure = classifyFailure(error);
      // Host and port only: a path or query may carry the customer's secrets.
      logger?.debug({ host: url.hostname, port: portOf(url), err: failure }, 'outgoing request failed');
      throw failure;
    }
  }

  /** A GET that follows at most five redirects. */
  async get(target: string | URL, options: Omit<RequestOptions, 'method' | 'body'> = {}): Promise<HttpResponse> {
    let url = this.#options.policy.check(target);
    let hops = 0;
    try {
      for (;;) {
        const response = await this.request(url, options);
        if (!redirectStatuses.has(response.status)) return response;
        response.discard();
        hops += 1;
        if (hops > maxRedirects) throw new NetFailure('redirect', `the server redirects more than ${maxRedirects} times`);
        url = this.#nextHop(url, response.header('location'));
      }
    } catch (error) {
      throw hops === 0 ? error : behindRedirect(error);
    }
  }

  #nextHop(from: URL, location: string | null): URL {
    const target = location === null ? null : URL.parse(unescapedUtf8(location), from.href);
    if (target === null) throw new NetFailure('redirect', 'the server redirects to nowhere');
    const next = this.#options.policy.check(target);
    if (from.protocol === 'https:' && next.protocol === 'http:') {
      throw new NetFailure('redirect', 'the server redirects from https to unencrypted http');
    }
    return next;
  }

  /** Running requests reject with a plain Error, because closing this side is not a failure of the server. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the connection to the server was closed'));
    await this.#agent.destroy();
  }
}

/** undici reads headers as Latin-1. Browsers take a Location with bytes beyond ASCII, which should be escaped, for UTF-8. */
function unescapedUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}

interface BodyLimits {
  deadline: ReturnType<typeof startDeadline>;
  timeouts: Timeouts;
  /** signals that may abort the body; the reason of an aborted one replaces the body's error */
  abortSignals: (AbortSignal | undefined)[];
}

function toResponse(url: URL, received: Dispatcher.ResponseData, limits: BodyLimits): HttpResponse {
  const { body, headers, statusCode } = received;
  // A discarded body may still emit an error, which must not end the process.
  body.on('error', () => undefined).once('close', () => limits.deadline.release());
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]);
  const values = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<string, string>;
  return {
    url,
    status: statusCode,
    header: (name) => (Object.hasOwn(values, name) ? values[name]! : null),
    headers: () => ({ ...values }),
    chunks: () => readChunks(body, limits),
    discard: () => void body.destroy(),
  };
}

/** Yields the body. Throws NetFailure if the server is too slow. */
async function* readChunks(body: AsyncIterable<Buffer>, { deadline, timeouts, abortSignals }: BodyLimits): AsyncGenerator<Buffer> {
  const { minBytesPerSecond: bytesPerSecond, rateWindowMs: windowMs } = timeouts;
  try {
    yield* enforceMinSpeed(body, { bytesPerSecond, windowMs });
  } catch (error) {
    for (const signal of abortSignals) signal?.throwIfAborted();
    throw classifyFailure(error);
  } finally {
    deadline.release();
  }
}

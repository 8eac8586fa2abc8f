/**
 * One conversation with a customer's server: its own sockets, redirects followed by hand with every check on
 * every hop, and nothing kept or sent that could identify the service (no cookies, no credentials, no referrer).
 * Proxies named in the environment are not used: behind one, the guard would judge the proxy's address.
 */
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { guardedConnector } from './connect.ts';
import type { ConnectorOptions } from './connect.ts';
import { NetFailure, sortFailure } from './failure.ts';
import { behindRedirect, portOf } from './policy.ts';
import type { UrlPolicy } from './policy.ts';
import { startDeadline } from './timeouts.ts';
import type { Timeouts } from './timeouts.ts';

export interface SessionOptions extends Omit<ConnectorOptions, 'connectMs' | 'policy'> {
  policy: UrlPolicy;
  timeouts: Timeouts;
}

export interface Reply {
  /** the URL that answered, after redirects */
  url: URL;
  status: number;
  /** one header, repeated ones joined with a comma; null when absent */
  header(name: string): string | null;
  /** all headers, lower-case names */
  headers(): Record<string, string>;
  /** the body in pieces, under the idle and rate limits; failures are sorted */
  chunks(): AsyncGenerator<Buffer>;
  /** gives the connection up; without effect on a body that was read to its end */
  discard(): void;
}

export interface AskOptions {
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
      connect: guardedConnector({ ...options, connectMs: timeouts.connectMs }),
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
  async ask(target: string | URL, options: AskOptions = {}): Promise<Reply> {
    this.#closing.signal.throwIfAborted();
    const { policy, timeouts, logger } = this.#options;
    const url = policy.check(target);
    const late = () => new NetFailure('timeout', 'the server did not answer in time', { retryable: true });
    const deadline = startDeadline(options.signal, timeouts.connectMs + timeouts.headersMs, late);
    try {
      deadline.signal.throwIfAborted();
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: options.method ?? 'GET',
        headers: { 'user-agent': 'Reelmend', accept: '*/*', ...options.headers, 'accept-encoding': 'identity' },
        body: options.body ?? null,
        signal: deadline.signal,
      });
      deadline.stop();
      return makeReply(url, answer, { deadline, timeouts, ends: [options.signal, this.#closing.signal] });
    } catch (error) {
      deadline.release();
      options.signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const failure = sortFailure(error);
      // Host and port only: a path or query may carry the customer's secrets.
      logger?.debug({ host: url.hostname, port: portOf(url), err: failure }, 'outgoing request failed');
      throw failure;
    }
  }

  /** A GET that follows at most five redirects. */
  async get(target: string | URL, options: Omit<AskOptions, 'method' | 'body'> = {}): Promise<Reply> {
    let url = this.#options.policy.check(target);
    let hops = 0;
    try {
      for (;;) {
        const reply = await this.ask(url, options);
        if (!redirectStatuses.has(reply.status)) return reply;
        reply.discard();
        hops += 1;
        if (hops > maxRedirects) throw new NetFailure('redirect', `the server redirects more than ${maxRedirects} times`);
        url = this.#nextHop(url, reply.header('location'));
      }
    } catch (error) {
      throw hops === 0 ? error : behindRedirect(error);
    }
  }

  #nextHop(from: URL, location: string | null): URL {
    if (location === null || !URL.canParse(location, from.href)) {
      throw new NetFailure('redirect', 'the server redirects to nowhere');
    }
    const next = this.#options.policy.check(new URL(location, from.href));
    if (from.protocol === 'https:' && next.protocol === 'http:') {
      throw new NetFailure('redirect', 'the server redirects from https to unencrypted http');
    }
    return next;
  }

  /** What is under way rejects with a plain error: the end of this side is no failure of the server's. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the connection to the server was closed'));
    await this.#agent.destroy();
  }
}

interface BodyLimits {
  deadline: ReturnType<typeof startDeadline>;
  timeouts: Timeouts;
  /** signals whose reason explains a broken body better than the breaking does */
  ends: (AbortSignal | undefined)[];
}

function makeReply(url: URL, answer: Dispatcher.ResponseData, limits: BodyLimits): Reply {
  const { body, headers, statusCode } = answer;
  // Errors of a body that nobody reads any more are nobody's.
  body.on('error', () => undefined).once('close', () => limits.deadline.release());
  const joined = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  const all = Object.fromEntries(joined.filter(([, value]) => value !== undefined)) as Record<string, string>;
  return {
    url,
    status: statusCode,
    header: (name) => (Object.hasOwn(all, name) ? all[name]! : null),
    headers: () => ({ ...all }),
    chunks: () => readChunks(body, limits),
    discard: () => void body.destroy(),
  };
}

/** Only the time spent waiting for the server counts against its rate, never that of a slow reader here. */
async function* readChunks(body: AsyncIterable<Buffer>, limits: BodyLimits): AsyncGenerator<Buffer> {
  const { minBytesPerSecond, rateWindowMs } = limits.timeouts;
  let waitedMs = 0;
  let bytes = 0;
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const asked = performance.now();
      const { value, done } = await pieces.next();
      if (done === true) return;
      waitedMs += performance.now() - asked;
      bytes += value.length;
      if (waitedMs >= rateWindowMs) {
        if ((bytes / waitedMs) * 1000 < minBytesPerSecond)
          throw new NetFailure('timeout', 'the server sends too slowly');
        waitedMs = bytes = 0;
      }
      yield value;
    }
  } catch (error) {
    for (const signal of limits.ends) signal?.throwIfAborted();
    throw sortFailure(error);
  } finally {
    limits.deadline.release();
    await pieces.return?.().catch(() => undefined);
  }
}

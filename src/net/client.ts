/** The guarded client: opens a remote video, downloads one, or posts a webhook. Each of these has a session of its own. */
import { ReelmendError } from '../domain/errors.ts';
import { ByteBudget } from './byte-budget.ts';
import type { ConnectorOptions } from './connect.ts';
import { download } from './download.ts';
import { NetFailure, videoError } from './failure.ts';
import { ForwardVideo } from './forward.ts';
import { createUrlPolicy } from './policy.ts';
import { headBytes, RangedVideo } from './ranged.ts';
import { expectVideo, partOf, sizeOfUnsatisfied, validatorsOf } from './responses.ts';
import { tooLarge, withRetries } from './retry.ts';
import { Session } from './session.ts';
import type { HttpResponse } from './session.ts';
import { defaultTimeouts, startDeadline } from './timeouts.ts';
import type { Timeouts } from './timeouts.ts';
import type { GuardedClient, NetLogger, PostOptions, PostResponse, RemoteVideo } from './types.ts';

export interface NetClientOptions extends Pick<ConnectorOptions, 'resolver' | 'ca' | 'tcp' | 'logger'> {
  /** `host:port` pairs that may be reached although their IP address is private */
  allowHosts: readonly string[];
  /** `host` or `host:port` of this service itself; requests there are refused */
  denyHosts?: readonly string[];
  timeouts?: Partial<Timeouts>;
  /** bytes that openVideo reads of a file if its server does not support Range (default 64 MiB) */
  maxForwardBytes?: number;
  /** total bytes of the temporary files for all videos of servers that do not support Range (default 256 MiB) */
  maxTemporaryBytes?: number;
}

interface Deps {
  timeouts: Timeouts;
  maxForwardBytes: number;
  budget: ByteBudget;
}

/** Throws TypeError for an `allowHosts` entry that is not host:port. */
export function createNetClient(options: NetClientOptions): GuardedClient {
  const { resolver, ca, tcp, logger, maxForwardBytes = 64 * 2 ** 20, maxTemporaryBytes = 256 * 2 ** 20 } = options;
  const budget = new ByteBudget(maxTemporaryBytes);
  const policy = createUrlPolicy(options);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const sessions = new Sessions(() => new Session({ policy, timeouts, resolver, ca, tcp, logger }), logger);
  return {
    checkUrl: (url) => void policy.check(url),
    openVideo: (url, { maxBytes, signal }) =>
      sessions.keepOpen(async (session, close) => {
        try {
          return await openVideo({ timeouts, maxForwardBytes, budget }, session, url, { maxBytes, signal, close });
        } catch (error) {
          throw videoError(error, 'video_unreachable');
        }
      }),
    download: (url, path, settings) =>
      sessions.during((session) => download(session, url, path, { ...settings, timeouts })),
    post: (url, settings) => sessions.during((session) => post(session, url, settings)),
    close: () => sessions.closeAll(),
  };
}

/** The open sessions. Each task has one of its own, so that customers share no connection. All are closed with the client. */
class Sessions {
  readonly #open = new Map<Session, () => Promise<void>>();
  readonly #create: () => Session;
  readonly #logger: NetLogger | undefined;

  constructor(create: () => Session, logger: NetLogger | undefined) {
    this.#create = create;
    this.#logger = logger;
  }

  /** Runs the work in a session, and closes the session when the work ends. */
  async during<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#start();
    try {
      return await work(session);
    } catch (error) {
      this.#report(error);
      throw error;
    } finally {
      await this.#end(session);
    }
  }

  /** Runs the work in a session that stays open until the result of the work, or the client, is closed. */
  async keepOpen<T extends { close(): Promise<void> }>(
    work: (session: Session, close: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const session = this.#start();
    try {
      const result = await work(session, () => this.#end(session));
      this.#open.set(session, () => result.close());
      return result;
    } catch (error) {
      this.#report(error);
      await this.#end(session);
      throw error;
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.values()].map((close) => close()));
    this.#open.clear();
  }

  #start(): Session {
    const session = this.#create();
    this.#open.set(session, () => session.close());
    return session;
  }

  async #end(session: Session): Promise<void> {
    this.#open.delete(session);
    await session.close();
  }

  /** Logs which IP address was refused. The customer must not learn it. */
  #report(error: unknown): void {
    if (!(error instanceof ReelmendError) || error.code !== 'url_not_allowed') return;
    const reason = error.cause instanceof Error ? error.cause.message : '';
    this.#logger?.warn({ reason }, 'outgoing request refused');
  }
}

interface OpenOptions {
  maxBytes: number;
  signal: AbortSignal | undefined;
  close: () => Promise<void>;
}

/** Requests the first bytes of the file. The status of the response decides how the rest is read: 206 in ranges, 200 from start to end. */
async function openVideo(deps: Deps, session: Session, url: string, options: OpenOptions): Promise<RemoteVideo> {
  const { maxBytes, signal, close } = options;
  return withRetries(deps.timeouts, signal, async () => {
    const response = await session.get(url, { headers: { range: `bytes=0-${headBytes - 1}` }, signal });
    try {
      expectVideo(response, [200, 206, 416]);
      if (response.status === 200) {
        const { maxForwardBytes, budget } = deps;
        return await ForwardVideo.open({ response, maxBytes, maxForwardBytes, budget, close });
      }
      const { size, head } = await readHead(response, maxBytes);
      const validators = validatorsOf(response);
      const urls = { origin: new URL(url), url: response.url };
      return new RangedVideo({ session, timeouts: deps.timeouts, ...urls, size, validators, head, close });
    } catch (error) {
      response.discard();
      throw error;
    }
  });
}

/** Returns the size and the first bytes from a 206 response. A 416 is accepted only for an empty file. */
async function readHead(response: HttpResponse, maxBytes: number): Promise<{ size: number; head: Buffer }> {
  if (response.status === 416) {
    response.discard();
    if (sizeOfUnsatisfied(response) === 0) return { size: 0, head: Buffer.alloc(0) };
    throw new NetFailure('status', 'the server answered with status 416');
  }
  const part = partOf(response, 0);
  if (part.total > maxBytes) throw tooLarge(maxBytes);
  if (part.end >= headBytes)
    throw new NetFailure('protocol', 'the server answered with more than the requested range');
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of response.chunks()) {
    pieces.push(chunk);
    length += chunk.length;
    if (length > part.end + 1) throw new NetFailure('length', 'the server sent more bytes than it declared');
  }
  if (length !== part.end + 1) {
    throw new NetFailure('length', 'the server sent fewer bytes than it declared', { retryable: true });
  }
  return { size: part.total, head: Buffer.concat(pieces) };
}

/** One POST, without redirects or retries. Reads at most `maxResponseBytes` of the response. */
async function post(session: Session, url: string, options: PostOptions): Promise<PostResponse> {
  const timedOut = () => new NetFailure('timeout', 'the server did not answer in time', { retryable: true });
  const deadline = startDeadline(options.signal, options.timeoutMs, timedOut);
  try {
    const { headers, body } = options;
    const response = await session.request(url, { method: 'POST', headers, body, signal: deadline.signal });
    const pieces: Buffer[] = [];
    let leftBytes = options.maxResponseBytes;
    for await (const chunk of response.chunks()) {
      pieces.push(chunk.subarray(0, leftBytes));
      leftBytes -= chunk.length;
      if (leftBytes <= 0) break;
    }
    response.discard();
    return { status: response.status, headers: response.headers(), body: Buffer.concat(pieces) };
  } finally {
    deadline.release();
  }
}

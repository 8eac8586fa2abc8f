/**
 * Random access to a file on a server that honours Range. Each read beyond the head is a request of its own: the
 * reader that measures caches blocks and reads ahead (src/media/blocks.ts).
 */
import type { RemoteVideo } from './types.ts';
import { NetFailure, videoError } from './failure.ts';
import {
  declaredLength,
  expectVideo,
  ifRange,
  partOf,
  provenSame,
  rangeHeaders,
  sameSource,
  sourceChanged,
  strongTag,
  validatorsOf,
  wholeFile,
} from './responses.ts';
import type { Validators } from './responses.ts';
import { isRetryable, pauseBefore, Attempts } from './retry.ts';
import type { HttpResponse, Session } from './session.ts';
import type { Timeouts } from './timeouts.ts';

/** Length of the first request. It is one block of the reader that measures, so that its first read costs no other request. */
export const headBytes = 256 * 1024;

/** How servers answer a link that is no longer valid. */
const expiredStatuses = new Set([401, 403, 404, 410]);

export interface RangedOptions {
  session: Session;
  timeouts: Timeouts;
  /** as the customer gave it */
  origin: URL;
  /** after redirects */
  url: URL;
  /** of the whole file, bytes */
  size: number;
  validators: Validators;
  /** what the first request has brought: the file's first bytes */
  head: Buffer;
  close: () => Promise<void>;
}

export class RangedVideo implements RemoteVideo {
  readonly size: number;
  readonly etag: string | null;
  readonly #options: RangedOptions;
  #url: URL;
  /** for If-Range; null if the server does not recognise its own validator there */
  #condition: string | null;
  #closed: Promise<void> | undefined;

  constructor(options: RangedOptions) {
    this.#options = options;
    this.size = options.size;
    this.etag = strongTag(options.validators);
    this.#url = options.url;
    this.#condition = ifRange(options.validators);
  }

  async read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    if (this.#closed !== undefined) throw new Error('the remote video was closed');
    const end = Math.min(offset + length, this.size);
    if (offset >= end) return new Uint8Array(0);
    try {
      return await this.#fetch(offset, end - 1, signal);
    } catch (error) {
      throw videoError(error, 'video_unreachable');
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#options.close();
    return this.#closed;
  }

  /** Bytes `start`…`end` inclusive; a broken or shortened part is continued where it ended. */
  async #fetch(start: number, end: number, signal: AbortSignal): Promise<Buffer> {
    const out = Buffer.allocUnsafe(end - start + 1);
    const { head, timeouts } = this.#options;
    const state = { at: start };
    if (start < head.length) state.at += head.copy(out, 0, start, end + 1);
    const attempts = new Attempts(timeouts.attempts);
    while (state.at <= end) {
      const before = state.at;
      let failure: NetFailure | undefined;
      try {
        await this.#fetchPart(out, start, end, state, signal);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        failure = error;
      }
      if (state.at > end) break;
      attempts.note(state.at - before);
      if (attempts.exhausted) throw failure ?? new NetFailure('protocol', 'the server cuts ranges into tiny parts');
      if (failure !== undefined) await pauseBefore(attempts.repetition, timeouts, signal);
    }
    return out;
  }

  async #fetchPart(out: Buffer, start: number, end: number, state: { at: number }, signal: AbortSignal): Promise<void> {
    const response = await this.#requestPart(state.at, end, signal);
    try {
      expectVideo(response, [200, 206, 416]);
      if (!sameSource(this.#options.validators, validatorsOf(response))) throw sourceChanged();
      if (this.#isWholeFile(response)) throw wholeFile();
      // Another whole file, or nothing of it, in answer to a range within it: the file is another one now.
      if (response.status !== 206) throw sourceChanged();
      const part = partOf(response, state.at);
      if (part.total !== this.size || part.end > end) throw sourceChanged();
      for await (const chunk of response.chunks()) {
        if (state.at + chunk.length > part.end + 1)
          throw new NetFailure('length', 'the server sent more than it declared');
        chunk.copy(out, state.at - start);
        state.at += chunk.length;
      }
    } finally {
      response.discard();
    }
  }

  /**
   * Some servers answer a range under If-Range always with the whole file, or for as long as the file is young (Apache, for a minute,
   * if it has no ETag). Then the range is requested without it: the validators of the response are compared here as well.
   */
  async #requestPart(start: number, end: number, signal: AbortSignal): Promise<HttpResponse> {
    const condition = this.#condition;
    const response = await this.#get(rangeHeaders(condition, start, end), signal);
    if (condition === null || !this.#isWholeFile(response)) return response;
    response.discard();
    this.#condition = null;
    return this.#get(rangeHeaders(null, start, end), signal);
  }

  /** Links behind a redirect may be valid for seconds, or for one request: then the redirect gives the next one. */
  async #get(headers: Record<string, string>, signal: AbortSignal): Promise<HttpResponse> {
    const { session, origin } = this.#options;
    const response = await session.get(this.#url, { headers, signal });
    if (!expiredStatuses.has(response.status) || this.#url.href === origin.href) return response;
    response.discard();
    const renewed = await session.get(origin, { headers, signal });
    this.#url = renewed.url;
    return renewed;
  }

  /** Whether the response is the whole file, in the version that is read. */
  #isWholeFile(response: HttpResponse): boolean {
    if (response.status !== 200 || !provenSame(this.#options.validators, validatorsOf(response))) return false;
    const length = declaredLength(response);
    return length === null || length === this.size;
  }
}

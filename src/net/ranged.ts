/**
 * Random access to a file on a server that honours Range. Each read beyond the head is a request of its own: the
 * reader that measures caches blocks and reads ahead (src/media/blocks.ts).
 */
import type { RemoteVideo } from './types.ts';
import { NetFailure, videoError } from './failure.ts';
import { expectVideo, partOf, rangeHeaders, sameSource, sourceChanged, strongTag, validatorsOf } from './responses.ts';
import type { Validators } from './responses.ts';
import { isRetryable, pauseBefore, Attempts } from './retry.ts';
import type { Session } from './session.ts';
import type { Timeouts } from './timeouts.ts';

/** Length of the first request. It is one block of the reader that measures, so that its first read costs no other request. */
export const headBytes = 256 * 1024;

export interface RangedOptions {
  session: Session;
  timeouts: Timeouts;
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
  #closed: Promise<void> | undefined;

  constructor(options: RangedOptions) {
    this.#options = options;
    this.size = options.size;
    this.etag = strongTag(options.validators);
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
    const { session, url, validators } = this.#options;
    const response = await session.get(url, { headers: rangeHeaders(validators, state.at, end), signal });
    try {
      expectVideo(response, [200, 206, 416]);
      if (!sameSource(validators, validatorsOf(response))) throw sourceChanged();
      // The whole file, or nothing of it, in answer to a range within it: the file is another one now.
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
}

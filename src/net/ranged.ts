/** Random access to a file on a server that honours Range: blocks fetched on demand, kept in a small cache. */
import type { RemoteVideo } from './types.ts';
import { NetFailure, videoError } from './failure.ts';
import { expectVideo, partOf, rangeHeaders, sameSource, sourceChanged, strongTag, validatorsOf } from './replies.ts';
import type { Validators } from './replies.ts';
import { isRetryable, pauseBefore, Tries } from './retry.ts';
import type { Session } from './session.ts';
import type { Timeouts } from './timeouts.ts';

/** One block, bytes; also the length of the first request. */
export const blockBytes = 256 * 1024;
/** A run of blocks fetched by one request grows to this while reading goes straight on. */
const maxRunBlocks = 16;
/** 32 MiB: what a demuxer jumps back to (index, first packets) stays. */
const maxCachedBlocks = 128;

export interface RangedOptions {
  session: Session;
  timeouts: Timeouts;
  /** after redirects */
  url: URL;
  size: number;
  validators: Validators;
  /** what the first request has brought */
  head: Buffer;
  close: () => Promise<void>;
}

export class RangedVideo implements RemoteVideo {
  readonly url: string;
  readonly size: number;
  readonly ranged = true;
  readonly validator: string | null;
  readonly etag: string | null;
  readonly #options: RangedOptions;
  /** in order of last use */
  readonly #blocks = new Map<number, Buffer>();
  #nextBlock = 1;
  #runBlocks = 1;
  #queue: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(options: RangedOptions) {
    this.#options = options;
    this.url = options.url.href;
    this.size = options.size;
    this.etag = strongTag(options.validators);
    this.validator = options.validators.etag ?? options.validators.lastModified;
    if (options.head.length === Math.min(blockBytes, options.size)) this.#blocks.set(0, options.head);
  }

  /** Reads are answered one after the other, so that two of them never fetch the same block. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    const turn = this.#queue.then(() => this.#read(offset, length, signal));
    this.#queue = turn.catch(() => undefined);
    return turn.catch((error: unknown) => Promise.reject(videoError(error, 'video_unreachable')));
  }

  close(): Promise<void> {
    this.#closed ??= this.#options.close();
    this.#blocks.clear();
    return this.#closed;
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    if (this.#closed !== undefined) throw new Error('the remote video was closed');
    const end = Math.min(offset + Math.min(length, maxRunBlocks * blockBytes), this.size);
    if (offset >= end) return new Uint8Array(0);
    const out = Buffer.allocUnsafe(end - offset);
    for (let at = offset; at < end;) {
      const index = Math.floor(at / blockBytes);
      const block = await this.#block(index, Math.ceil(end / blockBytes), signal);
      const copied = block.copy(
        out,
        at - offset,
        at - index * blockBytes,
        Math.min(block.length, end - index * blockBytes),
      );
      at += copied;
    }
    return out;
  }

  /** The block, fetched when it is not cached together with what will be wanted next; `until` is exclusive. */
  async #block(index: number, until: number, signal: AbortSignal): Promise<Buffer> {
    const cached = this.#blocks.get(index);
    if (cached !== undefined) {
      this.#blocks.delete(index);
      this.#blocks.set(index, cached);
      return cached;
    }
    this.#runBlocks = index === this.#nextBlock ? Math.min(this.#runBlocks * 2, maxRunBlocks) : 1;
    const count = Math.min(Math.max(this.#runBlocks, until - index), maxRunBlocks);
    const start = index * blockBytes;
    const bytes = await this.#fetch(start, Math.min(start + count * blockBytes, this.size) - 1, signal);
    for (let at = 0; at < bytes.length; at += blockBytes) {
      // Copies, so that one block kept does not keep its whole run in memory.
      this.#blocks.set((start + at) / blockBytes, Buffer.from(bytes.subarray(at, at + blockBytes)));
    }
    this.#nextBlock = index + count;
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= maxCachedBlocks) break;
      if (oldest !== index) this.#blocks.delete(oldest);
    }
    return this.#blocks.get(index)!;
  }

  /** Bytes `start`…`end` inclusive; a broken or shortened part is continued where it ended. */
  async #fetch(start: number, end: number, signal: AbortSignal): Promise<Buffer> {
    const out = Buffer.allocUnsafe(end - start + 1);
    const state = { at: start };
    const tries = new Tries(this.#options.timeouts.attempts);
    for (;;) {
      const before = state.at;
      let failure: NetFailure | undefined;
      try {
        await this.#fetchPart(out, start, end, state, signal);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        failure = error;
      }
      if (state.at > end) return out;
      tries.note(state.at - before);
      if (tries.exhausted) throw failure ?? new NetFailure('protocol', 'the server cuts ranges into tiny parts');
      if (failure !== undefined) await pauseBefore(tries.repetition, this.#options.timeouts, signal);
    }
  }

  async #fetchPart(out: Buffer, start: number, end: number, state: { at: number }, signal: AbortSignal): Promise<void> {
    const { session, url, validators } = this.#options;
    const reply = await session.get(url, { headers: rangeHeaders(validators, state.at, end), signal });
    try {
      expectVideo(reply, [200, 206, 416]);
      if (!sameSource(validators, validatorsOf(reply))) throw sourceChanged();
      // The whole file, or nothing of it, in answer to a range within it: the file is another one now.
      if (reply.status !== 206) throw sourceChanged();
      const part = partOf(reply, state.at);
      if (part.total !== this.size || part.end > end) throw sourceChanged();
      for await (const chunk of reply.chunks()) {
        if (state.at + chunk.length > part.end + 1)
          throw new NetFailure('length', 'the server sent more than it announced');
        chunk.copy(out, state.at - start);
        state.at += chunk.length;
      }
    } finally {
      reply.discard();
    }
  }
}

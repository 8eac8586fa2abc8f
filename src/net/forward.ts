/**
 * Random access to a file on a server without Range. The body is read forward, once, into a nameless temporary file.
 * Reads beyond `maxForwardBytes` are refused, and nothing beyond is fetched.
 */
import type { FileHandle } from 'node:fs/promises';
import type { ByteBudget } from './byte-budget.ts';
import type { RemoteVideo } from './types.ts';
import { NetFailure, videoError } from './failure.ts';
import { declaredLength, strongTag, validatorsOf } from './responses.ts';
import { tooLarge } from './retry.ts';
import type { HttpResponse } from './session.ts';
import { namelessFile } from './temporary.ts';
import { writeAll } from './write-all.ts';

export interface ForwardOptions {
  /** a 200 whose body has not been read yet */
  response: HttpResponse;
  maxBytes: number;
  maxForwardBytes: number;
  /** of the temporary files of all videos together */
  budget: ByteBudget;
  close: () => Promise<void>;
}

function beyondBound(maxForwardBytes: number): NetFailure {
  const megabytes = Math.floor(maxForwardBytes / 2 ** 20);
  const message = `the server does not support range requests, and more than the first ${megabytes} MB would be needed`;
  return new NetFailure('content', message);
}

export class ForwardVideo implements RemoteVideo {
  readonly size: number;
  readonly etag: string | null;
  readonly #options: ForwardOptions;
  readonly #file: FileHandle;
  readonly #chunks: AsyncGenerator<Buffer>;
  /** bytes of the budget; more than are stored if writing fails */
  #taken: number;
  #stored: number;
  /** of writing: the bytes are lost, so nothing behind them can be stored */
  #failure: { error: unknown } | undefined;
  #closed: Promise<void> | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  /** Reads the whole body now if the server does not tell its length. */
  static async open(options: ForwardOptions): Promise<ForwardVideo> {
    const declared = declaredLength(options.response);
    if (declared !== null && declared > options.maxBytes) throw tooLarge(options.maxBytes);
    const file = await namelessFile();
    let stored = 0;
    try {
      const chunks = options.response.chunks();
      if (declared !== null) return new ForwardVideo(options, file, chunks, declared, 0);
      for await (const chunk of chunks) {
        if (stored + chunk.length > options.maxBytes) throw tooLarge(options.maxBytes);
        if (stored + chunk.length > options.maxForwardBytes) throw beyondBound(options.maxForwardBytes);
        options.budget.take(chunk.length);
        stored += chunk.length;
        await writeAll(file, chunk, stored - chunk.length);
      }
      return new ForwardVideo(options, file, chunks, stored, stored);
    } catch (error) {
      options.budget.give(stored);
      await file.close();
      throw error;
    }
  }

  private constructor(
    options: ForwardOptions,
    file: FileHandle,
    chunks: AsyncGenerator<Buffer>,
    size: number,
    stored: number,
  ) {
    this.#options = options;
    this.#file = file;
    this.#chunks = chunks;
    this.#taken = this.#stored = stored;
    this.size = size;
    this.etag = strongTag(validatorsOf(options.response));
  }

  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    const turn = this.#queue.then(() => this.#read(offset, length, signal));
    this.#queue = turn.catch(() => undefined);
    return turn.catch((error: unknown) => Promise.reject(videoError(error, 'video_unreachable')));
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      this.#options.response.discard();
      await this.#options.close();
      await this.#queue;
      await this.#file.close();
      this.#options.budget.give(this.#taken);
    })();
    return this.#closed;
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    if (this.#closed !== undefined) throw new Error('the remote video was closed');
    const end = Math.min(offset + length, this.size);
    if (offset >= end) return new Uint8Array(0);
    if (end > this.#options.maxForwardBytes) throw beyondBound(this.#options.maxForwardBytes);
    const abort = () => this.#options.response.discard();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await this.#storeUpTo(end);
      const out = Buffer.alloc(end - offset);
      const { bytesRead } = await this.#file.read(out, 0, out.length, offset);
      return out.subarray(0, bytesRead);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async #storeUpTo(end: number): Promise<void> {
    while (this.#stored < end) {
      if (this.#failure !== undefined) throw this.#failure.error;
      const { value, done } = await this.#chunks.next();
      if (done === true) throw new NetFailure('length', 'the server sent fewer bytes than it declared');
      this.#options.budget.take(value.length);
      this.#taken += value.length;
      await writeAll(this.#file, value, this.#stored).catch((error: unknown) => {
        this.#failure = { error };
        throw error;
      });
      this.#stored += value.length;
    }
  }
}

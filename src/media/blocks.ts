/**
 * The cache between a media child and a remote source: reads in blocks, reads ahead while the child reads on, and limits
 * what is read in all. Measuring a video then takes a few range requests.
 */
import { ReelmendError } from '../domain/errors.ts';
import type { ByteSource } from './types.ts';

export interface BlockOptions {
  /** length of a block; ranges are whole blocks */
  blockBytes?: number;
  /** bytes that are cached; demuxers jump back to the index and the first packets */
  cacheBytes?: number;
  /** longest range; while the child reads on, each range is twice as long as the last, up to this */
  maxRangeBytes?: number;
  /** limit of all ranges together */
  maxTotalBytes?: number;
  /** limit of the number of ranges */
  maxRanges?: number;
}

const defaults = {
  blockBytes: 256 * 1024,
  cacheBytes: 32 * 1024 * 1024,
  maxRangeBytes: 4 * 1024 * 1024,
  maxTotalBytes: 64 * 1024 * 1024,
  maxRanges: 512,
};

export class BlockReader {
  readonly #source: ByteSource;
  readonly #options: Required<BlockOptions>;
  /** by block index; the order of insertion is the order of use (least recent first) */
  readonly #blocks = new Map<number, Uint8Array>();
  #rangeBlocks = 1;
  #nextBlock = 0;
  #totalBytes = 0;
  #ranges = 0;

  constructor(source: ByteSource, options: BlockOptions = {}) {
    this.#source = source;
    this.#options = { ...defaults, ...options };
  }

  get size(): number {
    return this.#source.size;
  }

  /**
   * At most `length` bytes at `offset`, from one block, so often fewer; empty only at the end. Rejects as the source does,
   * or with `unreadable_video` past a limit.
   */
  async read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    if (offset >= this.size || length <= 0) return new Uint8Array(0);
    const index = Math.floor(offset / this.#options.blockBytes);
    const block = this.#blocks.get(index) ?? (await this.#fetch(index, signal));
    this.#keep(index, block);
    const start = offset - index * this.#options.blockBytes;
    return block.subarray(start, start + length);
  }

  async #fetch(first: number, signal: AbortSignal): Promise<Uint8Array> {
    const { blockBytes, maxRangeBytes } = this.#options;
    const runsOn = first === this.#nextBlock && first > 0;
    const most = Math.max(1, Math.floor(maxRangeBytes / blockBytes));
    this.#rangeBlocks = runsOn ? Math.min(this.#rangeBlocks * 2, most) : 1;
    let count = 1;
    while (count < this.#rangeBlocks && !this.#blocks.has(first + count)) count += 1;
    const start = first * blockBytes;
    const bytes = await this.#range(start, Math.min(count * blockBytes, this.size - start), signal);
    this.#nextBlock = first + count;
    // Copies, so that one block kept does not keep its whole range in memory.
    for (let at = blockBytes, index = first + 1; at < bytes.length; at += blockBytes, index += 1) {
      this.#keep(index, bytes.slice(at, at + blockBytes));
    }
    return bytes.slice(0, blockBytes);
  }

  /** Exactly `length` bytes unless the source ends early. */
  async #range(start: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    const whole = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      this.#account(length - filled);
      const part = await this.#source.read(start + filled, length - filled, signal);
      if (part.length === 0) break;
      if (part.length > length - filled) throw new RangeError('a byte source answered with more than was asked');
      whole.set(part, filled);
      filled += part.length;
    }
    return whole.subarray(0, filled);
  }

  #account(bytes: number): void {
    this.#ranges += 1;
    this.#totalBytes += bytes;
    if (this.#totalBytes > this.#options.maxTotalBytes || this.#ranges > this.#options.maxRanges) {
      throw new ReelmendError('unreadable_video', 'The video cannot be measured without reading too much of it.');
    }
  }

  #keep(index: number, block: Uint8Array): void {
    this.#blocks.delete(index);
    this.#blocks.set(index, block);
    const most = Math.max(1, Math.floor(this.#options.cacheBytes / this.#options.blockBytes));
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= most) break;
      this.#blocks.delete(oldest);
    }
  }
}

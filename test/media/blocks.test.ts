import { describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { BlockReader, type BlockOptions } from '../../src/media/blocks.ts';

const content = Uint8Array.from({ length: 10_000 }, (_, index) => (index * 7 + (index >> 8)) & 0xff);
const signal = new AbortController().signal;

/** `most`: bytes that the source gives per read, as a server may cut its answers short. */
function open(options: BlockOptions = {}, most = Number.POSITIVE_INFINITY) {
  const ranges: [number, number][] = [];
  const source = {
    size: content.length,
    read: async (offset: number, length: number) => {
      ranges.push([offset, length]);
      return content.subarray(offset, offset + Math.min(length, most));
    },
  };
  return { reader: new BlockReader(source, { blockBytes: 100, maxRangeBytes: 800, ...options }), ranges };
}

async function readAll(reader: BlockReader, from: number, to: number, step: number): Promise<number[]> {
  const read: number[] = [];
  while (from + read.length < to) {
    const part = await reader.read(from + read.length, Math.min(step, to - from - read.length), signal);
    expect(part.length).toBeGreaterThan(0);
    expect(part.length).toBeLessThanOrEqual(step);
    read.push(...part);
  }
  return read;
}

describe('reading a source in blocks', () => {
  it.each([
    [0, 10_000, 33],
    [9_950, 10_000, 4096],
    [99, 302, 7],
    [5_000, 9_999, 5000],
  ])('gives the bytes %d…%d in steps of %d', async (from, to, step) => {
    expect(await readAll(open().reader, from, to, step)).toEqual([...content.subarray(from, to)]);
  });

  it('gives them also from a source that answers with less than was asked', async () => {
    expect(await readAll(open({}, 17).reader, 0, 1000, 64)).toEqual([...content.subarray(0, 1000)]);
  });

  it('is empty at and past the end', async () => {
    const { reader, ranges } = open();
    expect(await reader.read(10_000, 10, signal)).toHaveLength(0);
    expect(await reader.read(99_999, 10, signal)).toHaveLength(0);
    expect(ranges).toEqual([]);
  });

  it('asks for longer ranges while reading runs on, and for one block after a jump', async () => {
    const { reader, ranges } = open();
    await readAll(reader, 0, 2500, 50);
    await reader.read(7020, 10, signal);
    expect(ranges).toEqual([
      [0, 100],
      [100, 200],
      [300, 400],
      [700, 800],
      [1500, 800],
      [2300, 800],
      [7000, 100],
    ]);
  });

  it('asks for nothing twice while it is kept', async () => {
    const { reader, ranges } = open();
    for (const offset of [0, 9_900, 50, 9_950, 10, 9_999]) await reader.read(offset, 40, signal);
    expect(ranges).toEqual([
      [0, 100],
      [9900, 100],
    ]);
  });

  it('forgets the block that was used least recently', async () => {
    const { reader, ranges } = open({ cacheBytes: 200 });
    for (const offset of [0, 500, 0, 900, 0, 500]) await reader.read(offset, 1, signal);
    expect(ranges.map(([offset]) => offset)).toEqual([0, 500, 900, 500]);
  });

  it.each([
    ['bytes', { maxTotalBytes: 1000 }],
    ['ranges', { maxRanges: 3 }],
  ])('stops at the ceiling of %s', async (_, options) => {
    const { reader, ranges } = open(options);
    await expect(readAll(reader, 0, 10_000, 100)).rejects.toMatchObject({ code: 'unreadable_video' });
    expect(ranges).toHaveLength(3);
  });

  it('rejects as the source does', async () => {
    const error = new ReelmendError('video_unreachable', 'The video cannot be reached.');
    const reader = new BlockReader({ size: 10, read: () => Promise.reject(error) });
    await expect(reader.read(0, 1, signal)).rejects.toBe(error);
  });

  it('refuses a source that answers with more than was asked', async () => {
    const reader = new BlockReader({ size: 10, read: async () => new Uint8Array(11) });
    await expect(reader.read(0, 1, signal)).rejects.toThrow(RangeError);
  });
});
